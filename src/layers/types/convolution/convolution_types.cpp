// The tuner is asked once for each convolution, bottom and set of passes; its answer is recorded as those between
// algorithms are.

#include "layers/types/convolution/convolution_types.h"

#include "base/str.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/trial_memory.h"
#include "layers/types/convolution/convolution_trial.h"

namespace robusta {
namespace {

using namespace onednn;

/// Both types are timed without the moments of what follows: one record serves with and without a BatchNorm behind.
ConvolutionProblem without_sums(ConvolutionProblem problem) {
  problem.moments_follow = false;
  return problem;
}

/// One training step's work of a convolution, its bottom's conversions included.
class StepTrial {
 public:
  StepTrial(FormattedConvolution& convolution, const TensorDesc& bottom)
      : convolution_(convolution), trial_(without_sums(convolution.problem)) {
    const TensorDesc src{bottom.shape, convolution.problem.type, layout_of(convolution.problem.src)};
    if (src.dtype == bottom.dtype && same_layout(src.layout, bottom.layout)) return;
    outside_ = ConvolutionTrial::filled(bottom.bytes());
    enter_ = make_reorder(bottom, src);
    if (convolution.data) leave_ = make_reorder(src, bottom);
    scratch_ = AlignedMemory(std::max(enter_->scratch_bytes(), leave_ ? leave_->scratch_bytes() : 0));
  }

  void run() {
    if (enter_) enter_->run(outside_.data(), trial_.src(), scratch_.data());
    trial_.run(*convolution_.forward);
    if (convolution_.weights) trial_.run(*convolution_.weights);
    if (convolution_.data) trial_.run(*convolution_.data);
    if (leave_) leave_->run(trial_.src(), outside_.data(), scratch_.data());
  }

 private:
  FormattedConvolution& convolution_;
  ConvolutionTrial trial_;
  AlignedMemory outside_, scratch_;
  std::unique_ptr<Reorder> enter_, leave_;  ///< null: the bottom lies right, or has no gradient
};

/// A ReLU costs either the same, and so does a sum; a chain without them has to get the same answer.
std::string key_of(const TensorDesc& bottom, const FormattedConvolution& convolution) {
  ConvolutionProblem problem = without_sums(convolution.problem);
  problem.adds = problem.relu = false;
  return str(problem.key(Direction::kForward), "/type", convolution.weights ? "/weights" : "",
             convolution.data ? "/data" : "", "/from-", name_of(bottom.dtype), "-", layout_name(bottom.layout));
}

}  // namespace

bool computes_in_bf16() {
  // Each instruction set is a set of bits, which holds those of the sets that it includes.
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

bool is_faster_in_f32(const KernelRequest& request, FormattedConvolution& narrow) {
  if (!request.tuner) return false;
  // The algorithm that is taken untimed will do: all of them are timed where f32 is taken.
  KernelRequest untimed = request;
  untimed.tuner = nullptr;
  ConvolutionProblem problem = narrow.problem;
  problem.type = DType::kF32;
  std::optional<FormattedConvolution> wide = in_best_formats(untimed, problem);
  if (!wide) return false;
  std::unique_ptr<StepTrial> trials[2];
  const TensorDesc& bottom = request.bottoms[0];
  const std::vector<std::string> types{name_of(narrow.problem.type), name_of(DType::kF32)};
  const auto run = [&](int type) {
    if (!trials[0] && !trials[1]) {
      require_room_for_trial(ConvolutionTrial::bytes(narrow.problem) + ConvolutionTrial::bytes(wide->problem));
    }
    if (!trials[type]) trials[type] = std::make_unique<StepTrial>(type == 0 ? narrow : *wide, bottom);
    trials[type]->run();
  };
  return chosen_or_first([&] { return request.tuner->choose(key_of(bottom, narrow), types, run); }) == 1;
}

}  // namespace robusta
