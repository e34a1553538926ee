// Parameter.

#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::parameter_test {
namespace {

KernelCase parameter(const std::string& dims) {
  return {{"type: 'Parameter' parameter_param { shape { " + dims + " } }"}, {}};
}

const KernelCase kParameters[] = {parameter("dim: 3 dim: 4"), parameter("dim: 7"), parameter("")};

TEST(ParameterTest, TheTopIsTheParameter) {
  KernelHarness harness(kParameters[0], {});
  ASSERT_EQ(harness.param_decls().size(), 1u);
  EXPECT_EQ(harness.param_decls()[0].shape, (Shape{3, 4}));
  EXPECT_EQ(harness.param_decls()[0].filler, nullptr) << "zeros";
  EXPECT_EQ(harness.top_shapes()[0], (Shape{3, 4}));
}

TEST(ParameterTest, Gradients) {
  for (const KernelCase& c : kParameters) check_gradients(c);
}

TEST(ParameterTest, SinglePrecision) {
  for (const KernelCase& c : kParameters) compare_with_reference("reference", c);
}

TEST(ParameterTest, Gpu) {
  for (const KernelCase& c : kParameters) compare_gpu_with_reference(c);
}

TEST(ParameterTest, Errors) {
  expect_config_error({{"type: 'Parameter'"}, {}}, "no shape", "parameter_param.shape");
  expect_config_error(parameter("dim: 2 dim: 0"), "holds nothing", "parameter_param.shape");
  expect_config_error(parameter("dim: -1"), "impossible shape");
}

}  // namespace
}  // namespace robusta::test::parameter_test
