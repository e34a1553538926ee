/// Embed: y = W[id] + b for each id of the bottom, a product of W with one-hot vectors that are never made. Shared by
/// its kernels.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/picked_rows.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

/// Parameters: W [input_dim, num_output]; b [num_output] if has_bias().
class EmbedLayer : public Layer, public TellsShapes {
 public:
  explicit EmbedLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// One id for each sample, rather than an image of them.
  std::optional<Shape> wanted_bottom(size_t, const std::vector<Shape>& bottoms) const override {
    return bottoms[0].axes() == 4 ? std::optional(Shape{bottoms[0][0]}) : std::nullopt;
  }
  std::optional<Shape> bottom_for(size_t, const Shape& wanted, const std::vector<Shape>&) const override {
    return wanted.axes() > 0 ? std::optional(wanted.slice(0, wanted.axes() - 1)) : std::nullopt;
  }
  std::vector<ParamDecl> params() const override;
  int64_t num_output() const override { return param().embed_param().num_output(); }
  bool allows_gradient(int) const override { return false; }

  bool has_bias() const { return param().embed_param().bias_term(); }
  /// After infer_tops.
  const RowPicks& picks() const { return picks_; }

 private:
  int64_t input_dim() const { return param().embed_param().input_dim(); }

  RowPicks picks_;
};

}  // namespace robusta
