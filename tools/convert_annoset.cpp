// Makes a database of a list of images with classes or boxes.

#include "data/convert/annotation_set.h"
#include "data/writer_kinds.h"
#include "image_flags.h"

namespace {

struct Flags : robusta::ImageFlags {
  robusta::Flag<std::string> anno_type{this, "anno_type", "classification",
                                       "what the list names beside each image: classification (a class), detection (a "
                                       "file of boxes)"};
  robusta::Flag<std::string> label_type{this, "label_type", "xml", "type of the files of boxes: xml, json, txt"};
  robusta::Flag<std::string> label_map_file{this, "label_map_file", "", "labels of names, a LabelMap as text"};
  robusta::Flag<bool> check_label{this, "check_label", false, "stop when a name comes twice in the label map"};
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
  options.backend = flags.backend();
  options.detection = is_detection(flags.anno_type());
  options.format = robusta::parse_annotation_format(flags.label_type());
  options.label_map = flags.label_map_file();
  if (options.detection && options.label_map.empty()) {
    throw robusta::Error(robusta::ErrorKind::kUsage, "--label_map_file is missing",
                         "name the label map of the classes; create_label_map makes one");
  }
  options.check_label = flags.check_label();
  options.shuffle = flags.shuffle();
  options.seed = flags.seed();
  options.check_size = flags.check_size();
  options.image = flags.image();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string usage =
      "Converts a list of images with their classes or boxes to a database.\n"
      "    convert_annoset [FLAGS] ROOTFOLDER/ LISTFILE DB_NAME\n"
      "LISTFILE has a line \"image class\" or, for --anno_type=detection, \"image annotation-file\" per image;\n"
      "ROOTFOLDER/ is put before each path.";
  Flags flags;
  return robusta::run_tool(argc, argv, usage, 3, 3, flags, [&](const std::vector<std::string>& words) {
    robusta::require_writer(flags.backend());
    const auto result = robusta::convert_annotation_set(options_of(flags, words));
    LOG_INFO << "Wrote " << result.written << " images with " << result.boxes << " boxes to " << words[2]
             << ", skipped " << result.skipped << ".";
  });
}
