/// Blocked layouts for tests of kernels that take any layout.
#pragma once

#include "layers/backends/onednn/layout.h"
#include "support/kernel_checks.h"

namespace robusta::test {

/// Channels in blocks of 16; padded unless their number is a multiple of 16.
inline Layout blocked16(const Shape& shape) {
  return onednn::layout_of(onednn::blocked_desc(onednn::dims_of(shape), 16));
}

/// compare_with_reference with all bottoms blocked.
inline void compare_blocked(const std::string& backend, const KernelCase& what, double tolerance = 1e-5) {
  KernelOptions how;
  for (const Shape& bottom : what.bottoms) how.bottom_layouts.push_back(blocked16(bottom));
  compare_with_reference(backend, what, tolerance, how);
}

/// The layouts that the native kernel of the case takes for its bottoms when they come blocked.
inline std::vector<Layout> layouts_taken(const std::string& backend, const KernelCase& what) {
  KernelOptions how{.backend = backend, .dtype = DType::kF32};
  for (const Shape& bottom : what.bottoms) how.bottom_layouts.push_back(blocked16(bottom));
  KernelHarness harness(what, how);
  return harness.kernel().booking().bottom_layouts;
}

}  // namespace robusta::test
