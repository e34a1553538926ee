// Convolution on oneDNN, alone or with what follows it: a ReLU, or in TEST nets a BatchNorm on stored statistics and
// the sum at the end of a residual block.
//
// The ReLU is applied while the convolution writes its result, and so is the sum, whose other term is already in the
// result's memory where the planner could arrange that. A BatchNorm (and Scale) of a net that never runs backward is
// folded into weights and bias: y = (w x + b) * factor + shift.

#include <algorithm>

#include "base/str.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/onednn/primitive.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/result_sums.h"
#include "layers/types/convolution/convolution_formats.h"
#include "layers/types/convolution/convolution_parts.h"
#include "layers/types/convolution/convolution_types.h"
#include "layers/types/convolution/folded_convolution.h"
#include "layers/types/convolution/masked_gradient.h"

namespace robusta {
namespace {

using namespace onednn;

class OnednnConvolution : public Kernel, public SumsResults {
 public:
  OnednnConvolution(const KernelRequest& request, const FusedConvolution& chain, FormattedConvolution convolution)
      : problem_(convolution.problem), passes_(std::move(convolution)) {
    const ConvolutionProblem& problem = problem_;
    if (chain.norm) folded_ = std::make_unique<FoldedWeights>(chain, passes_.forward->kept_bytes() > 0);
    booking_.bottom_layouts = {layout_of(problem.src)};
    booking_.top_layouts = {layout_of(problem.dst)};
    booking_.reads_bottoms = {passes_.weights != nullptr};
    if (problem.adds) {
      booking_.bottom_layouts.push_back(layout_of(problem.dst));
      booking_.reads_bottoms.push_back(false);
      booking_.forward_aliases = {{1, 0, false}};
    }
    booking_.reads_tops = {request.backward && problem.relu};
    ScratchPlan forward;
    forward.add(passes_.forward->scratch_bytes());
    if (folded_) folded_at_ = forward.add(folded_->scratch_bytes());
    booking_.forward_scratch = forward.bytes();
    booking_.kept_bytes = passes_.forward->kept_bytes() + (folded_ ? folded_->kept_bytes() : 0);
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

  bool sum_results() override { return sums_ = passes_.forward->sums_results(); }

  void forward(const KernelRun& run) override {
    ConvolutionData data;
    data.src = run.bottoms[0].data;
    data.dst = run.tops[0].data;
    if (sums_) data.sums = run.tops[1].as<float>();
    if (problem_.adds) data.addend = run.bottoms[1].data;
    if (folded_) {
      folded_->refresh(run.params, at_offset(run.scratch, folded_at_));
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
    mask_gradient(problem_, run.tops[0].data, run.top_diffs[0].data, result);
    return result;
  }

  ConvolutionProblem problem_;
  FormattedConvolution passes_;
  std::unique_ptr<FoldedWeights> folded_;
  size_t folded_at_ = 0, pass_at_ = 0, masked_at_ = 0;
  bool wants_weights_ = false, wants_bias_ = false;
  bool sums_ = false;   ///< forward is to write sums, too
  bool gates_ = false;  ///< the backward passes apply the ReLU's mask themselves
};

/// Why the chain cannot be taken; "" if it can.
std::string objection(const KernelRequest& request, const FusedConvolution& chain) {
  const ConvolutionGeometry& geometry = chain.convolution->geometry();
  std::string why_not;
  if (!is_f32_or_bf16(request, why_not)) return why_not;
  if (request.dtype() == DType::kBF16 && !computes_in_bf16()) return "this processor does not compute in bf16";
  if (!chain.joint && request.bottoms.size() != 1) return "takes one bottom";
  if (geometry.axes.empty() || geometry.axes.size() > 3) return "takes 1 to 3 spatial axes";
  if (is_too_long(geometry.axes)) return "an axis is too long";
  if (request.bottoms[0].shape.axes() != static_cast<int>(geometry.axes.size()) + 2) return "wants channels on axis 1";
  return chain.objection(request);
}

/// The same of a convolution whose outputs ranks share out: the results of the others come before what follows.
std::string objection_to_parts(const KernelRequest& request) {
  if (request.layers.size() > 1) return "outputs shared out among ranks are not fused with what follows";
  return request.dtype() == DType::kF32 ? "" : "outputs shared out among ranks are computed in f32";
}

/// Whether the layer behind it takes sums over the results: a BatchNorm that stores bf16, which it does of such
/// channels.
bool takes_sums(const KernelRequest& request) {
  return request.moments_follow && request.backward && request.dtype() == DType::kBF16 &&
         request.tops[0].shape[1] % 16 == 0;
}

std::unique_ptr<Kernel> make_convolution_onednn(const KernelRequest& request, std::string& why_not) {
  const FusedConvolution chain(request);
  why_not = chain.convolution->group() ? objection_to_parts(request) : objection(request, chain);
  if (!why_not.empty()) return nullptr;
  if (chain.convolution->group()) return make_convolution_parts(request, "onednn", why_not);

  ConvolutionProblem problem;
  problem.geometry = chain.convolution->geometry();
  problem.type = request.dtype();
  problem.bias = chain.has_bias();
  problem.adds = bool{chain.joint};
  problem.relu = bool{chain.relu};
  problem.slope = chain.relu ? chain.relu->slope() : 0.0f;
  problem.inference = !request.backward;
  problem.moments_follow = takes_sums(request) && !problem.relu && !problem.adds;
  std::optional<FormattedConvolution> convolution = in_best_formats(request, problem);
  if (!convolution) {
    why_not = "oneDNN has only its slow reference for this shape";
  } else if (problem.type != DType::kF32 && is_faster_in_f32(request, *convolution)) {
    why_not = str("is faster in f32 than in ", name_of(problem.type));
  } else {
    return std::make_unique<OnednnConvolution>(request, chain, *std::move(convolution));
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL(FusedConvolution::pattern(), "onednn", 20, make_convolution_onednn);

}  // namespace robusta
