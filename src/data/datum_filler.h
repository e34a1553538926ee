/// Images and labels from Datum records: top 0 [C, H, W] per sample, transformed; top 1, if there is one, the label.
///
/// What is drawn for a sample - crop, mirror - depends on the layer's name, the seed and the sample's position alone.
#pragma once

#include <string>

#include "data/datum.h"
#include "data/record_filler.h"
#include "data/transformer.h"

namespace robusta {

class DatumFiller : public RecordFiller {
 public:
  /// `layer` is the key of the random numbers; `labels`: whether there is a top 1.
  DatumFiller(Transformer transformer, std::string layer, bool labels)
      : transformer_(std::move(transformer)), layer_(std::move(layer)), labels_(labels) {}

  std::vector<Shape> item_shapes(std::string_view record, int64_t index) const override;
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override;
  /// Nothing where the record holds floats.
  std::optional<PixelForm> pixel_form(std::string_view record) const override;
  int label_top() const override { return labels_ ? 1 : -1; }
  int label(std::string_view record, int64_t index) const override;

 private:
  void write(const Pixels& item, const Extent& wanted, const Sample& sample, Batch& batch) const;

  Transformer transformer_;
  std::string layer_;
  bool labels_;
};

}  // namespace robusta
