#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/two_ranks.h"

namespace robusta::test::softmax_loss_test {
namespace {

/// Labels 0, 1, ..., last, 0, ... as bottom 1.
KernelCase loss(const Shape& scores, const Shape& labels, int last, const std::string& param = "", int tops = 1) {
  KernelCase what{{"type: 'SoftmaxWithLoss' " + param}, {scores, labels}};
  what.tops = tops;
  what.bottom_values = [last](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) values.push_back(static_cast<double>(i % (last + 1)));
    return values;
  };
  return what;
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all{
      loss({4, 5}, {4}, 4),
      loss({4, 5}, {4, 1}, 3),
      loss({2, 4, 3, 2}, {2, 1, 3, 2}, 3),
      loss({2, 4, 3, 2}, {2, 4, 2}, 2, "softmax_param { axis: 2 }"),
      loss({2, 3, 4}, {2, 3}, 3, "softmax_param { axis: -1 }"),
      loss({4, 5}, {4}, 4, "", 2),
      loss({2, 4, 3, 2}, {2, 3, 2}, 3, "", 2),
      loss({2, 4, 3, 2}, {2, 3, 2}, 4, "loss_param { ignore_label: 4 normalize: true }"),
      loss({2, 4, 3, 2}, {2, 3, 2}, 4, "loss_param { ignore_label: 4 normalize: false }"),
  };
  const std::string weighted =
      "loss_param { weight_by_label_freqs: true class_weighting: 0.5 class_weighting: 2 "
      "class_weighting: 0 class_weighting: 3 ";
  all.push_back(loss({5, 4}, {5}, 3, weighted + "}"));
  all.push_back(loss({2, 4, 3, 2}, {2, 3, 2}, 4, weighted + "ignore_label: 4 }", 2));
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE", "PRE_FIXED pre_fixed_normalizer: 3.5"}) {
    const std::string param = std::string("loss_param { ignore_label: 2 normalization: ") + mode + " }";
    all.push_back(loss({2, 4, 3, 2}, {2, 3, 2}, 3, param));
  }
  return all;
}

double loss_of(const std::string& param, const Array& scores, const Array& labels, const std::string& backend) {
  const auto n = static_cast<int64_t>(labels.size());
  KernelHarness harness({{"type: 'SoftmaxWithLoss' " + param}, {{n, static_cast<int64_t>(scores.size()) / n}, {n}}},
                        {.backend = backend, .dtype = DType::kF32});
  harness.forward({scores, labels});
  return harness.tops()[0][0];
}

TEST(SoftmaxLossTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(SoftmaxLossTest, KernelsAgree) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : cases()) compare_with_reference(backend, c, 3e-6);
    compare_with_reference(backend, loss({64, 1000}, {64}, 999), 3e-6);
    compare_with_reference(backend, loss({64, 10}, {64}, 9, "loss_param { label_smoothing: 0.1 }"), 3e-6);
    compare_with_reference(backend, loss({3, 21, 37, 41}, {3, 37, 41}, 21, "loss_param { ignore_label: 21 }", 2), 3e-6);
  }
}

TEST(SoftmaxLossTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c, 3e-6);
  compare_gpu_with_reference(loss({64, 1000}, {64}, 999), 3e-6);
  compare_gpu_with_reference(loss({64, 10}, {64}, 9, "loss_param { label_smoothing: 0.1 }"), 3e-6);
  compare_gpu_with_reference(loss({2, 6, 3, 5}, {2, 3, 5}, 5, "loss_param { label_smoothing: 0.1 }"), 3e-6);
  compare_gpu_with_reference(loss({3, 21, 37, 41}, {3, 37, 41}, 21, "loss_param { ignore_label: 21 }", 2), 3e-6);
  // Positions enough for a thread each, and for a sum in parts.
  compare_gpu_with_reference(loss({2, 3, 91, 97}, {2, 91, 97}, 2), 3e-6);
}

TEST(SoftmaxLossTest, RanksShareADivisor) {
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    const std::string param = std::string("loss_param { ignore_label: 2 normalization: ") + mode + " }";
    TwoRanks ranks;
    const KernelOptions how{.pass = {.first_sample = 5, .next_sample = 9, .batch = 2, .ranks = &ranks}};
    compare_with_reference("native", loss({2, 4, 3, 2}, {2, 3, 2}, 3, param), 3e-6, how);
    const int sums = ranks.sums;
    compare_gpu_with_reference(loss({2, 4, 3, 2}, {2, 3, 2}, 3, param), 3e-6, how);
    EXPECT_EQ(ranks.sums > sums, mode == std::string("VALID"));
  }
}

TEST(SoftmaxLossTest, Normalisers) {
  // Equal scores: each label costs log 2.
  const Array scores(8, 0.0), labels{0, 1, 7, 7};
  for (const char* backend : {"reference", "native", "gpu"}) {
    const auto in_logs = [&](const std::string& param) {
      return loss_of("loss_param { ignore_label: 7 " + param + " }", scores, labels, backend) / std::log(2.0);
    };
    EXPECT_NEAR(in_logs(""), 1.0, 1e-6);
    EXPECT_NEAR(in_logs("normalize: true"), 1.0, 1e-6);
    EXPECT_NEAR(in_logs("normalize: false"), 0.5, 1e-6);
    EXPECT_NEAR(in_logs("normalize: false normalization: VALID"), 1.0, 1e-6);
    EXPECT_NEAR(in_logs("normalization: FULL"), 0.5, 1e-6);
    EXPECT_NEAR(in_logs("normalization: BATCH_SIZE"), 0.5, 1e-6);
    EXPECT_NEAR(in_logs("normalization: NONE"), 2.0, 1e-6);
    EXPECT_NEAR(in_logs("normalization: PRE_FIXED pre_fixed_normalizer: 8"), 0.25, 1e-6);
    EXPECT_NEAR(in_logs("normalization: PRE_FIXED pre_fixed_normalizer: 0.1"), 2.0, 1e-6);  // never below 1
    EXPECT_EQ(loss_of("loss_param { ignore_label: 7 }", {1, 2, 3, 4}, {7, 7}, backend), 0);
  }
}

TEST(SoftmaxLossTest, WeightsOfClasses) {
  // Equal scores: each label costs the weight of its class times log 2. The divisor counts labels, not weights.
  const std::string weights = "loss_param { ignore_label: 7 class_weighting: 3 class_weighting: 0.5 ";
  for (const char* backend : {"reference", "native", "gpu"}) {
    const auto in_logs = [&](const std::string& param, const Array& labels) {
      return loss_of(weights + param + " }", Array(8, 0.0), labels, backend) / std::log(2.0);
    };
    EXPECT_NEAR(in_logs("weight_by_label_freqs: true", {0, 1, 7, 7}), 3.5 / 2, 1e-6) << backend;
    EXPECT_NEAR(in_logs("weight_by_label_freqs: true normalize: false", {0, 0, 7, 1}), 6.5 / 4, 1e-6) << backend;
    EXPECT_NEAR(in_logs("", {0, 1, 7, 7}), 1.0, 1e-6) << backend;
  }
}

TEST(SoftmaxLossTest, ProbabilityHasAFloor) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    EXPECT_NEAR(loss_of("", {1000, 0}, {1}, backend), 87.3365, 1e-4);
    EXPECT_TRUE(std::isnan(loss_of("", {NAN, 0}, {1}, backend)));
  }
}

TEST(SoftmaxLossTest, SmoothingShapesTheGradientOnly) {
  const double e = 0.3, spread = e / 4, mass = 1 - e + 3 * spread;
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness({{"type: 'SoftmaxWithLoss' loss_param { label_smoothing: 0.3 }"}, {{1, 4}, {1}}},
                          {.backend = backend, .dtype = DType::kF32});
    harness.forward({{0, 0, 0, 0}, {2}});
    EXPECT_NEAR(harness.tops()[0][0], std::log(4.0), 1e-6);
    harness.backward({{2}});
    expect_near(harness.bottom_diffs()[0],
                {2 * (mass / 4 - spread), 2 * (mass / 4 - spread), 2 * (mass / 4 - (1 - e)), 2 * (mass / 4 - spread)},
                1e-6, backend);
  }
}

TEST(SoftmaxLossTest, MissingGradientsAreZero) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness(loss({2, 3}, {2}, 1, "", 2), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1, 2, 3, 4, 5, 6}, {0, 1}});
    harness.backward({{}, {}});
    EXPECT_EQ(harness.bottom_diffs()[0], Array(6, 0.0)) << backend;
    harness.backward({{1}, {}});
    const Array alone = harness.bottom_diffs()[0];
    harness.backward({{1}, Array(6, 1.0)});  // the probabilities of a sample always add up to 1
    expect_near(harness.bottom_diffs()[0], alone, 1e-6, backend);
  }
}

TEST(SoftmaxLossTest, LabelsAreCutToIntegers) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    const Array scores{1, 2, 3};
    EXPECT_EQ(loss_of("", scores, {1.9}, backend), loss_of("", scores, {1}, backend));
    EXPECT_EQ(loss_of("", scores, {-0.9}, backend), loss_of("", scores, {0}, backend));
  }
}

TEST(SoftmaxLossTest, LabelOutOfRange) {
  const Pass pass{.seed = 0, .first_sample = 344, .next_sample = 346, .batch = 2};
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness({{"type: 'SoftmaxWithLoss'"}, {{2, 10, 2}, {2, 2}}},
                          {.backend = backend, .dtype = DType::kF32, .pass = pass});
    for (double label : {10.0, -1.0, 1e20, static_cast<double>(NAN)}) {
      const Error error = error_of([&] { harness.forward({Array(40, 0.0), {0, 1, 2, label}}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_EQ(error.cause(), str("label ", label, " at sample 345 is out of range 0..9")) << backend;
    }
    // The first of several; and the next pass starts afresh.
    const Error error = error_of([&] { harness.forward({Array(40, 0.0), {0, 10, 11, 12}}); });
    EXPECT_EQ(error.cause(), "label 10 at sample 344 is out of range 0..9") << backend;
    EXPECT_NO_THROW(harness.forward({Array(40, 0.0), {0, 1, 2, 3}}));
  }
}

TEST(SoftmaxLossTest, Errors) {
  expect_config_error({{"type: 'SoftmaxWithLoss'"}, {{4, 5}, {3}}}, "there are 3 labels", "bottom");
  expect_config_error({{"type: 'SoftmaxWithLoss' softmax_param { axis: 2 }"}, {{4, 5}, {4}}}, "axis 2",
                      "softmax_param.axis");
  expect_config_error({{"type: 'SoftmaxWithLoss' loss_param { label_smoothing: 1 }"}, {{4, 5}, {4}}},
                      "label_smoothing 1", "loss_param.label_smoothing");
  const auto weighted = [](const std::string& param) {
    return KernelCase{{"type: 'SoftmaxWithLoss' loss_param { weight_by_label_freqs: true " + param + " }"},
                      {{4, 2}, {4}}};
  };
  expect_config_error(weighted(""), "none are given", "loss_param.weight_by_label_freqs");
  expect_config_error(weighted("class_weighting: 1"), "given 1 times", "loss_param.class_weighting");
  expect_config_error(weighted("class_weighting: 1 class_weighting: -1"), "weight -1", "loss_param.class_weighting");
  expect_config_error(weighted("class_weighting: 1 class_weighting: nan"), "is nan", "loss_param.class_weighting");
}

}  // namespace
}  // namespace robusta::test::softmax_loss_test
