// AnnotatedData: images with boxes from a database of AnnotatedDatum records, as SSD trains on them. Tops: data [batch,
// channels, height, width], and, if named, the boxes of the batch [1, 1, boxes, 8], or labels [batch] where the records
// have no boxes. A reader by the database's kind, a filler that moves boxes with their pixels; the rest is
// PrefetchedSource's.

#include "data/annotated_filler.h"
#include "data/open_source.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

[[noreturn]] void wrong_annotated(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field("data_param." + field);
}

ReadingSettings annotated_reading(const caffe::LayerParameter& layer) {
  const caffe::DataParameter& param = layer.data_param();
  if (param.source().empty()) wrong_annotated("source", "no source is given", "name the LMDB folder");
  if (param.batch_size() == 0) wrong_annotated("batch_size", "batch_size is 0", "set it to 1 or more");
  return {.source = param.source(),
          .field = "data_param.source",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle()};
}

class AnnotatedDataLayer : public PrefetchedSource {
 public:
  explicit AnnotatedDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, annotated_reading(param)), sampler_(param.annotated_data_param()) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    Transformer transformer(param().transform_param(), training(), !sampler_.is_nothing());
    auto reader = open_source(source, param().data_param().backend());
    const bool given = param().annotated_data_param().has_anno_type();
    const AnnotatedTop top = param().top_size() == 1             ? AnnotatedTop::kNone
                             : given || first_has_boxes(*reader) ? AnnotatedTop::kBoxes
                                                                 : AnnotatedTop::kLabels;
    auto filler = std::make_unique<AnnotatedFiller>(std::move(transformer), sampler_, name(), top, given);
    return {std::move(reader), std::move(filler)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    return assumed_image(source, param().transform_param());
  }

  /// Two boxes in each image, of the first class that is not the background.
  Shape assumed_top(int, int64_t batch) const override { return {1, 1, kAssumedBoxes * batch, kRow}; }
  float assumed_value(int, int64_t index) const override {
    constexpr float kBoxes[kAssumedBoxes][4] = {{0.1f, 0.1f, 0.5f, 0.6f}, {0.4f, 0.3f, 0.9f, 0.8f}};
    const int64_t row = index / kRow, column = index % kRow, box = row % kAssumedBoxes;
    if (column == 0) return static_cast<float>(row / kAssumedBoxes);
    if (column == 1) return 1;
    if (column == 2) return static_cast<float>(box);
    return column == kRow - 1 ? 0 : kBoxes[box][column - 3];
  }

 private:
  static constexpr int64_t kAssumedBoxes = 2, kRow = 8;

  /// False, too, where the first record is damaged: it is refused when it is read.
  static bool first_has_boxes(const RecordReader& reader) {
    std::string storage;
    try {
      return parse_annotated_datum(reader.record(0, storage)).type.has_value();
    } catch (const Error&) {
      return false;
    }
  }

  PatchSampler sampler_;
};

ROBUSTA_REGISTER_LAYER("AnnotatedData", AnnotatedDataLayer);

}  // namespace
}  // namespace robusta
