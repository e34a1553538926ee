/// Pooling: what its kernels share.
///
/// Bottom [batch, channels, in...], top [batch, channels, out...]. Two spatial axes as in Caffe; one or three with one
/// kernel_size for all or, for three, kernel_size_3d (Intel). A window is clipped to the image, and without padding one
/// may lie outside altogether: MAX then gives -FLT_MAX and index -1, AVE divides zero by the area that Caffe computes
/// (NaN when that is zero), and neither has a gradient. STOCHASTIC: stochastic_pooling.h. With dilation (naibaf7/caffe,
/// src/caffe/layers/pooling_layer.cpp and its kernels for GPUs) the taps of a window lie that far apart; a window may
/// miss the image altogether then, and its average is 0; AVE divides by the number of taps.
#pragma once

#include <vector>

#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"
#include "ops/window.h"

namespace robusta {

class PoolingLayer : public Layer, public TellsShapes {
 public:
  explicit PoolingLayer(const caffe::LayerParameter& param);
  Arity arity() const override;
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool wants_image(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return is_no_image(bottoms[bottom]);
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  std::optional<std::vector<AxisMap>> alignment(const Shape& bottom, const Shape& top) const override;

  bool is_max() const { return param().pooling_param().pool() == caffe::PoolingParameter::MAX; }
  bool is_stochastic() const { return param().pooling_param().pool() == caffe::PoolingParameter::STOCHASTIC; }
  /// Averages: pixels of padding count in the divisor, as in BVLC's Caffe. Not in Intel's avg_include_pad: false, nor
  /// in Synopsys's AVE_EXC_PAD and AVE_TF.
  bool counts_padding() const;
  /// MAX: top 1 holds the index of each maximum within its plane.
  bool has_index_top() const { return param().top_size() > 1; }

  int64_t batch() const { return batch_; }
  int64_t channels() const { return channels_; }
  const std::vector<WindowAxis>& axes() const { return axes_; }
  bool is_dilated() const;
  /// True when some window holds no pixel at all: only the reference kernel computes what Caffe does then.
  bool has_empty_windows() const;

 private:
  /// Whether a last window counts that is not whole: round_mode, or ceil_mode in Synopsys's Caffe.
  bool rounds_up() const;

  int64_t batch_ = 0, channels_ = 0;
  std::vector<WindowAxis> axes_;
};

}  // namespace robusta
