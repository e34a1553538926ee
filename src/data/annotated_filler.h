/// Images with boxes from AnnotatedDatum records: top 0 [C, H, W] per sample, transformed; top 1, if there is one, the
/// boxes of all samples, [1, 1, boxes, 8]: the sample's place in the batch, label, instance, xmin, ymin, xmax, ymax in
/// parts of the image, difficult. Where the records have no boxes, top 1 is the label. For YOLO top 1 is [1, 300, 5]
/// per sample (yolo_data_type 1 of eric612/MobileNet-YOLO, annotated_data_layer.cpp): the first 300 boxes, each a class
/// from 0 on and middle x, middle y, width and height; zeros follow.
#pragma once

#include <string>
#include <vector>

#include "data/annotated_datum.h"
#include "data/datum.h"
#include "data/item_writer.h"
#include "data/record_filler.h"

namespace robusta {

/// What top 1 holds.
enum class AnnotatedTop { kNone, kLabels, kBoxes, kCentredBoxes };

/// Of kCentredBoxes: rows of a sample, and their numbers.
inline constexpr int64_t kCentredRows = 300, kCentredNumbers = 5;

class AnnotatedFiller : public RecordFiller {
 public:
  /// `layer` is the key of the random numbers. `type_is_given`: by the prototxt, whatever the records say.
  /// `takes_difficult`: centred boxes that are difficult count, too.
  AnnotatedFiller(Transformer transformer, PatchSampler sampler, std::string layer, AnnotatedTop top,
                  bool type_is_given, bool takes_difficult = true)
      : writer_(std::move(transformer), std::move(layer), top != AnnotatedTop::kNone, "a resize_param"),
        sampler_(std::move(sampler)),
        top_(top),
        type_is_given_(type_is_given),
        takes_difficult_(takes_difficult) {}

  void decode_scaled() override { writer_.decode_scaled(); }
  std::vector<Shape> item_shapes(std::string_view record, int64_t index) const override;
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override;
  int rows_top() const override { return top_ == AnnotatedTop::kBoxes ? 1 : -1; }
  std::vector<float> rows(std::string_view record, const Sample& sample) const override;
  /// Nothing where the record holds floats.
  std::optional<PixelForm> pixel_form(std::string_view record) const override;
  int label_top() const override { return top_ == AnnotatedTop::kLabels ? 1 : -1; }
  int label(std::string_view record, int64_t index) const override;

 private:
  void write_centred(const std::vector<AnnotatedBox>& boxes, int64_t place, Batch& batch) const;
  bool has_boxes() const { return top_ == AnnotatedTop::kBoxes || top_ == AnnotatedTop::kCentredBoxes; }
  AnnotatedView parse(std::string_view record) const;
  Annotations annotations(AnnotatedView view) const;
  ColorMode color_mode() const { return writer_.transformer().color_mode(); }

  ItemWriter writer_;
  PatchSampler sampler_;
  AnnotatedTop top_;
  bool type_is_given_, takes_difficult_;
};

}  // namespace robusta
