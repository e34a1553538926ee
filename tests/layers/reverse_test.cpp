// Reverse.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::reverse_test {
namespace {

KernelCase reverse(const std::string& param, const Shape& bottom) {
  return {{"type: 'Reverse' reverse_param { " + param + " }"}, {bottom}};
}

const KernelCase kCases[] = {reverse("", {4, 3}), reverse("axis: 1", {2, 5, 3}), reverse("axis: -1", {2, 3, 4, 5}),
                             reverse("axis: 0 axis: 2", {3, 2, 4}), reverse("axis: 0", {7})};

TEST(ReverseTest, Values) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto of = [&](const std::string& param) {
      KernelHarness harness(reverse(param, {2, 3}), {.backend = backend, .dtype = DType::kF32});
      harness.forward({{1, 2, 3, 4, 5, 6}});
      EXPECT_EQ(harness.damage(), "");
      return harness.tops()[0];
    };
    EXPECT_EQ(of(""), (Array{4, 5, 6, 1, 2, 3})) << backend;
    EXPECT_EQ(of("axis: 1"), (Array{3, 2, 1, 6, 5, 4})) << backend;
    EXPECT_EQ(of("axis: 0 axis: -1"), (Array{6, 5, 4, 3, 2, 1})) << backend;
  }
}

TEST(ReverseTest, KernelsAgree) {
  for (const KernelCase& c : kCases) {
    check_gradients(c);
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(ReverseTest, Errors) {
  expect_config_error(reverse("axis: 2", {2, 3}), "axis", "reverse_param.axis");
  expect_config_error(reverse("axis: 1 axis: -1", {2, 3}), "axis -1 stands twice", "reverse_param.axis");
  expect_config_error(reverse("", Shape{}), "axis", "reverse_param.axis");
}

}  // namespace
}  // namespace robusta::test::reverse_test
