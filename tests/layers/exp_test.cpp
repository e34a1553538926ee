#include <gtest/gtest.h>

#include <cmath>

#include "support/maps.h"

namespace robusta::test::exp_test {
namespace {

TEST(ExpTest, BasesScalesAndShifts) {
  expect_map("type: 'Exp' exp_param { shift: 1 }", {0, 1}, {M_E, M_E * M_E}, {M_E, M_E * M_E});
  expect_map("type: 'Exp' exp_param { base: 2 scale: 3 shift: -1 }", {0, 1}, {0.5, 4},
             {1.5 * std::log(2.0), 12 * std::log(2.0)});
  expect_map("type: 'Exp' exp_param { base: 1 }", {0, 7}, {1, 1}, {0, 0});
}

TEST(ExpTest, Errors) {
  for (const char* base : {"0", "-2", "nan", "inf"}) {
    expect_config_error({{std::string("type: 'Exp' exp_param { base: ") + base + " }"}, {{2}}}, "base is ",
                        "exp_param.base");
  }
  expect_config_error({{"type: 'Exp' exp_param { scale: inf }"}, {{2}}}, "scale is inf", "exp_param.scale");
  expect_config_error({{"type: 'Exp' exp_param { shift: nan }"}, {{2}}}, "shift is nan", "exp_param.shift");
}

}  // namespace
}  // namespace robusta::test::exp_test
