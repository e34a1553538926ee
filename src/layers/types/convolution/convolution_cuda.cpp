// Convolution on cuDNN, alone or with the ReLU that follows it (library_convolution.h).

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "layers/types/convolution/dnn_choice_cuda.h"
#include "layers/types/convolution/library_convolution.h"

namespace robusta {
namespace {

static_assert(kMemoryAlignment % dnn::kAlignment == 0);

/// A plan of cuDNN's for each direction.
class Cudnn {
 public:
  explicit Cudnn(bool folded) : folded_(folded) {}

  /// False, with a reason, when cuDNN lacks a direction that the request asks for.
  bool choose(const KernelRequest& request, const dnn::Site& site, LibraryPasses& passes, std::string& why_not) {
    for (const dnn::Direction direction :
         {dnn::Direction::kForward, dnn::Direction::kBackwardData, dnn::Direction::kBackwardFilters}) {
      if (!wants(request, direction)) continue;
      dnn::Choice choice = choose_plan(direction, passes.problem, site, why_not);
      if (!choice.plan) return false;
      if (direction == dnn::Direction::kForward) passes.fused = choice.fused;
      runner(direction).emplace(std::move(choice.plan));
    }
    fused_ = passes.fused;
    return true;
  }

  std::string describe() const {
    std::string text = folded_ ? "cudnn folded " : "cudnn ";
    if (fused_) text += "fused ";
    const char* between = "";
    for (const std::optional<dnn::Runner>& runner : runners_) {
      if (!runner) continue;
      const std::string& name = runner->plan().name();
      text += std::exchange(between, " / ") + name.substr(0, name.find('_'));
    }
    return text;
  }

  bool has(dnn::Direction direction) const { return runner(direction).has_value(); }
  size_t workspace_bytes(dnn::Direction direction) const { return runner(direction)->plan().workspace_bytes(); }

  void run(dnn::Direction direction, Stream* stream, const ConvolutionArrays& arrays) {
    bindings_ = {{dnn::kImage, const_cast<void*>(arrays.image)},
                 {dnn::kFilters, const_cast<void*>(arrays.filters)},
                 {dnn::kResult, const_cast<void*>(arrays.result)}};
    if (arrays.bias) bindings_.push_back({dnn::kBias, const_cast<void*>(arrays.bias)});
    runner(direction)->run(static_cast<CudaStream*>(stream)->dnn(), bindings_, arrays.workspace);
  }

 private:
  std::optional<dnn::Runner>& runner(dnn::Direction direction) { return runners_[static_cast<size_t>(direction)]; }
  const std::optional<dnn::Runner>& runner(dnn::Direction direction) const {
    return runners_[static_cast<size_t>(direction)];
  }

  std::optional<dnn::Runner> runners_[3];
  std::vector<dnn::Binding> bindings_;
  bool folded_, fused_ = false;
};

std::unique_ptr<Kernel> make_convolution_cudnn(const KernelRequest& request, std::string& why_not) {
  why_not = objection_to_library(request);
  if (!why_not.empty()) return nullptr;
  const dnn::Site site = dnn::Site::of(static_cast<CudaDevice&>(*request.device), request.tuner);
  for (LibraryPasses& passes : ways_to_convolve(request)) {
    Cudnn cudnn(passes.fold.has_value());
    if (!cudnn.choose(request, site, passes, why_not)) continue;
    return std::make_unique<LibraryConvolution<Cudnn>>(request, std::move(passes), std::move(cudnn));
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(library_chain(), "cudnn", 20, make_convolution_cudnn);

}  // namespace robusta
