/// Class labels on the GPU (labels.h). For files named *_gpu.cpp.
///
/// A GPU cannot throw, and asking it after each step would stall it. So a kernel that meets a label out of range passes
/// it over and writes it down in host memory, which GPUs reach; Kernel::check, called when the pass is done, throws.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "device/device.h"
#include "device/gpu/target.h"
#include "layers/kit/labels.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The first label of a pass that is out of range.
struct BadLabel {
  int64_t place;
  double label;  ///< what stands there
  bool found;
};

inline constexpr int64_t kNoPlace = INT64_MAX;  ///< above all places, of which the least is wanted

/// Labels as a kernel reads them: f32, since 16 bits do not hold all numbers of classes.
struct LabelReader {
  const float* labels;
  int64_t classes;
  bool ignores;  ///< `ignored` means something
  int ignored;
  BadLabel* bad;

  /// 0..classes-1, or kIgnored, or kBad.
  static constexpr int kIgnored = -1, kBad = -2;
  ROBUSTA_GPU int operator()(int64_t place) const {
    const int label = to_label(labels[place]);
    if (ignores && label == ignored) return kIgnored;
    return label >= 0 && label < classes ? label : kBad;
  }
  /// Called once in a pass, with the first place that holds a bad label, or kNoPlace.
  ROBUSTA_GPU void report(int64_t place) const {
    if (place != kNoPlace) *bad = {place, static_cast<double>(labels[place]), true};
  }
};

/// What a kernel keeps to read labels, and to throw what was found wrong with them.
class LabelWatch {
 public:
  /// `per_sample` labels belong to each sample.
  LabelWatch(const KernelRequest& request, int64_t classes, int64_t per_sample, std::optional<int> ignored)
      : classes_(classes), per_sample_(per_sample), ignored_(ignored) {
    Device& device = request.device ? *request.device : cpu_device();
    bad_ = std::static_pointer_cast<BadLabel>(device.host_memory(sizeof(BadLabel)));
    *bad_ = {};
  }

  LabelReader reader(const float* labels) const {
    return {labels, classes_, ignored_.has_value(), ignored_.value_or(0), bad_.get()};
  }

  /// For Kernel::check: what the pass has noted, once.
  std::optional<BadLabel> take() const {
    if (!bad_->found) return std::nullopt;
    return std::exchange(*bad_, BadLabel{});
  }
  /// The same. Throws Error{kData} naming label and sample.
  void check(const Pass& pass) const {
    const std::optional<BadLabel> bad = take();
    if (!bad) return;
    throw_bad_label(bad->label, pass.first_sample + static_cast<uint64_t>(bad->place / per_sample_), classes_);
  }

 private:
  int64_t classes_, per_sample_;
  std::optional<int> ignored_;
  std::shared_ptr<BadLabel> bad_;  ///< in memory that both the host and the GPU reach
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
