// Images of another size: Interp, ResizeBilinear, ResizeNearestNeighbor, Upsample, UpsampleDarknet, MaskResize.
//
// The layer says for each coordinate of the top which two pixels it lies between (kit/sampling.h). Rules that Resize
// knows are said by it, since programs are fast at it; all others by Gather, pixel by pixel. So is the nearest pixel
// unless each becomes a square of its kind: runtimes compute places in single precision, and would round some to the
// pixel beside.

#include "exchange/onnx/export/emitter.h"
#include "layers/kit/sampling.h"
#include "layers/types/upsample/upsample.h"

namespace robusta {
namespace {

struct AxisPicks {
  std::vector<int64_t> lower, upper;
  std::vector<float> share;
  bool between = false;  ///< some coordinate lies between pixels
};

AxisPicks picks_of(const SampledAxis& axis) {
  AxisPicks picks;
  for (int64_t to = 0; to < axis.out; ++to) {
    const AxisSample sample = axis.sample(to);
    picks.lower.push_back(sample.lower);
    picks.upper.push_back(sample.upper);
    picks.share.push_back(static_cast<float>(sample.share));
    picks.between = picks.between || sample.share != 0;
  }
  return picks;
}

bool same_axis(const SampledAxis& a, const SampledAxis& b) {
  if (a.in != b.in || a.out != b.out) return false;
  for (int64_t to = 0; to < a.out; ++to) {
    const AxisSample x = a.sample(to), y = b.sample(to);
    if (x.lower != y.lower || x.upper != y.upper || x.share != y.share) return false;
  }
  return true;
}

/// Resize's coordinate_transformation_mode for this rule; "": none is the same.
std::string mode_of(const SampledAxis& axis) {
  if (!axis.linear) {
    const bool squares = axis.out % axis.in == 0 && same_axis(axis, nearest_axis(SampledBy::kEdges, axis.in, axis.out));
    return squares ? "asymmetric" : "";
  }
  for (const auto& [by, mode] : {std::pair{SampledBy::kCorners, "align_corners"},
                                 {SampledBy::kMiddles, "half_pixel"},
                                 {SampledBy::kEdges, "asymmetric"}}) {
    if (same_axis(axis, linear_axis(by, axis.in, 0, axis.in, axis.out))) return mode;
  }
  return "";
}

std::string resized(LayerEmission& layer, const Sampling& sampling, const std::string& mode) {
  const std::string& x = layer.bottom(0);
  const std::string first_axes =
      layer.node("Slice", {layer.node("Shape", {x}), layer.integers({0}), layer.integers({2})});
  const std::string sizes =
      layer.node("Concat", {first_axes, layer.integers({sampling.h.out, sampling.w.out})}, {{"axis", int64_t{0}}});
  OnnxAttributes attributes{{"coordinate_transformation_mode", mode},
                            {"mode", std::string(sampling.h.linear ? "linear" : "nearest")}};
  if (!sampling.h.linear) attributes.push_back({"nearest_mode", std::string("floor")});
  return layer.node("Resize", {x, "", "", sizes}, attributes);
}

/// (1 - share) * lower + share * upper along one axis.
std::string picked(LayerEmission& layer, const std::string& x, const SampledAxis& sampled, int axis, int axes,
                   const std::string& what) {
  const AxisPicks picks = picks_of(sampled);
  const OnnxAttributes along{{"axis", int64_t{axis}}};
  const std::string lower = layer.node("Gather", {x, layer.integers(picks.lower)}, along);
  if (!picks.between) return lower;
  const std::string upper = layer.node("Gather", {x, layer.integers(picks.upper)}, along);
  std::vector<int64_t> shape(static_cast<size_t>(axes - axis), 1);
  shape[0] = sampled.out;
  std::vector<float> rest;
  for (const float share : picks.share) rest.push_back(1 - share);
  const std::string of_lower = layer.node("Mul", {lower, layer.floats(what + ".lower", Shape(shape), rest)});
  const std::string of_upper = layer.node("Mul", {upper, layer.floats(what + ".upper", Shape(shape), picks.share)});
  return layer.node("Add", {of_lower, of_upper});
}

void emit_sampling(LayerEmission& layer) {
  const Sampling& sampling = layer.as<SamplingLayer>().sampling();
  const int height_axis = sampling.of_planes ? 2 : 1;  // images with their channels last are sampled, too
  const std::string mode = sampling.of_planes ? mode_of(sampling.h) : "";
  if (!mode.empty() && mode == mode_of(sampling.w) && sampling.h.linear == sampling.w.linear) {
    return layer.top_is(0, resized(layer, sampling, mode));
  }
  const Shape bottom = layer.bottom_shape(0);
  if (bottom.axes() != 4 || bottom[height_axis] != sampling.h.in || bottom[height_axis + 1] != sampling.w.in) {
    layer.refuse("its bottom is no batch of images");
  }
  const std::string rows = picked(layer, layer.bottom(0), sampling.h, height_axis, 4, "rows");
  layer.top_is(0, picked(layer, rows, sampling.w, height_axis + 1, 4, "columns"));
}

/// With a mask: pixels go where it says, all others are zero.
void emit_upsample(LayerEmission& layer) {
  const auto& upsample = layer.as<UpsampleLayer>();
  if (!upsample.has_mask()) return emit_sampling(layer);
  const Dims& bottom = layer.bottom_dims(0);
  const Dims planes{bottom[0], bottom[1], {upsample.pixels_in()}};
  const std::string pixels = layer.reshape(layer.bottom(0), planes);
  const std::string mask = layer.reshape(layer.bottom(1), planes);
  const std::string places = layer.node("Cast", {mask}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  const std::string first_axes =
      layer.node("Slice", {layer.node("Shape", {pixels}), layer.integers({0}), layer.integers({2})});
  const std::string shape =
      layer.node("Concat", {first_axes, layer.integers({upsample.pixels_out()})}, {{"axis", int64_t{0}}});
  const std::string zeros = layer.node("Expand", {layer.number(0), shape});
  layer.reshape_to_top(0, layer.node("ScatterElements", {zeros, places, pixels}, {{"axis", int64_t{2}}}));
}

[[maybe_unused]] const bool registered_resizing[] = {
    register_onnx_emitter("Interp", emit_sampling),
    register_onnx_emitter("ResizeBilinear", emit_sampling),
    register_onnx_emitter("ResizeNearestNeighbor", emit_sampling),
    register_onnx_emitter("UpsampleDarknet", emit_sampling),
    register_onnx_emitter("MaskResize", emit_sampling),
    register_onnx_emitter("Upsample", emit_upsample),
};

}  // namespace
}  // namespace robusta
