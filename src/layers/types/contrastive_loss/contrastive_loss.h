/// ContrastiveLoss: pulls the two of a similar pair together, and pushes those of another pair apart up to a margin
/// (Hadsell, Chopra, LeCun 2006, "Dimensionality reduction by learning an invariant mapping"). Shared by its kernels.
///
///   L = sum over pairs of (d^2 where similar, else max(0, margin - d)^2) / (2 N), d = |a - b|
///
/// legacy_version: max(0, margin - d^2) without a square. Bottoms: a; b; for each pair a number, similar unless it is 0
/// when cut to an integer. As in BVLC Caffe, also in the gradient, which divides by d + 1e-4.
#pragma once

#include "base/half.h"
#include "base/str.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class ContrastiveLossLayer : public Layer, public TellsShapes {
 public:
  explicit ContrastiveLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {3, 3, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// A number for each pair.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    const bool fits = bottom != 2 || bottoms[0].axes() == 0 || bottoms[2].count() == bottoms[0][0];
    return fits ? std::nullopt : std::optional(Shape{bottoms[0][0]});
  }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom < 2; }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[0].count());
  }
};

/// Makes the error of a pair whose number of similarity is not finite (kit/finite_numbers.h).
inline auto bad_similarity(const Pass& pass) {
  return [first = pass.first_sample](int64_t pair, double value) {
    return Error(ErrorKind::kData,
                 str("bottom 2 is ", value, " for the pair of sample ", first + static_cast<uint64_t>(pair)),
                 "give 0 for a pair of different things, and another number for a pair of similar ones");
  };
}

/// What one pair costs, of its squared distance. A NaN stays one.
template <typename Math>
struct PairCost {
  using T = typename Math::T;
  explicit PairCost(const caffe::LayerParameter& layer)
      : margin(layer.contrastive_loss_param().margin()), legacy(layer.contrastive_loss_param().legacy_version()) {}

  ROBUSTA_HOST_DEVICE T value(T square, bool similar) const {
    if (similar) return square;
    const T gap = margin - (legacy ? square : Math::sqrt(square));
    if (gap < 0) return 0;
    return legacy ? gap : gap * gap;
  }
  /// What the gradient multiplies (a - b) / N by. (margin - d)^2 / 2 has the derivative -(margin - d) / d times a - b,
  /// which 1e-4 keeps finite for a pair of equal features; margin / 2 - d^2 / 2 of the legacy version has -1 times a -
  /// b.
  ROBUSTA_HOST_DEVICE T slope(T square, bool similar) const {
    if (similar) return 1;
    const T distance = Math::sqrt(square), gap = margin - (legacy ? square : distance);
    if (!(gap > 0)) return 0;
    return legacy ? -1 : -gap / (distance + T{1e-4});
  }

  T margin;
  bool legacy;
};

}  // namespace robusta
