/// Numbers worked out by hand for layers that are functions of one element.
#pragma once

#include "support/kernel_checks.h"

namespace robusta::test {

/// Expects that each kernel in f32 maps x to y, with the derivatives `slope`; none: there is no backward.
inline void expect_map(const std::string& layer, const Array& x, const Array& y, const Array& slope) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness({{layer}, {{static_cast<int64_t>(x.size())}}},
                          {.backend = backend, .dtype = DType::kF32, .backward = !slope.empty()});
    harness.forward({x});
    expect_near(harness.tops()[0], y, 1e-6, layer + ", " + backend);
    if (slope.empty()) continue;
    harness.backward({Array(x.size(), 1.0)});
    expect_near(harness.bottom_diffs()[0], slope, 1e-6, "slope of " + layer + ", " + backend);
  }
}

}  // namespace robusta::test
