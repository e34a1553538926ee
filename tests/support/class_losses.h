/// What tests of losses of scores and one label per sample share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/str.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test {

/// Labels 0, 2, 1, 0, ... and any scores, or probabilities.
inline KernelCase class_case(const std::string& layer, const Shape& scores, const Shape& labels, bool probabilities) {
  KernelCase what{{layer}, {scores, labels}};
  what.bottom_values = [probabilities](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; i < shape.count(); ++i) {
      if (bottom == 1) values.push_back(static_cast<double>(2 * i % 3));
      if (bottom == 0 && probabilities) values.push_back(static_cast<float>(0.05 + static_cast<double>(i % 17) / 18));
    }
    return values;
  };
  return what;
}

/// Gradients, and the kernels in single precision.
inline void check_class_loss(const std::string& layer, bool probabilities) {
  const auto of = [&](const Shape& scores, const Shape& labels) {
    return class_case(layer, scores, labels, probabilities);
  };
  for (const KernelCase& c : {of({5, 4}, {5}), of({4, 3}, {4, 1, 1, 1}), of({3, 2, 2, 1}, {3, 1})}) {
    check_gradients(c);
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c, 2e-6);
  }
  compare_gpu_with_reference(of({97, 311}, {97}), 2e-6);
}

struct ClassLoss {
  double loss;
  Array gradient;  ///< for the weight 2
};

/// One pass of a backend in f32.
inline ClassLoss run_class_loss(const std::string& backend, const std::string& layer, const Array& scores,
                                const Array& labels) {
  const auto n = static_cast<int64_t>(labels.size());
  KernelHarness harness({{layer}, {{n, static_cast<int64_t>(scores.size()) / n}, {n}}},
                        {.backend = backend, .dtype = DType::kF32});
  harness.forward({scores, labels});
  harness.backward({{2}});
  return {harness.tops()[0][0], harness.bottom_diffs()[0]};
}

/// What all of them do with labels.
inline void check_labels_of(const std::string& layer) {
  const Pass pass{.seed = 0, .first_sample = 70, .next_sample = 72, .batch = 2};
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness({{layer}, {{2, 3}, {2}}}, {.backend = backend, .dtype = DType::kF32, .pass = pass});
    for (double label : {3.0, -1.0, 1e20, static_cast<double>(NAN)}) {
      const Error error = error_of([&] { harness.forward({Array(6, 0.5), {0, label}}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_EQ(error.cause(), str("label ", label, " at sample 71 is out of range 0..2")) << backend;
    }
    EXPECT_NO_THROW(harness.forward({Array(6, 0.5), {0.9, 2}}));
  }
  const KernelHarness harness({{layer}, {{2, 3, 4}, {2}}}, {});
  const auto use = harness.layer().label_use({{2, 3, 4}, {2}});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->labels, 1);
  EXPECT_EQ(use->classes, 12);
  EXPECT_FALSE(use->ignored);
  EXPECT_FALSE(harness.wants_bottom(1));
  expect_config_error({{layer}, {{4, 5}, {3}}}, "there are 3 labels", "bottom");
  expect_config_error({{layer}, {{2, 3, 4}, {2, 4}}}, "there are 8 labels", "bottom");
  expect_config_error({{layer}, {{}, {1}}}, "must have samples", "bottom");
}

}  // namespace robusta::test
