// LabelsequenceAccuracy.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::labelsequence_accuracy_test {
namespace {

KernelCase accuracy(const std::string& param, const Shape& scores, int64_t labels) {
  return {{"type: 'LabelsequenceAccuracy' labelsequence_accuracy_param { " + param + " }"},
          {scores, {scores[0], labels}}};
}

/// Scores of 1 for these classes.
Array scores_of(const std::vector<int>& path, int classes) {
  Array scores;
  for (const int own : path) {
    for (int c = 0; c < classes; ++c) scores.push_back(c == own ? 1 : 0);
  }
  return scores;
}

double share(const std::string& backend, const std::string& param, const std::vector<int>& path, const Array& labels,
             int64_t samples) {
  const auto steps = static_cast<int64_t>(path.size()) / samples;
  KernelHarness harness(accuracy(param, {samples, steps, 3}, static_cast<int64_t>(labels.size()) / samples),
                        {.backend = backend, .dtype = DType::kF32, .backward = false});
  harness.forward({scores_of(path, 3), labels});
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0][0];
}

TEST(LabelsequenceAccuracyTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    EXPECT_EQ(share(backend, "", {0, 1, 1, 0, 1, 2}, {1, 1, 2, 0}, 1), 1) << backend;
    EXPECT_EQ(share(backend, "", {0, 1, 1, 0, 1, 2}, {0, 1, 0, 1, 0, 2}, 1), 1) << backend;
    EXPECT_EQ(share(backend, "", {0, 1, 1, 1, 1, 2}, {1, 1, 2}, 1), 0) << backend;
    EXPECT_EQ(share(backend, "", {0, 1, 2}, {1, 2, 2}, 1), 0) << "too short: " << backend;
    EXPECT_EQ(share(backend, "", {1, 2, 1}, {1, 2, 0}, 1), 0) << "too long: " << backend;
    EXPECT_EQ(share(backend, "", {0, 0}, {0, 0}, 1), 1) << backend;
    EXPECT_EQ(share(backend, "blank_label: 2", {0, 2, 0, 1, 1, 2}, {0, 0, 1, 2}, 1), 1) << backend;
    EXPECT_EQ(share(backend, "", {1, 2, 1, 1, 0, 0, 2, 2}, {1, 2, 2, 0, 1, 2, 2, 0}, 4), 0.5) << backend;
    // A blank that is no class only fills up.
    EXPECT_EQ(share(backend, "blank_label: -1", {0, 1, 1}, {0, 1, -1}, 1), 1) << backend;
  }
}

TEST(LabelsequenceAccuracyTest, BadLabels) {
  for (const char* backend : {"reference", "gpu"}) {
    const Error error = error_of([&] { share(backend, "", {0, 1, 2, 0}, {1, 2, 3, 0}, 2); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.cause(), "label 3 at sample 6 is out of range 0..2") << backend;
  }
}

TEST(LabelsequenceAccuracyTest, Errors) {
  expect_config_error(accuracy("", {2, 3}, 2), "bottom 0 has shape 2 3", "bottom");
  expect_config_error({{"type: 'LabelsequenceAccuracy'"}, {{2, 3, 4}, {3, 2}}}, "and bottom 1 3 2", "bottom");
  const KernelHarness harness(accuracy("", {2, 3, 4}, 2), {});
  EXPECT_FALSE(harness.wants_bottom(0));
  EXPECT_FALSE(harness.layer().has_backward());
}

}  // namespace
}  // namespace robusta::test::labelsequence_accuracy_test
