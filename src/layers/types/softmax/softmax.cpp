// Softmax: p = e^(x - max) / sum e^(x - max) along one axis, and the kernels of the CPU; dx = p * (dy - sum p dy). The
// loops are in kit/softmax.h, for the loss runs them, too.

#include "layers/types/softmax/softmax.h"

#include "layers/kit/axis.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/softmax.h"

namespace robusta {

std::vector<Shape> SoftmaxLayer::infer_tops(const std::vector<Shape>& bottoms) {
  axis_ = canonical_axis(bottoms[0], param().softmax_param().axis(), "softmax_param.axis");
  return bottoms;
}

namespace {

template <typename T>
class SoftmaxReference : public SoftmaxKernel {
 public:
  using SoftmaxKernel::SoftmaxKernel;
  std::string describe() const override { return "reference"; }
  void forward(const KernelRun& run) override { softmax_exact(view_, run.bottoms[0].as<T>(), run.tops[0].as<T>()); }
  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    softmax_exact_backward(view_, run.tops[0].as<T>(), run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>());
  }
};

class SoftmaxNative : public SoftmaxKernel {
 public:
  using SoftmaxKernel::SoftmaxKernel;
  std::string describe() const override { return "native"; }
  void forward(const KernelRun& run) override {
    softmax_fast(view_, run.bottoms[0].as<float>(), run.tops[0].as<float>());
  }
  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    softmax_fast_backward(view_, run.tops[0].as<float>(), run.top_diffs[0].as<float>(),
                          run.bottom_diffs[0].as<float>());
  }
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Softmax", SoftmaxLayer);
ROBUSTA_REGISTER_REFERENCE("Softmax", SoftmaxReference);
ROBUSTA_REGISTER_NATIVE("Softmax", SoftmaxNative);

}  // namespace robusta
