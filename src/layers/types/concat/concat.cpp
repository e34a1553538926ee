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

int ConcatLayer::given_axis() const {
  const auto& given = param().concat_param();
  return given.has_concat_dim() ? static_cast<int>(given.concat_dim()) : given.axis();
}

std::optional<Shape> ConcatLayer::wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const {
  if (bottoms.size() < 2) return std::nullopt;
  const Shape &own = bottoms[bottom], &other = bottoms[bottom == 0 ? 1 : 0];
  const int axis = given_axis() < 0 ? given_axis() + other.axes() : given_axis();
  if (axis < 0 || axis >= other.axes()) return std::nullopt;
  Shape wanted = other;
  // What is shorter by some axes has its values on the last one, or is one number for each sample.
  wanted[axis] = own.axes() > axis ? own[axis] : own.axes() > 1 ? own[own.axes() - 1] : 1;
  return wanted == own ? std::nullopt : std::optional(wanted);
}

std::vector<Shape> ConcatLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const bool by_old_name = param().concat_param().has_concat_dim();
  axis_ = canonical_axis(bottoms[0], given_axis(), by_old_name ? "concat_param.concat_dim" : "concat_param.axis");
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
  const Pieces pieces(request.tops[0], request.bottoms, request.layer<ConcatLayer>().axis());
  return std::make_unique<JoinKernel>(request, pieces, "reference");
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Concat", ConcatLayer);
ROBUSTA_REGISTER_KERNEL("Concat", "reference", 0, make_concat);

}  // namespace robusta
