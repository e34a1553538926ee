/// What the tests of layers that pool regions have in common.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test {

/// A layer over features, and regions of these numbers.
inline KernelCase regions_case(const std::string& layer, const Shape& features, const Array& regions) {
  KernelCase what{{layer}, {features, {static_cast<int64_t>(regions.size()) / 5, 5}}};
  what.bottom_values = [regions](int bottom, const Shape&) { return bottom == 1 ? regions : Array{}; };
  return what;
}

/// Regions within an image of this size: small and large ones, across its edges, outside of it, upside down.
inline Array some_regions(int64_t items, double width, double height) {
  const double w = width, h = height, last = static_cast<double>(items - 1);
  return {0,    0,        0,       w - 1,   h - 1,    //
          last, 0.3 * w,  0.2 * h, 0.8 * w, 0.7 * h,  //
          0,    0.5 * w,  0.5 * h, 0.5 * w, 0.5 * h,  //
          last, -0.4 * w, 0.6 * h, 0.4 * w, 1.7 * h,  //
          0,    2 * w,    2 * h,   3 * w,   3 * h,    //
          last, 0.9 * w,  0.6 * h, 0.1 * w, 0.4 * h,  //
          0,    0.3 * w,  0.2 * h, 0.8 * w, 0.7 * h};
}

/// Expects errors for an item and for coordinates that cannot be, from each backend; what is wrong later is not named.
/// `layer` takes features of 4 channels and cuts regions into 2 x 2 bins.
inline void check_region_errors(const std::string& layer) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const char* backend : {"reference", "gpu"}) {
    const auto error_for = [&](const Array& regions) {
      KernelHarness harness(regions_case(layer, {2, 4, 3, 3}, regions), {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward({Array(72, 1.0), regions}); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.fix(), "correct what makes bottom 1")) << backend;
      EXPECT_EQ(harness.damage(), "");
      return error.cause();
    };
    for (const double item : {2.0, -1.0, 1e30, nan}) {
      const std::string cause = error_for({1, 0, 0, 2, 2, item, 0, 0, 2, 2, 0, nan, 0, 2, 2});
      EXPECT_TRUE(contains(cause, "region 1 lies in item ")) << cause;
      EXPECT_TRUE(contains(cause, "out of range 0..1")) << cause;
    }
    EXPECT_EQ(error_for({0, 0, 0, 2, inf}), "region 0 has y2 inf") << backend;
    EXPECT_EQ(error_for({0, 0, 0, 2, 2, 1, -inf, 0, 0, 0}), "region 1 has x1 -inf") << backend;
  }
  // What is far, but a number, is a region outside of the features, or one whose last bin alone holds any.
  for (const char* backend : {"reference", "gpu"}) {
    const Array far{0, 1e30, 1e30, 3e38, 3e38, 1, -3e38, -3e38, 3e38, 3e38};
    KernelHarness harness(regions_case(layer, {2, 4, 3, 3}, far), {.backend = backend, .dtype = DType::kF32});
    harness.forward({Array(72, 1.0), far});
    const Array tops = harness.tops()[0];
    for (size_t i = 0; i < tops.size(); ++i) {
      EXPECT_EQ(tops[i], i >= tops.size() / 2 && i % 4 == 3 ? 1 : 0) << backend << " " << i;
    }
  }
}

/// Expects errors for shapes that cannot be.
inline void check_region_shapes(const std::string& layer) {
  expect_config_error({{layer}, {{2, 4, 3}, {1, 5}}}, "bottom 0 has shape 2 4 3", "bottom");
  expect_config_error({{layer}, {{2, 4, 3, 3}, {5}}}, "bottom 1 has shape 5", "bottom");
  expect_config_error({{layer}, {{2, 4, 3, 3}, {3, 4}}}, "bottom 1 has shape 3 4", "bottom");
  expect_config_error({{layer}, {{2, 4, 3, 3}, {0, 5}}}, "bottom 1 has no elements", "");
  expect_config_error({{layer}, {{1, 4, 65536, 32768}, {1, 5}}}, "planes of 2^31 pixels", "bottom");
  EXPECT_EQ(KernelHarness({{layer}, {{2, 4, 3, 3}, {7, 5, 1, 1}}}, {}).top_shapes()[0][0], 7);
}

}  // namespace robusta::test
