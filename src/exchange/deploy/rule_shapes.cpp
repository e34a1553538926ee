// Axes, and layers whose fields follow from shapes.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {
namespace {

/// An axis that is counted from the end, in the layer's settings.
struct LastAxis {
  google::protobuf::Message* settings;
  const google::protobuf::FieldDescriptor* field;
};

/// Reshape's axis, counted from behind the end, has a rule of its own.
std::optional<LastAxis> last_axis(caffe::LayerParameter* layer) {
  if (layer->type() == "Reshape") return std::nullopt;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  layer->GetReflection()->ListFields(*layer, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    google::protobuf::Message* settings = layer->GetReflection()->MutableMessage(layer, field);
    const auto* axis = settings->GetDescriptor()->FindFieldByName("axis");
    if (!axis || axis->is_repeated()) continue;
    if (axis->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_INT32) continue;
    if (settings->GetReflection()->GetInt32(*settings, axis) < 0) return LastAxis{settings, axis};
  }
  return std::nullopt;
}

constexpr int kMostTiles = 64;  // bottoms of one Concat

}  // namespace

std::optional<Finding> check_counted_axes(const DeployNet& net, int layer) {
  caffe::LayerParameter copy = net.param(layer);
  if (copy.concat_param().has_concat_dim()) {
    return Finding{"concat_dim, the old name of axis, is not understood", "concat_param.concat_dim"};
  }
  const std::optional<LastAxis> axis = last_axis(&copy);
  if (!axis || copy.bottom_size() == 0) return std::nullopt;
  return Finding{"an axis that is counted from the end is not understood", "type"};
}

void mend_counted_axes(DeployNet& net, int layer) {
  const int axes = net.shapes(layer).bottoms[0].axes();
  if (net.param(layer).concat_param().has_concat_dim()) {
    caffe::ConcatParameter* p = net.param(layer).mutable_concat_param();
    p->set_axis(static_cast<int>(p->concat_dim()));
    p->clear_concat_dim();
  }
  while (const std::optional<LastAxis> axis = last_axis(&net.param(layer))) {
    const auto* reflection = axis->settings->GetReflection();
    reflection->SetInt32(axis->settings, axis->field, reflection->GetInt32(*axis->settings, axis->field) + axes);
  }
  net.change();
}

/// Other Splits deploy has taken away.
std::optional<Finding> check_no_split(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Split") return std::nullopt;
  return Finding{"a Split whose tops are outputs is not understood", "type"};
}

/// An identity for each top.
void mend_no_split(DeployNet& net, int layer) {
  const caffe::LayerParameter split = net.param(layer);
  const LayerSource source = net.at(layer).source;
  net.remove(layer);
  for (int top = 0; top < split.top_size(); ++top) {
    caffe::LayerParameter identity = power_layer(1);
    identity.set_name(top == 0 ? split.name() : net.free_name(str(split.name(), '_', top)));
    identity.add_bottom(split.bottom(0));
    identity.add_top(split.top(top));
    net.insert(layer + top, std::move(identity), source);
  }
}

std::optional<Finding> check_tile_concat(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Tile" || param.tile_param().tiles() > kMostTiles) return std::nullopt;
  return Finding{"a Tile is not understood", "type"};
}

/// The bottom, so often.
void mend_tile_concat(DeployNet& net, int layer) {
  caffe::LayerParameter& param = net.param(layer);
  const caffe::TileParameter tile = param.tile_param();
  param.clear_tile_param();
  net.change();
  if (tile.tiles() == 1) {
    param.set_type("Power");  // MNN drops a Concat of one bottom
    return;
  }
  param.set_type("Concat");
  param.mutable_concat_param()->set_axis(tile.axis());
  for (int copy = 1; copy < tile.tiles(); ++copy) param.add_bottom(std::string(param.bottom(0)));
}

std::optional<Finding> check_whole_reshape(const DeployNet& net, int layer) {
  const caffe::ReshapeParameter& p = net.param(layer).reshape_param();
  if (net.param(layer).type() != "Reshape" || (!p.has_axis() && !p.has_num_axes())) return std::nullopt;
  return Finding{str(p.has_axis() ? "axis" : "num_axes", " is not understood"),
                 p.has_axis() ? "reshape_param.axis" : "reshape_param.num_axes"};
}

/// Axes before those that are replaced are copied, by 0; those behind move, and are written as they are.
void mend_whole_reshape(DeployNet& net, int layer) {
  const LayerShapes shapes = net.shapes(layer);
  const Shape &bottom = shapes.bottoms[0], &top = shapes.tops[0];
  caffe::ReshapeParameter* p = net.param(layer).mutable_reshape_param();
  const int axis = p->axis() >= 0 ? p->axis() : bottom.axes() + p->axis() + 1;
  const caffe::BlobShape given = p->shape();
  caffe::BlobShape* whole = p->mutable_shape();
  whole->clear_dim();
  for (int a = 0; a < top.axes(); ++a) {
    const bool kept = a < axis, replaced = !kept && a < axis + given.dim_size();
    // A number of samples among the axes behind would be fixed; 0 copies it where it has not moved.
    whole->add_dim(kept ? 0 : replaced ? given.dim(a - axis) : top[a]);
  }
  p->clear_axis();
  p->clear_num_axes();
  net.change();
}

std::optional<Finding> check_whole_flatten(const DeployNet& net, int layer) {
  const caffe::FlattenParameter& p = net.param(layer).flatten_param();
  if (net.param(layer).type() != "Flatten") return std::nullopt;
  const int axes = net.shapes(layer).bottoms[0].axes();
  if (p.axis() == 1 && (p.end_axis() == -1 || p.end_axis() == axes - 1)) return std::nullopt;
  return Finding{"a Flatten of other than all axes behind the first is not understood", "flatten_param"};
}

/// A Reshape; 0 stands for the samples where they stay.
void mend_whole_flatten(DeployNet& net, int layer) {
  const bool samples = net.param(layer).flatten_param().axis() != 0;
  std::vector<int64_t> dims = net.shapes(layer).tops[0].dims();
  dims[0] = samples ? 0 : -1;
  net.param(layer).clear_flatten_param();
  net.param(layer).set_type("Reshape");
  *net.param(layer).mutable_reshape_param() = reshape_layer(dims).reshape_param();
  net.change();
}

std::optional<Finding> check_said_reshape(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Reshape") return std::nullopt;
  const LayerShapes& shapes = net.shapes(layer);
  const Shape &bottom = shapes.bottoms[0], &top = shapes.tops[0];
  // Where samples are merged or parted, nothing is to be said.
  if (bottom.axes() == 0 || top.axes() < 2 || bottom[0] != top[0]) return std::nullopt;
  const auto& dims = net.param(layer).reshape_param().shape().dim();
  if (std::find(dims.begin() + 1, dims.end(), 0) == dims.end()) return std::nullopt;
  return Finding{"extents that are copied are those of other axes", "reshape_param.shape"};
}

void mend_said_reshape(DeployNet& net, int layer) {
  std::vector<int64_t> dims = net.shapes(layer).tops[0].dims();
  dims[0] = 0;
  *net.param(layer).mutable_reshape_param() = reshape_layer(dims).reshape_param();
  net.change();
}

std::optional<Finding> check_slice_points(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Slice" || param.top_size() < 2) return std::nullopt;
  if (param.slice_param().has_slice_dim()) {
    return Finding{"slice_dim, the old name of axis, is not understood", "slice_param.slice_dim"};
  }
  if (param.slice_param().slice_point_size() > 0) return std::nullopt;
  return Finding{"equal parts without slice_point are not understood", "slice_param"};
}

void mend_slice_points(DeployNet& net, int layer) {
  const LayerShapes shapes = net.shapes(layer);
  caffe::SliceParameter* p = net.param(layer).mutable_slice_param();
  const int given = p->has_slice_dim() ? static_cast<int>(p->slice_dim()) : p->axis();
  const int axis = given < 0 ? given + shapes.bottoms[0].axes() : given;
  p->clear_slice_dim();
  p->set_axis(axis);
  p->clear_slice_point();
  int64_t end = 0;
  for (size_t top = 0; top + 1 < shapes.tops.size(); ++top) {
    end += shapes.tops[top][axis];
    p->add_slice_point(static_cast<uint32_t>(end));
  }
  net.change();
}

}  // namespace robusta::deploy
