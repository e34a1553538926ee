// Softmax: meaning, and the kernels of the CPU.

#include "layers/types/softmax/softmax.h"

#include "layers/kit/axis.h"
#include "layers/kit/elementwise.h"
#include "layers/types/softmax/softmax_math.h"

namespace robusta {

std::vector<Shape> SoftmaxLayer::infer_tops(const std::vector<Shape>& bottoms) {
  axis_ = canonical_axis(bottoms[0], param().softmax_param().axis(), "softmax_param.axis");
  return bottoms;
}

namespace {

/// The booking of all kernels: plain tensors, backward from the result alone.
class SoftmaxKernel : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelRequest& request)
      : view_(request.bottoms[0].shape, request.layer<SoftmaxLayer>().axis()) {
    booking_.reads_bottoms = {false};
    booking_.reads_tops = {true};
    booking_.repeatable = true;
    booking_.forward_aliases = {{0, 0, false}};
    booking_.backward_aliases = {{0, 0, false}};
  }

 protected:
  AxisView view_;
};

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

std::unique_ptr<Kernel> make_softmax_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<SoftmaxNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Softmax", SoftmaxLayer);
ROBUSTA_REGISTER_REFERENCE("Softmax", SoftmaxReference);
ROBUSTA_REGISTER_KERNEL("Softmax", "native", 10, make_softmax_native);

}  // namespace robusta
