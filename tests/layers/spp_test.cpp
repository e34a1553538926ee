// SPP.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::spp_test {
namespace {

KernelCase spp(const std::string& param, const Shape& bottom) {
  return {{"type: 'SPP' name: 'spp' spp_param { " + param + " }"}, {bottom}};
}

std::vector<KernelCase> pyramids() {
  std::vector<KernelCase> cases;
  for (const std::string method : {" pool: MAX", " pool: AVE"}) {
    cases.push_back(spp("pyramid_height: 1" + method, {2, 3, 7, 6}));
    cases.push_back(spp("pyramid_height: 2" + method, {2, 3, 6, 6}));
    cases.push_back(spp("pyramid_height: 3" + method, {2, 3, 8, 9}));
    cases.push_back(spp("pyramid_height: 3" + method, {1, 8, 7, 11}));
  }
  return cases;
}

/// Windows side by side that fit, and pixels that are not negative.
KernelCase stochastic_pyramid(caffe::Phase phase) {
  KernelCase what = spp("pyramid_height: 3 pool: STOCHASTIC", {2, 3, 8, 4});
  what.phase = phase;
  what.bottom_values = [](int, const Shape& shape) {
    Array values;
    for (int64_t i = 0; i < shape.count(); ++i) values.push_back(static_cast<float>(1 + std::sin(0.7 * i)));
    return values;
  };
  return what;
}

TEST(SppTest, Shapes) {
  EXPECT_EQ(KernelHarness(spp("pyramid_height: 1", {2, 3, 7, 6}), {}).top_shapes()[0], (Shape{2, 3, 1, 1}));
  EXPECT_EQ(KernelHarness(spp("pyramid_height: 2", {2, 3, 7, 6}), {}).top_shapes()[0], (Shape{2, 15}));
}

TEST(SppTest, LevelsFollowEachOther) {
  KernelHarness harness(spp("pyramid_height: 2", {1, 2, 2, 2}), {});
  harness.forward({{1, 2, 3, 4, 8, 7, 6, 5}});
  EXPECT_EQ(harness.tops()[0], (Array{4, 8, 1, 2, 3, 4, 8, 7, 6, 5}));
}

TEST(SppTest, Gradients) {
  for (const KernelCase& c : pyramids()) check_gradients(c);
  check_gradients(stochastic_pyramid(caffe::TRAIN));
  check_gradients(stochastic_pyramid(caffe::TEST));
}

TEST(SppTest, HostKernels) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : pyramids()) compare_with_reference(backend, c);
  }
  compare_with_reference("reference", stochastic_pyramid(caffe::TRAIN));
  compare_with_reference("reference", stochastic_pyramid(caffe::TEST));
  expect_declined("native", stochastic_pyramid(caffe::TRAIN), "spp level 0: draws no pixels");
}

TEST(SppTest, Gpu) {
  for (const KernelCase& c : pyramids()) compare_gpu_with_reference(c);
  compare_gpu_with_reference(stochastic_pyramid(caffe::TRAIN));
  compare_gpu_with_reference(stochastic_pyramid(caffe::TEST));
}

TEST(SppTest, Errors) {
  const char *height = "spp_param.pyramid_height", *pool = "spp_param.pool";
  expect_config_error(spp("", {1, 2, 4, 4}), "no pyramid_height", height);
  expect_config_error(spp("pyramid_height: 0", {1, 2, 4, 4}), "pyramid_height is 0", height);
  expect_config_error(spp("pyramid_height: 21", {1, 2, 4, 4}), "pyramid_height is 21", height);
  expect_config_error(spp("pyramid_height: 3", {1, 2, 4, 3}), "4 bins, which a width of 3", height);
  expect_config_error(spp("pyramid_height: 2 pool: STOCHASTIC", {1, 2, 4, 5}), "level 1 of the pyramid needs", pool);
  expect_config_error(spp("pyramid_height: 1", {1, 2, 4}), "batch, channels, height and width");
}

}  // namespace
}  // namespace robusta::test::spp_test
