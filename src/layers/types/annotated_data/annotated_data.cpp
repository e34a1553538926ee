// AnnotatedData: images with boxes from a database of AnnotatedDatum records, as SSD trains on them. Tops: data [batch,
// channels, height, width], and, if named, the boxes of the batch [1, 1, boxes, 8], or labels [batch] where the records
// have no boxes; or, for YOLO (yolo_data_type 1), the boxes of each sample [batch, 1, 300, 5]. A reader by the
// database's kind, a filler that moves boxes with their pixels; the rest is PrefetchedSource's.

#include "base/log.h"
#include "base/str.h"
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

/// Patches are jittered in proportion where images are resized so.
bool keeps_proportions(const caffe::TransformationParameter& transform) {
  return transform.resize_param_size() > 0 &&
         transform.resize_param(0).resize_mode() == caffe::ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
}

/// Images are jittered to train on them, and tested whole.
caffe::AnnotatedDataParameter sampling_of(const caffe::LayerParameter& layer) {
  caffe::AnnotatedDataParameter param = layer.annotated_data_param();
  const bool jitters = param.yolo_data_jitter() > 0 && param.yolo_data_jitter() < 1;  // all else is refused
  if (layer.phase() != caffe::TEST || !jitters) return param;
  if (param.has_yolo_data_jitter()) {
    LOG_WARNING << "layer " << layer.name() << ": annotated_data_param.yolo_data_jitter changes nothing in the TEST "
                << "phase: images are tested whole";
  }
  param.set_yolo_data_jitter(0);
  return param;
}

class AnnotatedDataLayer : public PrefetchedSource {
 public:
  explicit AnnotatedDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, annotated_reading(param)),
        sampler_(sampling_of(param), keeps_proportions(param.transform_param())) {
    const int32_t type = param.annotated_data_param().yolo_data_type();
    if (type == 0 || type == 1) return;
    throw Error(ErrorKind::kConfig, str("yolo_data_type is ", type),
                "give 0, or 1 for rows of boxes as YOLO reads them")
        .in_field("annotated_data_param.yolo_data_type");
  }
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    Transformer transformer(param().transform_param(), training(), !sampler_.is_nothing());
    auto reader = open_source(source, param().data_param().backend());
    const bool given = param().annotated_data_param().has_anno_type();
    const AnnotatedTop top = param().top_size() == 1             ? AnnotatedTop::kNone
                             : for_yolo()                        ? AnnotatedTop::kCentredBoxes
                             : given || first_has_boxes(*reader) ? AnnotatedTop::kBoxes
                                                                 : AnnotatedTop::kLabels;
    auto filler = std::make_unique<AnnotatedFiller>(std::move(transformer), sampler_, name(), top, given,
                                                    param().annotated_data_param().train_diffcult());
    return {std::move(reader), std::move(filler)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    return assumed_image(source, param().transform_param());
  }

  /// Two boxes in each image, of the first class that is not the background.
  Shape assumed_top(int, int64_t batch) const override {
    if (for_yolo()) return {batch, 1, kCentredRows, kCentredNumbers};
    return {1, 1, kAssumedBoxes * batch, kRow};
  }
  float assumed_value(int, int64_t index) const override {
    constexpr float kBoxes[kAssumedBoxes][4] = {{0.1f, 0.1f, 0.5f, 0.6f}, {0.4f, 0.3f, 0.9f, 0.8f}};
    if (for_yolo()) return assumed_centred(kBoxes, index);
    const int64_t row = index / kRow, column = index % kRow, box = row % kAssumedBoxes;
    if (column == 0) return static_cast<float>(row / kAssumedBoxes);
    if (column == 1) return 1;
    if (column == 2) return static_cast<float>(box);
    return column == kRow - 1 ? 0 : kBoxes[box][column - 3];
  }

 private:
  static constexpr int64_t kAssumedBoxes = 2, kRow = 8;  // per sample; numbers as in true_boxes.h

  bool for_yolo() const { return param().annotated_data_param().yolo_data_type() == 1; }

  /// The same boxes, of class 0.
  static float assumed_centred(const float (&boxes)[kAssumedBoxes][4], int64_t index) {
    const int64_t box = index / kCentredNumbers % kCentredRows, column = index % kCentredNumbers;
    if (box >= kAssumedBoxes || column == 0) return 0;
    const float low = boxes[box][(column - 1) % 2], high = boxes[box][(column - 1) % 2 + 2];
    return column < 3 ? (low + high) / 2 : high - low;
  }

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
