// Makes a database of a list of images.

#include "data/convert/image_set.h"
#include "data/open_source.h"
#include "run_tool.h"

namespace {

struct Flags : robusta::DatabaseFlags {
  robusta::Flag<bool> gray{this, "gray", false, "read the images as grey ones"};
  robusta::Flag<bool> shuffle{this, "shuffle", false, "shuffle the order of the images"};
  robusta::Flag<uint64_t> seed{this, "seed", 1, "seed of the shuffle"};
  robusta::Flag<int32_t> resize_width{this, "resize_width", 0, "width to resize the images to, with resize_height"};
  robusta::Flag<int32_t> resize_height{this, "resize_height", 0, "height to resize the images to, with resize_width"};
  robusta::Flag<bool> scaled_jpeg{this, "scaled_jpeg", false,
                                  "decode JPEGs that are then made half as large or less to a half, a quarter or an "
                                  "eighth: faster, with other pixels than Caffe's"};
  robusta::Flag<bool> check_size{this, "check_size", false, "stop when an image differs in size from the first"};
  robusta::Flag<bool> encoded{this, "encoded", false, "store the images as files, not as pixels"};
  robusta::Flag<std::string> encode_type{this, "encode_type", "",
                                         "type of the stored files: png, jpg; default: each as it is named"};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Converts a list of images to an LMDB.\n"
      "    convert_imageset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME\n"
      "LISTFILE has a line \"path label\" per image; ROOTFOLDER/ is put before the path.";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_lmdb_backend(flags.backend());
    robusta::ImageSetOptions options;
    options.root = words[0];
    options.list = words[1];
    options.folder = words[2];
    options.gray = flags.gray();
    options.shuffle = flags.shuffle();
    options.seed = flags.seed();
    options.resize_height = flags.resize_height();
    options.resize_width = flags.resize_width();
    options.scaled_jpeg = flags.scaled_jpeg();
    options.check_size = flags.check_size();
    options.encoded = flags.encoded();
    options.encode_type = flags.encode_type();
    const auto result = robusta::convert_image_set(options);
    LOG_INFO << "Wrote " << result.written << " images to " << words[2] << ", skipped " << result.skipped << ".";
  });
}
