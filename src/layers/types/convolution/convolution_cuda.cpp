// Convolution on cuDNN, alone or with what follows it (library_convolution.h).

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "layers/types/convolution/depthwise_gpu.h"
#include "layers/types/convolution/dnn_choice_cuda.h"
#include "layers/types/convolution/library_convolution.h"

namespace robusta {
namespace {

static_assert(kMemoryAlignment % dnn::kAlignment == 0);

/// A plan of cuDNN's for each direction, or a kernel of our own.
class Cudnn {
 public:
  Cudnn(const KernelRequest& request, bool folded)
      : device_(static_cast<CudaDevice&>(*request.device)), tuner_(request.tuner), folded_(folded) {}

  /// False, with a reason, when cuDNN lacks a direction that the request asks for.
  bool choose(const KernelRequest& request, const dnn::Site& site, LibraryPasses& passes, std::string& why_not) {
    for (const dnn::Direction direction :
         {dnn::Direction::kForward, dnn::Direction::kBackwardData, dnn::Direction::kBackwardFilters}) {
      if (!wants(request, direction)) continue;
      dnn::Choice choice = choose_plan(direction, passes.problem, site, why_not);
      if (!choice) return false;
      if (direction == dnn::Direction::kForward) passes.fused = choice.fused && passes.problem.follows();
      take(direction, std::move(choice));
    }
    fused_ = passes.fused;
    problem_ = passes.problem;
    return true;
  }

  /// From now on the gradient of the image is multiplied with what the ReLU lets through that gave it; false: it is
  /// not, as that would not be faster.
  bool gate() {
    if (!has(dnn::Direction::kBackwardData) || way(dnn::Direction::kBackwardData).own) return false;
    dnn::Problem gated = problem_;
    gated.gates = true;
    std::string why_not;
    const dnn::Choice chosen{.plan = way(dnn::Direction::kBackwardData).runner->shared_plan()};
    dnn::Choice choice =
        choose_plan(dnn::Direction::kBackwardData, gated, dnn::Site::of(device_, tuner_), why_not, &chosen);
    if (!choice.plan || !choice.fused) return false;
    take(dnn::Direction::kBackwardData, std::move(choice));
    gates_ = true;
    return true;
  }

  /// From now on forward sums its results; false: it does not, as that would not be faster.
  bool sum() {
    const Way& forward = way(dnn::Direction::kForward);
    const bool aligned = problem_.geometry.num_output * int64_t{sizeof(float)} % dnn::kAlignment == 0;  // the squares
    if (forward.own || problem_.geometry.group != 1 || !aligned) return false;
    dnn::Problem summed = problem_;
    summed.sums = true;
    std::string why_not;
    const dnn::Choice chosen{.plan = forward.runner->shared_plan(), .fused = fused_};
    dnn::Choice choice =
        choose_plan(dnn::Direction::kForward, summed, dnn::Site::of(device_, tuner_), why_not, &chosen);
    if (!choice.sums) return false;
    take(dnn::Direction::kForward, std::move(choice));
    fused_ = problem_.follows();
    sums_ = true;
    return true;
  }

  std::string describe() const {
    std::string text = folded_ ? "cudnn folded " : "cudnn ";
    if (fused_) text += "fused ";
    if (sums_) text += "summing ";
    if (gates_) text += "gating ";
    const char* between = "";
    for (const Way& way : ways_) {
      if (!way.own && !way.runner) continue;
      const std::string name = way.own ? "own" : way.runner->plan().name();
      text += std::exchange(between, " / ") + name.substr(0, name.find('_'));
    }
    return text;
  }

  bool has(dnn::Direction direction) const { return way(direction).own || way(direction).runner; }
  size_t workspace_bytes(dnn::Direction direction) const {
    if (way(direction).own) return depthwise_workspace(direction, problem_);
    return way(direction).runner->plan().workspace_bytes();
  }

  void run(dnn::Direction direction, Stream* stream, const ConvolutionArrays& arrays) {
    if (way(direction).own) return run_depthwise(direction, stream, problem_, arrays);
    bindings_ = {{dnn::kImage, const_cast<void*>(arrays.image)},
                 {dnn::kFilters, const_cast<void*>(arrays.filters)},
                 {dnn::kResult, const_cast<void*>(arrays.result)}};
    const auto bind = [this](dnn::TensorId id, const void* data) {
      if (data) bindings_.push_back({id, const_cast<void*>(data)});
    };
    bind(dnn::kBias, arrays.bias);
    bind(dnn::kAddend, arrays.addend);
    bind(dnn::kGate, arrays.gate);
    bind(dnn::kSums, arrays.sums);
    if (arrays.sums) bind(dnn::kSquares, arrays.sums + problem_.geometry.num_output);
    way(direction).runner->run(static_cast<CudaStream*>(stream)->dnn(), bindings_, arrays.workspace);
  }

 private:
  struct Way {
    std::optional<dnn::Runner> runner;
    bool own = false;
  };
  Way& way(dnn::Direction direction) { return ways_[static_cast<size_t>(direction)]; }
  const Way& way(dnn::Direction direction) const { return ways_[static_cast<size_t>(direction)]; }
  void take(dnn::Direction direction, dnn::Choice choice) {
    way(direction).own = choice.own;
    if (!choice.own) way(direction).runner.emplace(std::move(choice.plan));
  }

  CudaDevice& device_;
  Tuner* tuner_;  ///< as long as nets are planned
  Way ways_[3];
  dnn::Problem problem_;
  std::vector<dnn::Binding> bindings_;
  bool folded_, fused_ = false, gates_ = false, sums_ = false;
};

std::unique_ptr<Kernel> make_convolution_cudnn(const KernelRequest& request, std::string& why_not) {
  if (!request.device) {
    why_not = "wants to know its GPU";
    return nullptr;
  }
  why_not = objection_to_library(request);
  if (!why_not.empty()) return nullptr;
  const dnn::Site site = dnn::Site::of(static_cast<CudaDevice&>(*request.device), request.tuner);
  for (LibraryPasses& passes : ways_to_convolve(request)) {
    Cudnn cudnn(request, passes.fold.has_value());
    if (!cudnn.choose(request, site, passes, why_not)) continue;
    return std::make_unique<LibraryConvolution<Cudnn>>(request, std::move(passes), std::move(cudnn));
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(FusedConvolution::pattern(), "cudnn", 20, make_convolution_cudnn);

}  // namespace robusta
