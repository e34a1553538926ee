#include <gtest/gtest.h>

#include "support/kernel_checks.h"

namespace robusta::test::inner_product_test {
namespace {

KernelCase inner_product(const std::string& fields, std::vector<Shape> bottoms) {
  return {{"type: 'InnerProduct' inner_product_param { " + fields + " }"}, bottoms};
}

const std::vector<KernelCase> kCases = {
    inner_product("num_output: 3", {{4, 5}}),
    inner_product("num_output: 3", {{4, 2, 3, 2}}),
    inner_product("num_output: 3 bias_term: false", {{4, 5}}),
    inner_product("num_output: 3 transpose: true", {{4, 5}}),
    inner_product("num_output: 3 transpose: true bias_term: false axis: 2", {{2, 3, 4, 2}}),
    inner_product("num_output: 3 axis: 0", {{4, 5}}),
    inner_product("num_output: 3 axis: -1", {{2, 3, 4}}),
    inner_product("num_output: 1", {{1, 1}}),
    inner_product("num_output: 37", {{19, 53}}),
};

TEST(InnerProductTest, Gradients) {
  for (const KernelCase& c : kCases) check_gradients(c);
}

TEST(InnerProductTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c);
}

TEST(InnerProductTest, Native) {
  for (const KernelCase& c : kCases) compare_with_reference("native", c);
}

TEST(InnerProductTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c);
}

TEST(InnerProductTest, RefusesBadFields) {
  expect_config_error(inner_product("axis: 1", {{4, 5}}), "no num_output", "inner_product_param.num_output");
  expect_config_error(inner_product("num_output: 0", {{4, 5}}), "num_output is 0", "inner_product_param.num_output");
  expect_config_error(inner_product("num_output: 2 axis: 2", {{4, 5}}), "axis 2", "inner_product_param.axis");
  expect_config_error(inner_product("num_output: 2 bias_filler { type: 'constnt' }", {{4, 5}}), "\"constant\"",
                      "inner_product_param.bias_filler.type");
}

TEST(InnerProductTest, RefusesAnotherSizeLater) {
  const auto layer = make_layer(parse_layer("type: 'InnerProduct' inner_product_param { num_output: 3 }"));
  EXPECT_EQ(layer->infer_tops({Shape{2, 4, 5}})[0], (Shape{2, 3}));
  EXPECT_EQ(layer->infer_tops({Shape{7, 20}})[0], (Shape{7, 3}));
  EXPECT_THROW(layer->infer_tops({Shape{2, 4, 6}}), Error);
  EXPECT_EQ(layer->params()[0].shape, (Shape{3, 20}));
}

}  // namespace
}  // namespace robusta::test::inner_product_test
