// Softmax, ArgMax and Reduction.

#include <limits>

#include "exchange/onnx/export/emitter.h"
#include "layers/types/argmax/argmax.h"
#include "layers/types/softmax/softmax.h"

namespace robusta {
namespace {

void emit_softmax(LayerEmission& layer) {
  layer.top(0, "Softmax", {layer.bottom(0)}, {{"axis", int64_t{layer.as<SoftmaxLayer>().axis()}}});
}

struct Largest {
  std::string values, places;
};

/// Of equal elements TopK takes the first one, Caffe the last: the axis is searched from its end.
Largest largest_along(LayerEmission& layer, const std::string& x, int64_t axis, int64_t extent, int64_t count) {
  const std::string from_end =
      layer.node("Slice", {x, layer.integers({-1}), layer.integers({std::numeric_limits<int64_t>::min()}),
                           layer.integers({axis}), layer.integers({-1})});
  Largest found{layer.fresh("values"), ""};
  const std::string from_last = layer.fresh("places");
  layer.node_to("TopK", {from_end, layer.integers({count})}, {found.values, from_last}, {{"axis", axis}});
  found.places = layer.node("Sub", {layer.integer(extent - 1), from_last});
  return found;
}

std::string as_floats(LayerEmission& layer, const std::string& x) {
  return layer.node("Cast", {x}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
}

/// Along an axis: places or values. Without one: of each sample the places, and behind them the values if wanted.
void emit_argmax(LayerEmission& layer) {
  const auto& argmax = layer.as<ArgMaxLayer>();
  if (argmax.has_axis()) {
    const int axis = layer.bottom_shape(0).canonical_axis(layer.param().argmax_param().axis());
    const int64_t extent = layer.require_fixed(layer.bottom_dims(0)[static_cast<size_t>(axis)], "the axis it searches");
    const Largest found = largest_along(layer, layer.bottom(0), axis, extent, argmax.top_k());
    return layer.top_is(0, argmax.values() ? found.values : as_floats(layer, found.places));
  }
  const std::string samples = layer.node("Flatten", {layer.bottom(0)}, {{"axis", int64_t{1}}});
  const int64_t extent = layer.require_fixed(merged(layer.bottom_dims(0), 1, layer.axes()), "what it searches");
  const Largest found = largest_along(layer, samples, 1, extent, argmax.top_k());
  const std::string places = as_floats(layer, found.places);
  if (!argmax.values()) return layer.reshape_to_top(0, places);
  layer.reshape_to_top(0, layer.node("Concat", {places, found.values}, {{"axis", int64_t{1}}}));
}

void emit_reduction(LayerEmission& layer) {
  const auto& p = layer.param().reduction_param();
  std::vector<int64_t> axes;
  for (int axis = layer.bottom_shape(0).canonical_axis(p.axis()); axis < layer.axes(); ++axis) axes.push_back(axis);
  const OnnxAttributes by_attribute{{"axes", axes}, {"keepdims", int64_t{0}}};
  std::string y;
  switch (p.operation()) {
    case caffe::ReductionParameter::ASUM:
      y = layer.node("ReduceL1", {layer.bottom(0)}, by_attribute);
      break;
    case caffe::ReductionParameter::SUMSQ:
      y = layer.node("ReduceSumSquare", {layer.bottom(0)}, by_attribute);
      break;
    case caffe::ReductionParameter::MEAN:
      y = layer.node("ReduceMean", {layer.bottom(0)}, by_attribute);
      break;
    case caffe::ReductionParameter::SUM:
      y = layer.node("ReduceSum", {layer.bottom(0), layer.integers(axes)}, {{"keepdims", int64_t{0}}});
      break;
  }
  layer.top_is(0, p.coeff() == 1 ? y : layer.node("Mul", {y, layer.number(p.coeff())}));
}

[[maybe_unused]] const bool registered_scores[] = {register_onnx_emitter("Softmax", emit_softmax),
                                                   register_onnx_emitter("ArgMax", emit_argmax),
                                                   register_onnx_emitter("Reduction", emit_reduction)};

}  // namespace
}  // namespace robusta
