/// The ends of losses on the GPU: sums over all labels, divided by what loss_normalizer.h says. Losses and their
/// weights are f32, whatever the scores are. For files named *_gpu.cpp.
///
/// The divisor may depend on labels, so it stays in the GPU's memory, where backward finds it. The host takes part only
/// where ranks must agree on it.
#pragma once

#include <memory>

#include "device/gpu/for_each.h"
#include "device/gpu/host_values.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/loss_normalizer.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What is summed over labels.
struct LossSum {
  double loss;
  double valid;       ///< labels that are not ignored
  int64_t first_bad;  ///< place of a label out of range, kNoPlace: none
};

/// A base of bodies for reduce_all.
struct JoinLosses {
  using Sum = LossSum;
  ROBUSTA_GPU Sum zero() const { return {0, 0, kNoPlace}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    return {a.loss + b.loss, a.valid + b.valid, a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
};

/// Kept from forward to backward.
struct LossResult {
  double sum, divisor;  ///< in double: f32 would lose small terms of large batches
  float inverse;        ///< of the divisor
  /// What gradients are multiplied by, for the gradient of the loss.
  ROBUSTA_GPU float scale(const float* loss_weight) const { return *loss_weight * inverse; }
};

/// Makes the loss of a LossSum.
struct LossEnd {
  LossResult* result;
  float* top;
  double fixed;  ///< the divisor; 0: the number of valid labels, at least 1
  bool later;    ///< ranks have yet to agree on the divisor
  ROBUSTA_GPU void store(const LossSum& sum) const {
    result->sum = sum.loss;
    result->divisor = fixed > 0 ? fixed : later || sum.valid > 1 ? sum.valid : 1;
    if (!later) (*this)(0);
  }
  ROBUSTA_GPU void operator()(int64_t) const {
    result->inverse = static_cast<float>(1 / result->divisor);
    *top = static_cast<float>(result->sum / result->divisor);
  }
};

/// What a loss kernel keeps to divide its sum. A LossResult of its own lies at the start of KernelRun::saved.
class LossDivision {
 public:
  /// Of `all` labels in `batch` samples.
  LossDivision(const KernelRequest& request, const LossNormalizer& normalizer, int64_t all, int64_t batch)
      : normalizer_(normalizer), all_(all), batch_(batch) {
    Device& device = request.device ? *request.device : cpu_device();
    staging_ = std::static_pointer_cast<double>(device.host_memory(sizeof(double)));
  }

  /// Booking::asks_ranks.
  bool asks_ranks() const { return normalizer_.counts_labels(); }
  /// For the body of the sum.
  LossEnd end(const KernelRun& run) const {
    const bool counts = normalizer_.counts_labels();
    const double fixed = counts ? 0 : normalizer_.divisor(all_, all_, batch_, run.pass->ranks);
    return {static_cast<LossResult*>(run.saved), run.tops[0].as<float>(), fixed, counts && run.pass->ranks};
  }

  /// To be called after the sum.
  void agree(const KernelRun& run, const LossEnd& end) const {
    if (!end.later) return;
    change_on_host(run.stream, &end.result->divisor, {staging_.get(), 1}, [&](std::span<double> valid) {
      valid[0] = normalizer_.divisor(static_cast<int64_t>(valid[0]), all_, batch_, run.pass->ranks);
    });
    for_each(run.stream, 1, end);
  }

 private:
  const LossNormalizer& normalizer_;
  int64_t all_, batch_;
  std::shared_ptr<double> staging_;  ///< the host's, for what ranks sum
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
