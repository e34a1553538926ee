// Convolution on oneDNN, alone or with what follows it: a ReLU, or in TEST nets a BatchNorm on stored statistics.
//
// The ReLU is applied while the convolution writes its result. A BatchNorm (and Scale) of a net that never runs
// backward is folded into weights and bias: y = (w x + b) * factor + shift.

#include <algorithm>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/onednn/primitive.h"
#include "layers/kit/elementwise.h"
#include "layers/types/convolution/convolution_passes.h"
#include "layers/types/convolution/folded_convolution.h"

namespace robusta {
namespace {

using namespace onednn;

template <typename Stored>
ROBUSTA_SIMD void mask_values(const Stored* y, const Stored* dy, float slope, Stored* masked, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = static_cast<float>(dy[i]);
    assign(static_cast<float>(y[i]) > 0 ? gradient : slope * gradient, masked[i]);
  }
}

struct Passes {
  std::unique_ptr<ConvolutionPass> forward, data, weights;
};

class OnednnConvolution : public Kernel {
 public:
  OnednnConvolution(const KernelRequest& request, const FusedConvolution& chain, const ConvolutionProblem& problem,
                    Passes passes)
      : problem_(problem), passes_(std::move(passes)) {
    if (chain.norm) folded_ = std::make_unique<FoldedWeights>(chain);
    booking_.bottom_layouts = {layout_of(problem.src)};
    booking_.top_layouts = {layout_of(problem.dst)};
    booking_.reads_bottoms = {passes_.weights != nullptr};
    booking_.reads_tops = {request.backward && problem.relu};
    booking_.forward_scratch = passes_.forward->scratch_bytes();
    size_t backward = 0;
    if (passes_.data) backward = passes_.data->scratch_bytes();
    if (passes_.weights) backward = std::max(backward, passes_.weights->scratch_bytes());
    ScratchPlan plan;
    pass_at_ = plan.add(backward);
    gates_ = (!passes_.data || passes_.data->gates()) && (!passes_.weights || passes_.weights->gates());
    if (request.backward && problem.relu && !gates_) masked_at_ = plan.add(problem.dst.get_size());
    booking_.backward_scratch = plan.bytes();
    wants_weights_ = request.backward && request.param_grads[0];
    wants_bias_ = request.backward && chain.convolution->has_bias() && request.param_grads[1];
  }

  std::string describe() const override {
    std::string text = "onednn " + passes_.forward->name();
    if (passes_.data) text += " / " + passes_.data->name();
    if (passes_.weights) text += " / " + passes_.weights->name();
    return text;
  }

  void forward(const KernelRun& run) override {
    ConvolutionData data;
    data.src = run.bottoms[0].data;
    data.dst = run.tops[0].data;
    if (folded_) {
      folded_->refresh(run.params);
      data.weights = folded_->weights();
      data.bias = folded_->bias();
      data.version = folded_->version();
    } else {
      data.weights = run.params[0]->data;
      data.bias = problem_.bias ? run.params[1]->data : nullptr;
      data.version = run.params[0]->version;
    }
    passes_.forward->run(data, run.scratch);
  }

  void backward(const KernelRun& run) override {
    ConvolutionData data;
    data.src = run.bottoms[0].data;
    data.dst = problem_.relu && !gates_ ? masked(run) : run.top_diffs[0].data;
    data.gate = problem_.relu && gates_ ? run.tops[0].data : nullptr;
    void* scratch = at_offset(run.scratch, pass_at_);
    if (passes_.weights) {
      data.weights = wants_weights_ ? run.params[0]->diff : nullptr;
      data.bias = wants_bias_ ? run.params[1]->diff : nullptr;
      data.add_weights = wants_weights_ && run.accumulate[0];
      data.add_bias = wants_bias_ && run.accumulate[1];
      passes_.weights->run(data, scratch);
    }
    if (!run.bottom_diffs[0]) return;
    data.src = run.bottom_diffs[0].data;
    data.weights = run.params[0]->data;
    data.version = run.params[0]->version;
    passes_.data->run(data, scratch);
  }

 private:
  /// The gradient before the ReLU. The top's own gradient stays as it is: others may share it.
  const void* masked(const KernelRun& run) const {
    void* result = at_offset(run.scratch, masked_at_);
    with_f32_or_bf16(problem_.type, [&](auto stored) {
      using Stored = decltype(stored);
      Stored* to = static_cast<Stored*>(result);
      const Stored *y = run.tops[0].as<Stored>(), *dy = run.top_diffs[0].as<Stored>();
      const float slope = problem_.slope;
      parallel_ranges(
          static_cast<int64_t>(problem_.dst.get_size() / sizeof(Stored)), kElementwiseGrain,
          [=](int64_t begin, int64_t end) { mask_values(y + begin, dy + begin, slope, to + begin, end - begin); });
    });
    return result;
  }

  ConvolutionProblem problem_;
  Passes passes_;
  std::unique_ptr<FoldedWeights> folded_;
  size_t pass_at_ = 0, masked_at_ = 0;
  bool wants_weights_ = false, wants_bias_ = false;
  bool gates_ = false;  ///< the backward passes apply the ReLU's mask themselves
};

/// Why the chain cannot be taken; "" if it can.
std::string objection(const KernelRequest& request, const FusedConvolution& chain) {
  const ConvolutionGeometry& geometry = chain.convolution->geometry();
  std::string why_not;
  if (!is_f32_or_bf16(request, why_not)) return why_not;
  if (request.bottoms.size() != 1) return "takes one bottom";
  if (geometry.axes.empty() || geometry.axes.size() > 3) return "takes 1 to 3 spatial axes";
  if (is_too_long(geometry.axes)) return "an axis is too long";
  if (request.bottoms[0].shape.axes() != static_cast<int>(geometry.axes.size()) + 2) return "wants channels on axis 1";
  if (chain.relu && !chain.relu->sign_survives()) return "a negative slope hides the sign";
  if (!chain.norm) return "";
  if (request.backward || !chain.norm->uses_global_stats()) return "folds a BatchNorm only where it is constant";
  if (chain.norm->channels() != geometry.num_output) return "the BatchNorm has other channels";
  if (chain.scale && chain.norm->has_scale()) return "the BatchNorm has a scale of its own";
  if (chain.scale && !chain.scale->is_by_channel(geometry.batch, geometry.num_output)) {
    return "the Scale is not by channel";
  }
  return "";
}

/// Blocks of 16 channels are wasted on few odd ones (LeNet's 20 and 50): channels last then has the faster kernels,
/// half of the arithmetic being padding otherwise.
bool wants_channels_last(const ConvolutionGeometry& geometry) {
  auto padded = [](int64_t channels) { return (channels + 15) / 16 * 16; };
  if (prefers_blocks(geometry)) return false;
  constexpr int64_t kPlainInput = 4;  // so few are read from plain images
  const int64_t in = geometry.channels <= kPlainInput ? geometry.channels : padded(geometry.channels);
  return geometry.group == 1 && 2 * in * padded(geometry.num_output) >= 3 * geometry.channels * geometry.num_output;
}

/// What matrix units read: a pixel's channels beside one another. All kernels of 16 bits take this format.
std::vector<ConvolutionProblem> in_channels_last(ConvolutionProblem problem, const Dims& src, const Dims& dst) {
  problem.src = channels_last_desc(src, problem.type);
  problem.dst = channels_last_desc(dst, problem.type);
  return {problem};
}

/// The formats to try, the best first: what oneDNN would choose, or others that it has all directions for.
std::vector<ConvolutionProblem> with_formats(const KernelRequest& request, const ConvolutionProblem& problem) {
  const Dims src = dims_of(request.bottoms[0].shape), dst = dims_of(request.tops[0].shape);
  if (problem.type != DType::kF32) return in_channels_last(problem, src, dst);
  std::vector<ConvolutionProblem> problems(3, problem);
  problems[0].src = any_desc(src);
  problems[0].dst = any_desc(dst);
  problems[1].src = channels_last_desc(src);
  problems[1].dst = channels_last_desc(dst);
  // oneDNN would read few channels from a plain image, but has no gradient in that format.
  problems[2].src = blocked_desc(src, 16);
  problems[2].dst = blocked_desc(dst, 16);
  if (wants_channels_last(problem.geometry)) std::swap(problems[0], problems[1]);
  std::erase_if(problems, [](ConvolutionProblem& p) { return !choose_formats(p); });
  return problems;
}

/// False when oneDNN lacks a direction that the request asks for.
bool choose_passes(const KernelRequest& request, const ConvolutionProblem& problem, Passes& passes) {
  ConvolutionProblem gradients = problem;
  gradients.relu = false;
  gradients.bias = request.backward && request.param_grads.size() > 1 && request.param_grads[1];
  if (request.backward && (request.param_grads[0] || gradients.bias)) {
    passes.weights = choose_pass(Direction::kBackwardWeights, gradients, request.tuner);
    if (!passes.weights) return false;
  }
  if (request.backward && request.bottom_grads[0]) {
    passes.data = choose_pass(Direction::kBackwardData, gradients, request.tuner);
    if (!passes.data) return false;
  }
  passes.forward = choose_pass(Direction::kForward, problem, request.tuner);
  return passes.forward != nullptr;
}

std::unique_ptr<Kernel> make_convolution_onednn(const KernelRequest& request, std::string& why_not) {
  const FusedConvolution chain(request);
  why_not = objection(request, chain);
  if (!why_not.empty()) return nullptr;

  ConvolutionProblem problem;
  problem.geometry = chain.convolution->geometry();
  problem.type = request.dtype();
  problem.bias = chain.convolution->has_bias() || bool{chain.norm};
  problem.relu = bool{chain.relu};
  problem.slope = chain.relu ? chain.relu->slope() : 0.0f;
  problem.inference = !request.backward;
  for (const ConvolutionProblem& formatted : with_formats(request, problem)) {
    Passes passes;
    if (!choose_passes(request, formatted, passes)) continue;
    return std::make_unique<OnednnConvolution>(request, chain, formatted, std::move(passes));
  }
  why_not = "oneDNN has only its slow reference for this shape";
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL(FusedConvolution::pattern(), "onednn", 20, make_convolution_onednn);

}  // namespace robusta
