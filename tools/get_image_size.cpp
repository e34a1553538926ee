// Writes the sizes of the images of a list.

#include "data/convert/name_files.h"
#include "run_tool.h"

namespace {

struct Flags : robusta::FlagSet {
  robusta::Flag<std::string> name_id_file{this, "name_id_file", "", "lines \"name id\": ids are written for names"};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Writes a line \"name height width\" for each image of a list.\n"
      "    get_image_size [FLAGS] ROOTFOLDER/ LISTFILE OUT_FILE\n"
      "ROOTFOLDER/ is put before each path.";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    const int64_t images = robusta::write_image_sizes(words[0], words[1], words[2], flags.name_id_file());
    LOG_INFO << "Wrote the sizes of " << images << " images to " << words[2] << ".";
  });
}
