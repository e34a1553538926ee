// Layers that leave elements as they are, and put them elsewhere.

#include <algorithm>
#include <limits>

#include "base/str.h"
#include "exchange/onnx/export/emitter.h"
#include "layers/types/merge_crop/merge_crop.h"
#include "layers/types/slice/slice.h"

namespace robusta {
namespace {

void emit_concat(LayerEmission& layer) {
  const auto& p = layer.param().concat_param();
  const int axis =
      layer.bottom_shape(0).canonical_axis(p.has_concat_dim() ? static_cast<int>(p.concat_dim()) : p.axis());
  std::vector<std::string> parts;
  for (int i = 0; i < layer.bottoms(); ++i) parts.push_back(layer.bottom(i));
  layer.top(0, "Concat", parts, {{"axis", int64_t{axis}}});
}

/// Parts of the batch itself have no extents that are known; equal ones need none.
void emit_slice(LayerEmission& layer) {
  const int axis = layer.as<SliceLayer>().axis();
  std::vector<int64_t> extents;
  std::vector<std::string> tops;
  bool follows_batch = false, equal = true;
  for (int i = 0; i < layer.tops(); ++i) {
    const Dim& dim = layer.top_dims(i)[static_cast<size_t>(axis)];
    extents.push_back(dim.value);
    tops.push_back(layer.top_name(i));
    follows_batch = follows_batch || dim.batch_power > 0;
    equal = equal && dim == layer.top_dims(0)[static_cast<size_t>(axis)];
  }
  if (tops.size() == 1) return layer.top_is(0, layer.bottom(0));
  if (!follows_batch) {
    return layer.node_to("Split", {layer.bottom(0), layer.integers(extents)}, tops, {{"axis", int64_t{axis}}});
  }
  if (!equal) layer.refuse("it cuts the batch into parts that are not equal", "slice_param.slice_point");
  layer.node_to("Split", {layer.bottom(0)}, tops, {{"axis", int64_t{axis}}});
}

void emit_flatten(LayerEmission& layer) {
  const auto& p = layer.param().flatten_param();
  const Shape bottom = layer.bottom_shape(0);
  const bool is_operator =
      bottom.canonical_axis(p.axis()) == 1 && bottom.canonical_axis(p.end_axis()) + 1 == bottom.axes();
  if (is_operator) return layer.top(0, "Flatten", {layer.bottom(0)}, {{"axis", int64_t{1}}});
  layer.reshape_to_top(0, layer.bottom(0));
}

void emit_reshape(LayerEmission& layer) { layer.reshape_to_top(0, layer.bottom(0)); }

void emit_permute(LayerEmission& layer) {
  std::vector<int64_t> order;
  for (const auto axis : layer.param().permute_param().order()) order.push_back(static_cast<int64_t>(axis));
  for (int64_t axis = 0; axis < layer.axes(); ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  layer.top(0, "Transpose", {layer.bottom(0)}, {{"perm", order}});
}

/// The part of x from `begin` on along some axes, as large as `wanted` is there.
struct Part {
  std::vector<int64_t> begin, end, axes;

  void add(LayerEmission& layer, const Dims& from, const Dims& wanted, int axis, int64_t offset) {
    const Dim &whole = from[static_cast<size_t>(axis)], &part = wanted[static_cast<size_t>(axis)];
    if (whole == part && offset == 0) return;
    layer.require_fixed(whole, str("axis ", axis, ", which is cut,"));
    layer.require_fixed(part, str("what is left of axis ", axis));
    begin.push_back(offset);
    end.push_back(offset + part.value);
    axes.push_back(axis);
  }
  std::string of(LayerEmission& layer, const std::string& x) const {
    if (axes.empty()) return x;
    return layer.node("Slice", {x, layer.integers(begin), layer.integers(end), layer.integers(axes)});
  }
};

void emit_crop(LayerEmission& layer) {
  const auto& p = layer.param().crop_param();
  const int first = layer.bottom_shape(0).canonical_axis(p.axis());
  Part part;
  for (int axis = first; axis < layer.axes(); ++axis) {
    const int place = p.offset_size() == 1 ? 0 : axis - first;
    part.add(layer, layer.bottom_dims(0), layer.top_dims(0), axis, p.offset_size() == 0 ? 0 : p.offset(place));
  }
  layer.top_is(0, part.of(layer, layer.bottom(0)));
}

/// Where bottom 1 lies in bottom 0 the net has found out (Layer::align).
void emit_auto_crop(LayerEmission& layer) {
  const auto maps = layer.layer().alignment(layer.bottom_shape(0), layer.top_shape(0));
  Part part;
  for (int axis = 2; axis < layer.axes(); ++axis) {
    const auto offset = static_cast<int64_t>((*maps)[static_cast<size_t>(axis) - 2].shift);
    part.add(layer, layer.bottom_dims(0), layer.top_dims(0), axis, offset);
  }
  layer.top_is(0, part.of(layer, layer.bottom(0)));
}

/// Bottom 1 is cut to the middle of what bottom 0 is large; a bottom that does not count is zeros.
void emit_merge_crop(LayerEmission& layer) {
  const auto& merge = layer.as<MergeCropLayer>();
  std::vector<std::string> parts;
  for (int bottom = 0; bottom < 2; ++bottom) {
    Part part;
    for (int axis = 2; axis < layer.axes(); ++axis) {
      const int64_t excess = layer.bottom_shape(bottom)[axis] - layer.top_shape(0)[axis];
      part.add(layer, layer.bottom_dims(bottom), layer.top_dims(0), axis, excess / 2);
    }
    std::string x = part.of(layer, layer.bottom(bottom));
    if (!merge.counts(bottom)) x = layer.node("Mul", {x, layer.number(0)});
    parts.push_back(x);
  }
  if (layer.param().mergecrop_param().operation() == caffe::MergeCropParameter::STACK) {
    return layer.top(0, "Concat", parts, {{"axis", int64_t{1}}});
  }
  layer.top(0, "Add", parts);
}

void emit_tile(LayerEmission& layer) {
  std::vector<int64_t> repeats(static_cast<size_t>(layer.axes()), 1);
  const auto& p = layer.param().tile_param();
  repeats[static_cast<size_t>(layer.bottom_shape(0).canonical_axis(p.axis()))] = p.tiles();
  layer.top(0, "Tile", {layer.bottom(0), layer.integers(repeats)});
}

void emit_pad(LayerEmission& layer) {
  const auto& p = layer.param().pad_param();
  std::vector<int64_t> pads;
  for (int axis = 0; axis < layer.axes(); ++axis) pads.push_back(p.paddings(2 * axis));
  for (int axis = 0; axis < layer.axes(); ++axis) pads.push_back(p.paddings(2 * axis + 1));
  layer.top(0, "Pad", {layer.bottom(0), layer.integers(pads), layer.number(p.constant_values())});
}

void emit_padding(LayerEmission& layer) {
  const auto& p = layer.param().padding_param();
  if (p.pad_beg() >= 0 && p.pad_end() >= 0) {
    const std::vector<int64_t> pads{0, 0, p.pad_beg(), p.pad_beg(), 0, 0, p.pad_end(), p.pad_end()};
    return layer.top(0, "Pad", {layer.bottom(0), layer.integers(pads), layer.number(0)});
  }
  Part part;
  for (const int axis : {2, 3}) part.add(layer, layer.bottom_dims(0), layer.top_dims(0), axis, -p.pad_beg());
  layer.top_is(0, part.of(layer, layer.bottom(0)));
}

/// With `reverse` it is depth to space. Without, the bottom's bytes are taken for channels / stride^2 planes that are
/// `stride` times as high and as wide, and of these it is space to depth.
void emit_reorg(LayerEmission& layer) {
  const auto& p = layer.param().reorg_param();
  const int64_t s = p.stride();
  if (p.reverse()) {
    return layer.top(0, "DepthToSpace", {layer.bottom(0)},
                     {{"blocksize", s}, {"mode", std::string(p.by_channel() ? "CRD" : "DCR")}});
  }
  const Dims& bottom = layer.bottom_dims(0);
  const Dims planes{bottom[0], {bottom[1].value / (s * s)}, {bottom[2].value * s}, {bottom[3].value * s}};
  const std::string x = layer.reshape(layer.bottom(0), planes);
  layer.reshape_to_top(0, layer.node("SpaceToDepth", {x}, {{"blocksize", s}}));
}

void emit_shuffle_channel(LayerEmission& layer) {
  const Dims& bottom = layer.bottom_dims(0);
  const int64_t groups = layer.param().shuffle_channel_param().group();
  const Dims grouped{bottom[0], {groups}, {bottom[1].value / groups}, merged(bottom, 2, layer.axes())};
  const std::string x = layer.reshape(layer.bottom(0), grouped);
  layer.reshape_to_top(0, layer.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}));
}

/// From the last element on, to behind the first.
void emit_reverse(LayerEmission& layer) {
  std::vector<int64_t> axes;
  for (const int32_t axis : layer.param().reverse_param().axis()) {
    axes.push_back(layer.bottom_shape(0).canonical_axis(axis));
  }
  if (axes.empty()) axes = {0};
  const std::vector<int64_t> last(axes.size(), -1), back(axes.size(), -1);
  const std::vector<int64_t> before_first(axes.size(), std::numeric_limits<int64_t>::min());
  layer.top(0, "Slice",
            {layer.bottom(0), layer.integers(last), layer.integers(before_first), layer.integers(axes),
             layer.integers(back)});
}

void emit_batch_reindex(LayerEmission& layer) {
  const std::string indices = layer.node("Cast", {layer.bottom(1)}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  layer.top(0, "Gather", {layer.bottom(0), indices}, {{"axis", int64_t{0}}});
}

/// What nobody reads is no output.
void emit_nothing(LayerEmission&) {}

[[maybe_unused]] const bool registered_arrangement[] = {
    register_onnx_emitter("Concat", emit_concat),
    register_onnx_emitter("Slice", emit_slice),
    register_onnx_emitter("Flatten", emit_flatten),
    register_onnx_emitter("Reshape", emit_reshape),
    register_onnx_emitter("Squeeze", emit_reshape),
    register_onnx_emitter("Permute", emit_permute),
    register_onnx_emitter("Crop", emit_crop),
    register_onnx_emitter("AutoCrop", emit_auto_crop),
    register_onnx_emitter("MergeCrop", emit_merge_crop),
    register_onnx_emitter("Tile", emit_tile),
    register_onnx_emitter("Pad", emit_pad),
    register_onnx_emitter("Padding", emit_padding),
    register_onnx_emitter("Reorg", emit_reorg),
    register_onnx_emitter("ShuffleChannel", emit_shuffle_channel),
    register_onnx_emitter("Reverse", emit_reverse),
    register_onnx_emitter("BatchReindex", emit_batch_reindex),
    register_onnx_emitter("Silence", emit_nothing),
};

}  // namespace
}  // namespace robusta
