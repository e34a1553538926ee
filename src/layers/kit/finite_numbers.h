/// Numbers of a bottom that no training can mean: flags and similarities that are not finite.
#pragma once

#include <cmath>
#include <cstdint>

#include "device/device.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// Throws `error_at(place, value)` for the first of them that is not finite.
template <typename T, typename ErrorAt>
void require_finite_numbers(const T* values, int64_t count, const ErrorAt& error_at) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) throw error_at(i, static_cast<double>(values[i]));
  }
}

/// The same in the form of the GPU's watch (backends/gpu/finite_watch.h), for kernels whose text serves both.
class HostFiniteWatch {
 public:
  explicit HostFiniteWatch(const KernelRequest&) {}
  static size_t scratch_bytes(int64_t) { return 0; }
  template <typename ErrorAt>
  void look(Stream*, const float* values, int64_t count, void*, const ErrorAt& error_at) const {
    require_finite_numbers(values, count, error_at);
  }
  template <typename ErrorAt>
  void check(const ErrorAt&) const {}
};

}  // namespace robusta
