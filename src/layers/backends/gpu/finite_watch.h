/// Finds numbers that are not finite (kit/finite_numbers.h), on the GPU. For files named *_gpu.cpp.
///
/// As with labels (labels.h) the first is written down in host memory, and thrown by Kernel::check when the pass is
/// done.
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "device/device.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/labels.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

/// For reduce_all.
struct FirstNotFinite {
  using Sum = int64_t;
  const float* values;
  BadLabel* bad;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return values[i] - values[i] == 0 ? kNoPlace : i; }
  ROBUSTA_GPU void store(Sum first) const {
    if (first != kNoPlace) *bad = {first, static_cast<double>(values[first]), true};
  }
};

}  // namespace detail

class FiniteWatch {
 public:
  explicit FiniteWatch(const KernelRequest& request) {
    Device& device = request.device ? *request.device : cpu_device();
    bad_ = std::static_pointer_cast<BadLabel>(device.host_memory(sizeof(BadLabel)));
    *bad_ = {};
  }

  static size_t scratch_bytes(int64_t count) { return reduce_all_scratch<detail::FirstNotFinite>(count); }
  template <typename ErrorAt>
  void look(Stream* stream, const float* values, int64_t count, void* scratch, const ErrorAt&) const {
    reduce_all(stream, count, scratch, detail::FirstNotFinite{values, bad_.get()});
  }
  /// For Kernel::check. Throws error_at(place, value) of what the pass has noted.
  template <typename ErrorAt>
  void check(const ErrorAt& error_at) const {
    if (!bad_->found) return;
    const BadLabel bad = std::exchange(*bad_, BadLabel{});
    throw error_at(bad.place, bad.label);
  }

 private:
  std::shared_ptr<BadLabel> bad_;  ///< in memory that both the host and the GPU reach
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
