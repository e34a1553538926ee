/// Upsample: with one bottom, each pixel becomes scale x scale of its kind (eric612/MobileNet-YOLO); with two, pixels
/// go where bottom 1, the mask of a MAX pooling (its second top), says that they came from, and all others are zero
/// (Badrinarayanan et al. 2017, "SegNet"; alexgkendall/caffe-segnet). Shared by its kernels.
///
/// Of several pixels with one place the last counts; the others have no gradient.
#pragma once

#include "layers/kit/picked_rows.h"
#include "layers/kit/sampling.h"

namespace robusta {

class UpsampleLayer : public SamplingLayer {
 public:
  explicit UpsampleLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;

  bool has_mask() const { return param().bottom_size() > 1; }
  // With a mask, after infer_tops: planes, and the pixels of each in the bottom and in the top.
  int64_t planes() const { return sampling_.outer; }
  int64_t pixels_in() const { return sampling_.h.in * sampling_.w.in; }
  int64_t pixels_out() const { return sampling_.h.out * sampling_.w.out; }
  /// The places of the mask, for check_picks.
  RowPicks picks() const;

 private:
  int64_t extent(const Shape& bottom, int axis) const;
};

/// What every kernel with a mask books: owners are kept, for each pixel of the top the pixel of the bottom, counted
/// from 1, that has come there; 0: none.
void book_upsample(const UpsampleLayer& layer, Booking& booking);

}  // namespace robusta
