// Pooling and SPP.
//
// Caffe rounds the number of windows up and lets the last one be cut; ceil_mode of ONNX would say so, but runtimes
// disagree about it. Here the pads are such that rounding down gives as many windows:
//
//   behind = max(0, (out - 1) stride + extent - in - before)
//
// MAX never looks at padding. An AVE that counts padding divides by the part of a window within in + 2 pad, so that the
// image is padded first, and what lies further behind is padding of the operator that does not count.

#include <algorithm>
#include <limits>

#include "base/str.h"
#include "exchange/onnx/export/emitter.h"
#include "layers/types/pooling/pooling.h"
#include "layers/types/spp/spp.h"

namespace robusta {
namespace {

/// Padding of all spatial axes: of the operator, or of the image before it.
struct Pads {
  std::vector<int64_t> before, behind;
  std::vector<int64_t> joined() const {
    std::vector<int64_t> both = before;
    both.insert(both.end(), behind.begin(), behind.end());
    return both;
  }
  bool none() const {
    const auto zero = [](int64_t pad) { return pad == 0; };
    return std::all_of(before.begin(), before.end(), zero) && std::all_of(behind.begin(), behind.end(), zero);
  }
};

/// So many entries behind that no window is cut off.
Pads pads_for_all_windows(const std::vector<WindowAxis>& axes, bool image_is_padded) {
  Pads pads;
  for (const WindowAxis& axis : axes) {
    const int64_t before = image_is_padded ? 0 : axis.pad, in = image_is_padded ? axis.padded_in() : axis.in;
    pads.before.push_back(before);
    pads.behind.push_back(std::max<int64_t>(0, (axis.out - 1) * axis.stride + axis.extent() - in - before));
  }
  return pads;
}

Pads pads_of_image(const std::vector<WindowAxis>& axes) {
  Pads pads;
  for (const WindowAxis& axis : axes) {
    pads.before.push_back(axis.pad);
    pads.behind.push_back(axis.pad_behind());
  }
  return pads;
}

/// Operators refuse padding that a window fits into.
bool windows_exceed(const std::vector<WindowAxis>& axes, const Pads& pads) {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (std::max(pads.before[a], pads.behind[a]) >= axes[a].kernel) return false;
  }
  return true;
}

std::string padded(LayerEmission& layer, const std::string& x, const Pads& pads, float value) {
  if (pads.none()) return x;
  std::vector<int64_t> all{0, 0};
  all.insert(all.end(), pads.before.begin(), pads.before.end());
  all.insert(all.end(), {0, 0});
  all.insert(all.end(), pads.behind.begin(), pads.behind.end());
  return layer.node("Pad", {x, layer.integers(all), layer.number(value)});
}

OnnxAttributes window_attributes(const std::vector<WindowAxis>& axes, const Pads& pads) {
  std::vector<int64_t> kernel, strides;
  for (const WindowAxis& axis : axes) {
    kernel.push_back(axis.kernel);
    strides.push_back(axis.stride);
  }
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads.joined()}};
}

bool is_whole_image(const std::vector<WindowAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) {
    return axis.kernel == axis.in && axis.dilation == 1 && axis.padded_in() == axis.in && axis.out == 1;
  });
}

std::string max_pooled(LayerEmission& layer, const PoolingLayer& pooling, std::string x) {
  const std::vector<WindowAxis>& axes = pooling.axes();
  if (is_whole_image(axes)) return layer.node("GlobalMaxPool", {x});
  Pads pads = pads_for_all_windows(axes, false);
  if (!windows_exceed(axes, pads)) {
    x = padded(layer, x, pads, std::numeric_limits<float>::lowest());
    pads = {std::vector<int64_t>(axes.size(), 0), std::vector<int64_t>(axes.size(), 0)};
  }
  OnnxAttributes attributes = window_attributes(axes, pads);
  std::vector<int64_t> dilations;
  for (const WindowAxis& axis : axes) dilations.push_back(axis.dilation);
  attributes.push_back({"dilations", dilations});
  return layer.node("MaxPool", {x}, attributes);
}

std::string average_pooled(LayerEmission& layer, const PoolingLayer& pooling, std::string x) {
  const std::vector<WindowAxis>& axes = pooling.axes();
  if (is_whole_image(axes)) return layer.node("GlobalAveragePool", {x});
  if (pooling.is_dilated()) layer.refuse("averages of dilated windows have no operator", "pooling_param.dilation");
  if (pooling.has_empty_windows()) layer.refuse("a window of its averages lies outside of the image", "pooling_param");
  const bool counts = pooling.counts_padding();
  if (counts) x = padded(layer, x, pads_of_image(axes), 0);
  const Pads pads = pads_for_all_windows(axes, counts);
  if (!windows_exceed(axes, pads)) layer.refuse("a window of its averages lies in the padding", "pooling_param");
  OnnxAttributes attributes = window_attributes(axes, pads);
  attributes.push_back({"count_include_pad", int64_t{0}});
  return layer.node("AveragePool", {x}, attributes);
}

/// The mean of a window's pixels, each with a probability that is its share of their sum: sum x^2 / sum x.
std::string stochastic_pooled(LayerEmission& layer, const PoolingLayer& pooling, const std::string& x) {
  if (pooling.training()) layer.refuse("it draws pixels, as phase: TRAIN says, and ONNX has no such draws", "phase");
  const std::string squares = average_pooled(layer, pooling, layer.node("Mul", {x, x}));
  const std::string values = average_pooled(layer, pooling, x);
  const std::string above = layer.node("Greater", {values, layer.number(0)});
  return layer.node("Where", {above, layer.node("Div", {squares, values}), layer.number(0)});
}

std::string pooled(LayerEmission& layer, const PoolingLayer& pooling, const std::string& x) {
  if (pooling.is_max()) return max_pooled(layer, pooling, x);
  if (pooling.is_stochastic()) return stochastic_pooled(layer, pooling, x);
  return average_pooled(layer, pooling, x);
}

/// ONNX counts the pixels of the whole bottom, Caffe those of a plane.
void emit_with_indices(LayerEmission& layer, const PoolingLayer& pooling) {
  const std::vector<WindowAxis>& axes = pooling.axes();
  const Pads pads = pads_for_all_windows(axes, false);
  if (!windows_exceed(axes, pads) || pooling.has_empty_windows()) {
    layer.refuse("indices of windows that lie in the padding have no operator", "pooling_param");
  }
  OnnxAttributes attributes = window_attributes(axes, pads);
  std::vector<int64_t> dilations;
  for (const WindowAxis& axis : axes) dilations.push_back(axis.dilation);
  attributes.push_back({"dilations", dilations});
  const std::string indices = layer.fresh("Indices");
  layer.node_to("MaxPool", {layer.bottom(0)}, {layer.top_name(0), indices}, attributes);
  const std::string in_plane = layer.node("Mod", {indices, layer.integer(elements_in(axes))});
  layer.top(1, "Cast", {in_plane}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
}

void emit_pooling(LayerEmission& layer) {
  const auto& pooling = layer.as<PoolingLayer>();
  if (pooling.has_index_top()) return emit_with_indices(layer, pooling);
  layer.top_is(0, pooled(layer, pooling, layer.bottom(0)));
}

void emit_spp(LayerEmission& layer) {
  std::vector<std::string> rows;
  for (const SppLayer::Level& level : layer.as<SppLayer>().levels()) {
    rows.push_back(pooled(layer, dynamic_cast<const PoolingLayer&>(*level.pooling), layer.bottom(0)));
  }
  if (rows.size() == 1) return layer.top_is(0, rows[0]);
  for (std::string& row : rows) row = layer.node("Flatten", {row}, {{"axis", int64_t{1}}});
  layer.top(0, "Concat", rows, {{"axis", int64_t{1}}});
}

[[maybe_unused]] const bool registered_pooling[] = {register_onnx_emitter("Pooling", emit_pooling),
                                                    register_onnx_emitter("SPP", emit_spp)};

}  // namespace
}  // namespace robusta
