#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::contrastive_loss_test {
namespace {

/// Every third pair is similar.
KernelCase loss(const Shape& a, const Shape& b, const std::string& param = "") {
  KernelCase what{{"type: 'ContrastiveLoss' contrastive_loss_param { " + param + " }"}, {a, b, {a[0]}}};
  what.bottom_values = [](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 2 && i < shape.count(); ++i) values.push_back(i % 3 == 0 ? 1 : 0);
    return values;
  };
  return what;
}

std::vector<KernelCase> cases() {
  return {loss({6, 3}, {6, 3}, "margin: 3"), loss({5, 4, 1, 1}, {5, 4}, "margin: 2.5"),
          loss({6, 3}, {6, 3}, "margin: 5 legacy_version: true"), loss({6, 2}, {6, 2})};
}

TEST(ContrastiveLossTest, Gradients) {
  // Caffe's gradient of dissimilar pairs is that of the loss but for 1e-4 beside the distance.
  for (const KernelCase& c : cases()) check_gradients(c, 2e-4);
  check_gradients(loss({6, 3}, {6, 3}, "margin: 5 legacy_version: true"));
}

TEST(ContrastiveLossTest, KernelsAgree) {
  for (const KernelCase& c : cases()) {
    compare_with_reference("reference", c, 2e-6);
    compare_gpu_with_reference(c, 2e-6);
  }
  compare_gpu_with_reference(loss({5003, 7}, {5003, 7}, "margin: 4"), 2e-6);
  compare_gpu_with_reference(loss({7, 503}, {7, 503}, "margin: 40"), 2e-6);
}

TEST(ContrastiveLossTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto run = [&](const std::string& param, const Array& similar) {
      KernelHarness harness(
          {{"type: 'ContrastiveLoss' contrastive_loss_param { margin: 6 " + param + " }"}, {{2, 2}, {2, 2}, {2}}},
          {.backend = backend, .dtype = DType::kF32});
      harness.forward({{3, 0, 1, 1}, {0, 4, 1, 1}, similar});  // distances 5 and 0
      harness.backward({{2}});
      return Arrays{harness.tops()[0], harness.bottom_diffs()[0], harness.bottom_diffs()[1]};
    };
    const Arrays alike = run("", {1, -2});
    expect_near(alike[0], {25.0 / 4}, 1e-6, backend);
    expect_near(alike[1], {3, -4, 0, 0}, 1e-6, backend);
    expect_near(alike[2], {-3, 4, 0, 0}, 1e-6, backend);
    const Arrays apart = run("", {0, 0.9});  // 0.9 is cut to 0
    expect_near(apart[0], {(1.0 + 36) / 4}, 1e-6, backend);
    expect_near(apart[1], {-3 / 5.0001, 4 / 5.0001, 0, 0}, 1e-6, backend);
    const Arrays legacy = run("legacy_version: true", {0, 0});
    expect_near(legacy[0], {6.0 / 4}, 1e-6, backend);
    expect_near(legacy[1], {0, 0, 0, 0}, 1e-6, backend);
  }
}

TEST(ContrastiveLossTest, NaNStaysOne) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(loss({1, 1}, {1, 1}), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{NAN}, {1}, {0}});
    EXPECT_TRUE(std::isnan(harness.tops()[0][0])) << backend;
  }
}

TEST(ContrastiveLossTest, Errors) {
  expect_config_error(loss({2, 3}, {3, 2}), "as many samples", "bottom");
  expect_config_error({{"type: 'ContrastiveLoss'"}, {{2, 3}, {2, 3}, {3}}}, "there are 2 pairs", "bottom");
  expect_config_error(loss({2, 3}, {2, 3}, "margin: nan"), "margin is nan", "contrastive_loss_param.margin");
  const KernelHarness harness(loss({2, 3}, {2, 3}), {});
  EXPECT_TRUE(harness.wants_bottom(1));
  EXPECT_FALSE(harness.wants_bottom(2));
}

TEST(ContrastiveLossTest, ASimilarityThatIsNoNumberEndsThePass) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelHarness harness(loss({3, 1}, {3, 1}),
                          {.backend = backend, .dtype = DType::kF32, .pass = {.first_sample = 40}});
    EXPECT_NO_THROW(harness.forward({{1, 2, 3}, {1, 2, 3}, {0, 2, -1}})) << backend;
    const Error error = error_of([&] { harness.forward({{1, 2, 3}, {1, 2, 3}, {0, std::nan(""), 1}}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
    EXPECT_EQ(error.cause(), "bottom 2 is nan for the pair of sample 41") << backend;
  }
}

}  // namespace
}  // namespace robusta::test::contrastive_loss_test
