// Pooling: shapes.
//
// The number of windows is that of BVLC Caffe, ceil((in + 2 pad - kernel) / stride) + 1 unless round_mode says FLOOR,
// and one less where the last window would begin behind the image and the padding before it. Without padding it may:
// such a window holds no pixel.

#include "layers/types/pooling/pooling.h"

#include <algorithm>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/windows.h"

namespace robusta {
namespace {

int64_t outputs(const WindowAxis& axis, bool round_up) {
  const int64_t room = axis.padded_in() - axis.extent();
  if (room < 0) return round_up && -room < axis.stride ? 1 : 0;  // what rounding towards zero gives
  return (room + (round_up ? axis.stride - 1 : 0)) / axis.stride + 1;
}

}  // namespace

PoolingLayer::PoolingLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.pooling_param();
  if (p.has_ceil_mode() && p.has_round_mode() && p.ceil_mode() != (p.round_mode() == caffe::PoolingParameter::CEIL)) {
    throw Error(ErrorKind::kConfig, "ceil_mode and round_mode contradict each other", "give one of the two")
        .in_field("pooling_param.ceil_mode");
  }
}

bool PoolingLayer::counts_padding() const {
  const auto& p = param().pooling_param();
  return p.pool() == caffe::PoolingParameter::AVE && p.avg_include_pad();
}

/// With pad_type there are as many windows as the padding was made for.
bool PoolingLayer::rounds_up() const {
  const auto& p = param().pooling_param();
  if (p.pad_type() == 1) return false;
  return p.has_ceil_mode() ? p.ceil_mode() : p.round_mode() == caffe::PoolingParameter::CEIL;
}

Arity PoolingLayer::arity() const { return {1, 1, 1, is_max() ? 2 : 1}; }

std::vector<Shape> PoolingLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const auto& p = param().pooling_param();
  const Shape& bottom = bottoms[0];
  require_elements(bottoms);
  if (bottom.axes() < 3 || bottom.axes() > 5 || p.axis() != 1) {
    throw Error(ErrorKind::kConfig,
                str("pooling takes an input of batch, channels and one to three spatial axes, not ", bottom.str()));
  }
  std::vector<WindowAxis> axes = read_windows(p, bottom);
  const bool padded =
      std::any_of(axes.begin(), axes.end(), [](const WindowAxis& axis) { return axis.padded_in() > axis.in; });
  if (padded && is_stochastic()) {
    throw Error(ErrorKind::kConfig, "STOCHASTIC pooling has no padding", "remove pad, or use MAX or AVE")
        .in_field("pooling_param.pad");
  }
  const bool dilated = std::any_of(axes.begin(), axes.end(), [](const WindowAxis& axis) { return axis.dilation > 1; });
  if (dilated && is_stochastic()) {
    throw Error(ErrorKind::kConfig, "STOCHASTIC pooling has no dilation", "remove dilation, or use MAX or AVE")
        .in_field("pooling_param.dilation");
  }
  std::vector<int64_t> dims{bottom[0], bottom[1]};
  for (size_t a = 0; a < axes.size(); ++a) {
    WindowAxis& axis = axes[a];
    axis.out = outputs(axis, rounds_up());
    // With padding on any axis the last window must begin inside of the image or the padding before it.
    if (padded && (axis.out - 1) * axis.stride >= axis.in + axis.pad) --axis.out;
    if (axis.out < 1) throw window_exceeds_input("pooling_param", axes, a);
    dims.push_back(axis.out);
  }
  batch_ = bottom[0];
  channels_ = bottom[1];
  axes_ = axes;
  return std::vector<Shape>(static_cast<size_t>(std::max(1, param().top_size())), Shape(dims));
}

double PoolingLayer::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  return static_cast<double>(tops[0].count()) * static_cast<double>(taps(axes_));
}

std::optional<std::vector<AxisMap>> PoolingLayer::alignment(const Shape&, const Shape&) const {
  return window_alignment(axes_);
}

bool PoolingLayer::is_dilated() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const WindowAxis& axis) { return axis.dilation > 1; });
}

bool PoolingLayer::has_empty_windows() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const WindowAxis& axis) {
    const int64_t last = (axis.out - 1) * axis.stride - axis.pad;
    return last >= axis.in;
  });
}

ROBUSTA_REGISTER_LAYER("Pooling", PoolingLayer);

}  // namespace robusta
