// Makes a database of a list of images.

#include "data/convert/image_set.h"
#include "data/writer_kinds.h"
#include "image_flags.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Converts a list of images to a database.\n"
      "    convert_imageset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME\n"
      "LISTFILE has a line \"path label\" per image; ROOTFOLDER/ is put before the path.";
  robusta::ImageFlags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_writer(flags.backend());
    robusta::ImageSetOptions options;
    options.root = words[0];
    options.list = words[1];
    options.folder = words[2];
    options.backend = flags.backend();
    options.shuffle = flags.shuffle();
    options.seed = flags.seed();
    options.check_size = flags.check_size();
    options.image = flags.image();
    const auto result = robusta::convert_image_set(options);
    LOG_INFO << "Wrote " << result.written << " images to " << words[2] << ", skipped " << result.skipped << ".";
  });
}
