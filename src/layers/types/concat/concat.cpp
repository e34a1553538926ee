// Concat: fields, shapes and the reference kernel.
//
// y is x_0, x_1, ... side by side along one axis; the gradient is cut in the same places. All other axes must agree.

#include "layers/types/concat/concat.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/pieces_kernels.h"

namespace robusta {

ConcatLayer::ConcatLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (param.concat_param().has_axis() && param.concat_param().has_concat_dim()) {
    throw Error(ErrorKind::kConfig, "axis and concat_dim are both given", "keep axis; concat_dim is its old name")
        .in_field("concat_param.concat_dim");
  }
}

std::vector<Shape> ConcatLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const auto& given = param().concat_param();
  axis_ = given.has_concat_dim()
              ? canonical_axis(bottoms[0], static_cast<int>(given.concat_dim()), "concat_param.concat_dim")
              : canonical_axis(bottoms[0], given.axis(), "concat_param.axis");
  Shape top = bottoms[0];
  for (size_t i = 1; i < bottoms.size(); ++i) {
    bool fits = bottoms[i].axes() == top.axes();
    for (int axis = 0; fits && axis < top.axes(); ++axis) fits = axis == axis_ || bottoms[i][axis] == top[axis];
    if (!fits) {
      throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str(), ", bottom 0 has ",
                                          bottoms[0].str(), "; they may differ in axis ", axis_, " only"))
          .in_field("bottom");
    }
    top[axis_] += bottoms[i][axis_];
  }
  return {top};
}

namespace {

std::unique_ptr<Kernel> make_concat(const KernelRequest& request, std::string&) {
  return std::make_unique<JoinKernel>(request, request.layer<ConcatLayer>().axis(), "reference");
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Concat", ConcatLayer);
ROBUSTA_REGISTER_KERNEL("Concat", "reference", 0, make_concat);

}  // namespace robusta
