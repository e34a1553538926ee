// Lists are read by words, as in SSD: paths hold no blanks.

#include "data/convert/annotation_set.h"

#include <atomic>
#include <charconv>
#include <sstream>

#include "base/excerpt.h"
#include "base/input_text.h"
#include "base/log.h"
#include "base/str.h"
#include "data/convert/image_records.h"
#include "data/error_of.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct AnnotatedItem {
  std::string path;
  std::string annotation;  // of boxes: a file
  int32_t label = 0;       // else
};

std::vector<AnnotatedItem> read_list(const AnnotationSetOptions& options) {
  std::istringstream lines(read_input_text(options.list, ErrorKind::kData));
  std::vector<AnnotatedItem> items;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    AnnotatedItem item;
    std::string second, more;
    if (!(words >> item.path)) continue;
    const auto refuse = [&](const std::string& cause) {
      throw Error(ErrorKind::kData, cause,
                  options.detection ? "write \"image annotation-file\", with no blanks in either"
                                    : "write \"image class\", the class a whole number")
          .at(str(options.list, ":", number));
    };
    if (!(words >> second) || words >> more) refuse(str("\"", excerpt(line), "\" is not two words"));
    item.annotation = second;
    const auto [end, status] = std::from_chars(second.data(), second.data() + second.size(), item.label);
    if (!options.detection && (status != std::errc() || end != second.data() + second.size()))
      refuse(str("\"", excerpt(second), "\" is no class"));
    items.push_back(std::move(item));
  }
  if (items.empty()) {
    throw Error(ErrorKind::kData, "the list names no image",
                options.detection ? "write \"image annotation-file\" lines" : "write \"image class\" lines")
        .at(options.list);
  }
  return items;
}

class AnnotationConverter {
 public:
  explicit AnnotationConverter(const AnnotationSetOptions& options) : options_(options), images_(options.image) {
    if (options.detection) labels_ = read_label_map(options.label_map, options.check_label);
  }

  ConvertedItem convert(const AnnotatedItem& item) {
    ConvertedItem result;
    caffe::AnnotatedDatum record;
    Extent original;
    const auto unreadable = error_of([&] { original = add_image(item, record, result.extent); }, kSmaller);
    if (unreadable) {
      result.failure = unreadable->cause();
      return result;
    }
    result.fatal = error_of(
        [&] {
          add_boxes(item, original, record);
          result.record = record.SerializeAsString();
        },
        kSmaller);
    return result;
  }

  int64_t boxes() const { return boxes_; }

 private:
  static constexpr char kSmaller[] = "give --resize_height and --resize_width";

  /// Returns the size of the file. Sizes are stored with encoded images, too: SSD's transformer reads them.
  Extent add_image(const AnnotatedItem& item, caffe::AnnotatedDatum& record, Extent& stored) const {
    ImageToDatum::Result converted = images_.convert(options_.root + item.path);
    caffe::Datum& datum = *record.mutable_datum();
    datum = std::move(converted.datum);
    datum.set_channels(static_cast<int32_t>(converted.extent.channels));
    datum.set_height(static_cast<int32_t>(converted.extent.height));
    datum.set_width(static_cast<int32_t>(converted.extent.width));
    // -1 as in SSD: the labels are those of the boxes.
    datum.set_label(options_.detection ? -1 : item.label);
    stored = converted.extent;
    return converted.original;
  }

  void add_boxes(const AnnotatedItem& item, const Extent& original, caffe::AnnotatedDatum& record) {
    if (!options_.detection) return;
    record.set_type(caffe::AnnotatedDatum::BBOX);
    read_annotations(options_.root + item.annotation, options_.format, original, labels_, record);
    for (const caffe::AnnotationGroup& group : record.annotation_group()) boxes_ += group.annotation_size();
  }

  const AnnotationSetOptions& options_;
  ImageToDatum images_;
  std::map<std::string, int32_t> labels_;
  std::atomic<int64_t> boxes_ = 0;
};

}  // namespace

AnnotationSetResult convert_annotation_set(const AnnotationSetOptions& options) {
  AnnotationConverter converter(options);
  std::vector<AnnotatedItem> items = read_list(options);
  if (options.shuffle) shuffle_items(items, options.seed, "convert_annoset");
  LOG_INFO << "A total of " << items.size() << " images.";
  std::vector<std::string> paths;
  for (const AnnotatedItem& item : items) paths.push_back(item.path);
  const auto [written, skipped] =
      write_image_records(paths, {options.backend, options.folder, options.root, options.check_size},
                          [&](size_t index) { return converter.convert(items[index]); });
  if (written == 0) refuse_unreadable(items.size(), options.list, options.root);
  return {written, skipped, converter.boxes()};
}

}  // namespace robusta
