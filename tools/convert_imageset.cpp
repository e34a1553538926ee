// Makes a database of a list of images.

#include "data/convert/image_set.h"
#include "data/open_source.h"
#include "run_tool.h"

DEFINE_bool(gray, false, "read the images as grey ones");
DEFINE_bool(shuffle, false, "shuffle the order of the images");
DEFINE_uint64(seed, 1, "seed of the shuffle");
DEFINE_string(backend, "lmdb", "kind of database: lmdb");
DEFINE_int32(resize_width, 0, "width to resize the images to, with resize_height");
DEFINE_int32(resize_height, 0, "height to resize the images to, with resize_width");
DEFINE_bool(check_size, false, "stop when an image differs in size from the first");
DEFINE_bool(encoded, false, "store the images as files (JPEG, PNG), not as pixels");
DEFINE_string(encode_type, "", "type of the stored files: png, jpg; default: each as it is named");

int main(int argc, char** argv) {
  const std::string usage =
      "Converts a list of images to an LMDB.\n"
      "    convert_imageset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME\n"
      "LISTFILE has a line \"path label\" per image; ROOTFOLDER/ is put before the path.";
  return robusta::run_tool(argc, argv, usage, 3, 3, [](const std::vector<std::string>& words) {
    robusta::require_lmdb_backend(FLAGS_backend);
    robusta::ImageSetOptions options;
    options.root = words[0];
    options.list = words[1];
    options.folder = words[2];
    options.gray = FLAGS_gray;
    options.shuffle = FLAGS_shuffle;
    options.seed = FLAGS_seed;
    options.resize_height = FLAGS_resize_height;
    options.resize_width = FLAGS_resize_width;
    options.check_size = FLAGS_check_size;
    options.encoded = FLAGS_encoded;
    options.encode_type = FLAGS_encode_type;
    const auto result = robusta::convert_image_set(options);
    LOG_INFO << "Wrote " << result.written << " images to " << words[2] << ", skipped " << result.skipped << ".";
  });
}
