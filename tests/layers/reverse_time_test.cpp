// ReverseTime.

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::reverse_time_test {
namespace {

KernelCase reverse(const std::string& param, const Shape& steps, const Array& lengths) {
  KernelCase what{{"type: 'ReverseTime' reverse_time_param { " + param + " }"},
                  {steps, {static_cast<int64_t>(lengths.size())}}};
  what.bottom_values = [lengths](int bottom, const Shape&) { return bottom == 1 ? lengths : Array{}; };
  return what;
}

TEST(ReverseTimeTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto of = [&](const std::string& param) {
      KernelHarness harness(reverse(param, {3, 3}, {3, 2, 0}), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 2, 0}});
      harness.backward({{1, 2, 3, 4, 5, 6, 7, 8, 9}});
      EXPECT_EQ(harness.damage(), "");
      EXPECT_EQ(harness.tops()[0], harness.bottom_diffs()[0]);
      return harness.tops()[0];
    };
    EXPECT_EQ(of(""), (Array{7, 5, 0, 4, 2, 0, 1, 0, 0})) << backend;
    EXPECT_EQ(of("copy_remaining: true"), (Array{7, 5, 3, 4, 2, 6, 1, 8, 9})) << backend;
  }
}

TEST(ReverseTimeTest, KernelsAgree) {
  for (const char* param : {"", "copy_remaining: true"}) {
    const KernelCase c = reverse(param, {6, 4, 2, 3}, {6, 0, 1, 4});
    check_gradients(c);
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(ReverseTimeTest, BadLengths) {
  for (const char* backend : {"reference", "gpu"}) {
    for (const double length : {4.0, -1.0, 1e30}) {
      const Error error = error_of([&] {
        KernelHarness harness(reverse("", {3, 2}, {3, 2}), {.backend = backend, .dtype = DType::kF32});
        harness.forward({Array(6, 1.0), {3, length}});
      });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "of sequence 6 is out of range 0..3")) << error.cause();
    }
  }
}

TEST(ReverseTimeTest, Errors) {
  expect_config_error(reverse("", {3, 2}, {1, 2, 3}), "bottom 0 has shape 3 2", "bottom");
  expect_config_error(reverse("", {3}, {1}), "bottom 0 has shape 3", "bottom");
}

}  // namespace
}  // namespace robusta::test::reverse_time_test
