#include <gtest/gtest.h>

#include <cmath>

#include "support/maps.h"

namespace robusta::test::swish_test {
namespace {

TEST(SwishTest, Values) {
  const double s = 1 / (1 + std::exp(-2.0));
  expect_map("type: 'Swish' swish_param { beta: 2 }", {0, 1, -1}, {0, s, s - 1},
             {0.5, s + 2 * s * (1 - s), 1 - s - 2 * s * (1 - s)});
  expect_config_error({{"type: 'Swish' swish_param { beta: nan }"}, {{2}}}, "beta is nan", "swish_param.beta");
}

}  // namespace
}  // namespace robusta::test::swish_test
