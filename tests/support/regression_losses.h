/// What tests of losses of predictions and targets share.
#pragma once

#include <string>
#include <vector>

#include "support/kernel_checks.h"

namespace robusta::test {

/// All bottoms have one shape; weights are 0, 0.5, 1, ...
inline KernelCase regression_case(const std::string& layer, const Shape& shape, size_t bottoms, int tops = 1) {
  KernelCase what{{layer}, std::vector<Shape>(bottoms, shape)};
  what.tops = tops;
  what.bottom_values = [](int bottom, const Shape& weights) {
    Array values;
    for (int64_t i = 0; bottom >= 2 && i < weights.count(); ++i) {
      values.push_back(static_cast<double>((i + bottom) % 3) / 2);
    }
    return values;
  };
  return what;
}

/// Gradients, and the kernels in single precision.
inline void check_regression(const std::vector<KernelCase>& cases) {
  for (const KernelCase& c : cases) {
    check_gradients(c);
    compare_with_reference("reference", c, 2e-6);
    compare_gpu_with_reference(c, 2e-6);
  }
}

struct RegressionResults {
  Arrays tops, bottom_diffs;
};

/// One pass of a backend in f32 over bottoms of one shape; `diffs`: of the tops.
inline RegressionResults run_regression(const std::string& backend, const std::string& layer, const Arrays& bottoms,
                                        const Shape& shape, const Arrays& diffs, StepReduce* ranks = nullptr) {
  KernelCase what{{layer}, std::vector<Shape>(bottoms.size(), shape)};
  what.tops = static_cast<int>(diffs.size());
  KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32, .pass = {.batch = shape[0], .ranks = ranks}});
  harness.forward(bottoms);
  harness.backward(diffs);
  return {harness.tops(), harness.bottom_diffs()};
}

/// What all of them refuse.
inline void check_regression_errors(const std::string& layer) {
  expect_config_error({{layer}, {{2, 3}, {3, 2}}}, "as many samples", "bottom");
  expect_config_error({{layer}, {{2, 3}, {2, 2}}}, "as many elements", "bottom");
  expect_config_error({{layer}, {{}, {}}}, "as many samples", "bottom");
}

}  // namespace robusta::test
