#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"
#include "support/two_ranks.h"

namespace robusta::test::softmax_loss_ohem_test {
namespace {

/// Labels 0, 1, ..., last, 0, ... as bottom 1.
KernelCase loss(const Shape& scores, const Shape& labels, int last, const std::string& param, int tops) {
  KernelCase what{{"type: 'SoftmaxWithLossOHEM' " + param}, {scores, labels}};
  what.tops = tops;
  what.bottom_values = [last](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) values.push_back(static_cast<double>(i % (last + 1)));
    return values;
  };
  return what;
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all;
  for (int tops = 1; tops <= 3; ++tops) {
    all.push_back(loss({4, 5}, {4}, 4, "", tops));
    all.push_back(loss({2, 4, 3, 2}, {2, 1, 3, 2}, 3, "", tops));
    all.push_back(loss({2, 3, 4}, {2, 3}, 3, "softmax_param { axis: -1 }", tops));
    all.push_back(loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 }", tops));
    all.push_back(loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 normalization: NONE }", tops));
  }
  return all;
}

TEST(SoftmaxLossOhemTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(SoftmaxLossOhemTest, KernelsAgree) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : cases()) compare_with_reference(backend, c, 3e-6);
  }
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c, 3e-6);
  compare_gpu_with_reference(loss({2, 3, 91, 97}, {2, 91, 97}, 2, "", 3), 3e-6);
}

TEST(SoftmaxLossOhemTest, ShowsTheLossOfEachLabel) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness(loss({3, 2}, {3, 1}, 1, "loss_param { ignore_label: 7 }", 3),
                          {.backend = backend, .dtype = DType::kF32});
    EXPECT_EQ(harness.top_shapes()[2], (Shape{3, 1}));
    const double ln2 = std::log(2.0), ln4 = std::log(4.0);
    harness.forward({{0, 0, 0, 0, 0, std::log(3.0)}, {1, 7, 0}});
    expect_near(harness.tops()[0], {(ln2 + ln4) / 2}, 1e-6, backend);
    expect_near(harness.tops()[1], {0.5, 0.5, 0.5, 0.5, 0.25, 0.75}, 1e-6, backend);
    expect_near(harness.tops()[2], {ln2, 0, ln4}, 1e-6, backend);
    harness.backward({{2}, {}, {}});
    expect_near(harness.bottom_diffs()[0], {0.5, -0.5, 0, 0, -0.75, 0.75}, 1e-6, backend);
    harness.backward({{}, {}, {1, 5, 2}});
    expect_near(harness.bottom_diffs()[0], {0.5, -0.5, 0, 0, -1.5, 1.5}, 1e-6, backend);
    harness.backward({{}, {}, {}});
    EXPECT_EQ(harness.bottom_diffs()[0], Array(6, 0.0)) << backend;
  }
}

TEST(SoftmaxLossOhemTest, RanksShareADivisor) {
  TwoRanks ranks;
  const KernelOptions how{.pass = {.first_sample = 5, .next_sample = 9, .batch = 2, .ranks = &ranks}};
  const KernelCase what = loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 }", 3);
  compare_with_reference("native", what, 3e-6, how);
  compare_gpu_with_reference(what, 3e-6, how);
  EXPECT_GT(ranks.sums, 0);
}

TEST(SoftmaxLossOhemTest, IsALoss) {
  const KernelHarness harness(loss({2, 3}, {2}, 2, "", 1), {});
  EXPECT_TRUE(harness.layer().is_loss());
  EXPECT_FALSE(harness.wants_bottom(1));
  expect_config_error({{"type: 'SoftmaxWithLossOHEM'"}, {{4, 5}, {3}}}, "there are 3 labels", "bottom");
}

}  // namespace
}  // namespace robusta::test::softmax_loss_ohem_test
