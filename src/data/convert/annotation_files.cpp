// From weiliu89/caffe, branch ssd: what tools/convert_annoset and util/io.cpp read.
//
// XML is that of PASCAL VOC, JSON what SSD's scripts make of MS COCO, and text has a line for each box. Corners are
// pixels there, and parts of the image's width and height in a record.

#include "data/convert/annotation_files.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <vector>

#include "base/input_text.h"
#include "base/log.h"
#include "base/str.h"
#include "data/convert/text_scanner.h"
#include "data/convert/text_tree.h"
#include "ops/boxes.h"
#include "robusta/error.h"
#include "schema/text_file.h"

namespace robusta {
namespace {

constexpr char kCorrect[] = "correct the file, or leave it out of the list";

/// The boxes of one file on their way into a record.
class Annotator {
 public:
  Annotator(const std::string& path, const Extent& image, caffe::AnnotatedDatum& record)
      : path_(path),
        width_(static_cast<double>(image.width)),
        height_(static_cast<double>(image.height)),
        record_(record) {}

  [[noreturn]] void fail(int64_t line, const std::string& cause) const {
    throw Error(ErrorKind::kData, cause, kCorrect).at(str(path_, ":", line));
  }

  double number(const TextTree& tree) const {
    const size_t begin = tree.text.find_first_not_of(" \t\r\n");
    const size_t end = tree.text.find_last_not_of(" \t\r\n");
    double value = 0;
    if (begin != std::string::npos) {
      const char *first = tree.text.data() + begin, *last = tree.text.data() + end + 1;
      const auto [stop, status] = std::from_chars(first, last, value);
      if (status == std::errc() && stop == last && std::isfinite(value)) return value;
    }
    fail(tree.line, str("\"", excerpt(tree.text), "\" of \"", excerpt(tree.name), "\" is no number"));
  }

  /// The number at a child; `otherwise` where there is none.
  double number_at(const TextTree& tree, std::string_view child, double otherwise) const {
    const TextTree* found = tree.find(child);
    return found ? number(*found) : otherwise;
  }

  /// The file's own size of the image.
  void believe_size(const TextTree& size) {
    const double width = number_at(size, "width", width_), height = number_at(size, "height", height_);
    if (!(width >= 1) || !(height >= 1)) fail(size.line, str("an image of ", width, " x ", height, " pixels"));
    if (width != width_ || height != height_) {
      LOG_WARNING << path_ << ": says that the image has " << width << " x " << height << " pixels; it has " << width_
                  << " x " << height_;
    }
    width_ = width;
    height_ = height;
  }

  /// Corners in pixels.
  void add(int32_t label, double xmin, double ymin, double xmax, double ymax, bool difficult, int64_t line) {
    const Box<float> box{static_cast<float>(xmin / width_), static_cast<float>(ymin / height_),
                         static_cast<float>(xmax / width_), static_cast<float>(ymax / height_)};
    const char* wrong = !box.is_finite()                                                   ? "is not finite"
                        : box.xmin > box.xmax || box.ymin > box.ymax                       ? "is upside down"
                        : !(box.area() > 0)                                                ? "is empty"
                        : box.xmin >= 1 || box.ymin >= 1 || box.xmax <= 0 || box.ymax <= 0 ? "lies outside of the image"
                                                                                           : nullptr;
    const std::string where = str(path_, ":", line, ": the box (", xmin, ", ", ymin, ") .. (", xmax, ", ", ymax, ") ");
    if (wrong) {
      LOG_WARNING << where << wrong << " and is left out";
      return;
    }
    if (xmin < 0 || ymin < 0 || xmax > width_ || ymax > height_) LOG_WARNING << where << "reaches out of the image";
    caffe::AnnotationGroup& group = group_of(label);
    // Instances are counted in each class by itself.
    const int32_t instance =
        group.annotation_size() == 0 ? 0 : group.annotation(group.annotation_size() - 1).instance_id() + 1;
    caffe::Annotation& annotation = *group.add_annotation();
    annotation.set_instance_id(instance);
    caffe::NormalizedBBox& stored = *annotation.mutable_bbox();
    stored.set_xmin(box.xmin);
    stored.set_ymin(box.ymin);
    stored.set_xmax(box.xmax);
    stored.set_ymax(box.ymax);
    stored.set_difficult(difficult);
  }

 private:
  caffe::AnnotationGroup& group_of(int32_t label) {
    for (caffe::AnnotationGroup& group : *record_.mutable_annotation_group()) {
      if (group.group_label() == label) return group;
    }
    caffe::AnnotationGroup& group = *record_.add_annotation_group();
    group.set_group_label(label);
    return group;
  }

  const std::string& path_;
  double width_, height_;  // pixels, by which corners are divided
  caffe::AnnotatedDatum& record_;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

int32_t label_of(const TextTree* name, const TextTree& object, const std::map<std::string, int32_t>& labels,
                 const Annotator& annotator) {
  if (!name) annotator.fail(object.line, "an object has no name");
  const auto found = labels.find(trimmed(name->text));
  if (found != labels.end()) return found->second;
  annotator.fail(name->line, str("the label map has no item \"", excerpt(trimmed(name->text)), "\""));
}

/// annotation > size, object > name, difficult, bndbox > xmin, ymin, xmax, ymax.
void read_xml(const TextTree& root, const std::map<std::string, int32_t>& labels, Annotator& annotator) {
  if (root.name != "annotation") annotator.fail(root.line, str("<", excerpt(root.name), "> is no <annotation>"));
  if (const TextTree* size = root.find("size")) annotator.believe_size(*size);
  for (const TextTree& object : root.children) {
    if (object.name != "object") continue;
    const int32_t label = label_of(object.find("name"), object, labels, annotator);
    const TextTree* difficult = object.find("difficult");
    const TextTree* box = object.find("bndbox");
    if (!box) annotator.fail(object.line, "an object has no <bndbox>");
    annotator.add(label, annotator.number_at(*box, "xmin", 0), annotator.number_at(*box, "ymin", 0),
                  annotator.number_at(*box, "xmax", 0), annotator.number_at(*box, "ymax", 0),
                  difficult && trimmed(difficult->text) == "1", box->line);
  }
}

/// image > width, height; annotation [ category_id, iscrowd, bbox [x, y, width, height] ].
void read_json(const TextTree& root, const std::map<std::string, int32_t>& labels, Annotator& annotator) {
  if (const TextTree* image = root.find("image")) annotator.believe_size(*image);
  const TextTree* objects = root.find("annotation");
  if (!objects) annotator.fail(root.line, "there is no \"annotation\"");
  for (const TextTree& object : objects->children) {
    const int32_t label = label_of(object.find("category_id"), object, labels, annotator);
    const TextTree* box = object.find("bbox");
    if (!box || box->children.size() != 4) annotator.fail(object.line, "an object has no \"bbox\" of four numbers");
    const double x = annotator.number(box->children[0]), y = annotator.number(box->children[1]);
    annotator.add(label, x, y, x + annotator.number(box->children[2]), y + annotator.number(box->children[3]),
                  annotator.number_at(object, "iscrowd", 0) != 0, box->line);
  }
}

/// label xmin ymin xmax ymax, in lines.
void read_text(const std::string& text, Annotator& annotator) {
  std::istringstream lines(text);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::vector<double> values;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      values.push_back(annotator.number({.name = "box", .text = word, .children = {}, .line = number}));
    if (values.empty()) continue;
    constexpr double kMostLabels = 1 << 30;
    if (values.size() != 5) annotator.fail(number, "a box is \"label xmin ymin xmax ymax\"");
    if (values[0] != std::floor(values[0]) || std::fabs(values[0]) > kMostLabels)
      annotator.fail(number, str(values[0], " is no label"));
    annotator.add(static_cast<int32_t>(values[0]), values[1], values[2], values[3], values[4], false, number);
  }
}

}  // namespace

AnnotationFormat parse_annotation_format(const std::string& word) {
  if (word == "xml") return AnnotationFormat::kXml;
  if (word == "json") return AnnotationFormat::kJson;
  if (word == "txt") return AnnotationFormat::kText;
  throw Error(ErrorKind::kUsage, "unknown type of annotation files \"" + word + "\"", "say xml, json or txt");
}

std::map<std::string, int32_t> read_label_map(const std::string& path, bool check) {
  caffe::LabelMap map;
  google::protobuf::TextFormat::ParseInfoTree tree;
  parse_text(load_text(path), path, &map, &tree);
  std::map<std::string, int32_t> labels;
  for (const caffe::LabelMapItem& item : map.item()) {
    const bool is_new = labels.insert_or_assign(item.name(), item.label()).second;
    if (check && !is_new)
      throw Error(ErrorKind::kConfig, str("the name \"", item.name(), "\" comes twice"),
                  "give each item a name of its own")
          .at(path);
  }
  if (labels.empty())
    throw Error(ErrorKind::kConfig, "the label map has no item", "write item { name: label: }").at(path);
  return labels;
}

void read_annotations(const std::string& path, AnnotationFormat format, const Extent& image,
                      const std::map<std::string, int32_t>& labels, caffe::AnnotatedDatum& record) {
  const std::string text = read_input_text(path, ErrorKind::kData);
  Annotator annotator(path, image, record);
  if (format == AnnotationFormat::kXml) return read_xml(parse_xml(text, path), labels, annotator);
  if (format == AnnotationFormat::kJson) return read_json(parse_json(text, path), labels, annotator);
  read_text(text, annotator);
}

}  // namespace robusta
