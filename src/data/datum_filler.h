/// Images and labels from Datum records: top 0 [C, H, W] per sample, transformed; top 1, if there is one, the label.
#pragma once

#include "data/datum.h"
#include "data/item_writer.h"
#include "data/record_filler.h"

namespace robusta {

class DatumFiller : public RecordFiller {
 public:
  /// `layer` is the key of the random numbers; `labels`: whether there is a top 1.
  DatumFiller(Transformer transformer, std::string layer, bool labels)
      : writer_(std::move(transformer), std::move(layer), labels, "resize the images when the database is written") {}

  void decode_scaled() override { writer_.decode_scaled(); }
  std::vector<Shape> item_shapes(std::string_view record, int64_t index) const override;
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override;
  /// Nothing where the record holds floats.
  std::optional<PixelForm> pixel_form(std::string_view record) const override;
  int label_top() const override { return writer_.labels() ? 1 : -1; }
  int label(std::string_view record, int64_t index) const override;

 private:
  ColorMode color_mode() const { return writer_.transformer().color_mode(); }

  ItemWriter writer_;
};

}  // namespace robusta
