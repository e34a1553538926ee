// Concat: several blobs side by side along one axis.

#include "layers/types/concat/concat.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/kernel.h"
#include "layers/kit/pieces.h"

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

class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(const KernelRequest& request)
      : pieces_(request.tops[0], request.bottoms, request.layer<ConcatLayer>().axis()) {
    booking_.repeatable = true;
    booking_.reads_bottoms.assign(request.bottoms.size(), false);
    if (request.bottoms.size() == 1) {
      booking_.forward_aliases = {{0, 0, true}};
      booking_.backward_aliases = {{0, 0, true}};
    }
  }
  std::string describe() const override { return "reference"; }
  void forward(const KernelRun& run) override { pieces_.join(run.bottoms, run.tops[0]); }
  void backward(const KernelRun& run) override { pieces_.cut(run.top_diffs[0], run.bottom_diffs); }

 private:
  Pieces pieces_;
};

std::unique_ptr<Kernel> make_concat(const KernelRequest& request, std::string&) {
  return std::make_unique<ConcatKernel>(request);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Concat", ConcatLayer);
ROBUSTA_REGISTER_KERNEL("Concat", "reference", 0, make_concat);

}  // namespace robusta
