// Makes a database of a list of images with classes or boxes.

#include "data/convert/annotation_set.h"
#include "data/open_source.h"
#include "run_tool.h"

namespace {

struct Flags : robusta::DatabaseFlags {
  robusta::Flag<std::string> anno_type{this, "anno_type", "classification",
                                       "what the list names beside each image: classification (a class), detection (a "
                                       "file of boxes)"};
  robusta::Flag<std::string> label_type{this, "label_type", "xml", "type of the files of boxes: xml, json, txt"};
  robusta::Flag<std::string> label_map_file{this, "label_map_file", "", "labels of names, a LabelMap as text"};
  robusta::Flag<bool> check_label{this, "check_label", false, "stop when a name comes twice in the label map"};
  robusta::Flag<int32_t> min_dim{this, "min_dim", 0, "least short side, in proportion"};
  robusta::Flag<int32_t> max_dim{this, "max_dim", 0, "greatest long side, in proportion; goes before min_dim"};
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

bool is_detection(const std::string& anno_type) {
  if (anno_type == "detection") return true;
  if (anno_type == "classification") return false;
  throw robusta::Error(robusta::ErrorKind::kUsage, "unknown --anno_type \"" + anno_type + "\"",
                       "say classification or detection");
}

robusta::AnnotationSetOptions options_of(const Flags& flags, const std::vector<std::string>& words) {
  robusta::AnnotationSetOptions options;
  options.root = words[0];
  options.list = words[1];
  options.folder = words[2];
  options.detection = is_detection(flags.anno_type());
  options.format = robusta::parse_annotation_format(flags.label_type());
  options.label_map = flags.label_map_file();
  options.check_label = flags.check_label();
  options.shuffle = flags.shuffle();
  options.seed = flags.seed();
  options.check_size = flags.check_size();
  options.image = {.gray = flags.gray(),
                   .resize_height = flags.resize_height(),
                   .resize_width = flags.resize_width(),
                   .min_dim = flags.min_dim(),
                   .max_dim = flags.max_dim(),
                   .scaled_jpeg = flags.scaled_jpeg(),
                   .encoded = flags.encoded(),
                   .encode_type = flags.encode_type()};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Converts a list of images with their classes or boxes to an LMDB.\n"
      "    convert_annoset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME\n"
      "LISTFILE has a line \"image class\" or, for --anno_type=detection, \"image annotation-file\" per image;\n"
      "ROOTFOLDER/ is put before each path.";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_lmdb_backend(flags.backend());
    const auto result = robusta::convert_annotation_set(options_of(flags, words));
    LOG_INFO << "Wrote " << result.written << " images with " << result.boxes << " boxes to " << words[2]
             << ", skipped " << result.skipped << ".";
  });
}
