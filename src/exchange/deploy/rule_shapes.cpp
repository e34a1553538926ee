// Reshape and Slice, whose fields follow from shapes.

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"

namespace robusta::deploy {

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

std::optional<Finding> check_slice_points(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Slice" || param.top_size() < 2) return std::nullopt;
  if (param.slice_param().slice_point_size() > 0) return std::nullopt;
  return Finding{"equal parts without slice_point are not understood", "slice_param"};
}

void mend_slice_points(DeployNet& net, int layer) {
  const LayerShapes shapes = net.shapes(layer);
  caffe::SliceParameter* p = net.param(layer).mutable_slice_param();
  const int given = p->has_slice_dim() ? static_cast<int>(p->slice_dim()) : p->axis();
  const int axis = given < 0 ? given + shapes.bottoms[0].axes() : given;
  int64_t end = 0;
  for (size_t top = 0; top + 1 < shapes.tops.size(); ++top) {
    end += shapes.tops[top][axis];
    p->add_slice_point(static_cast<uint32_t>(end));
  }
  net.change();
}

}  // namespace robusta::deploy
