#include <gtest/gtest.h>

#include <cmath>

#include "support/maps.h"

namespace robusta::test::log_test {
namespace {

TEST(LogTest, BasesScalesAndShifts) {
  expect_map("type: 'Log'", {1, M_E}, {0, 1}, {1, 1 / M_E});
  expect_map("type: 'Log' log_param { base: 10 scale: 2 shift: 4 }", {-1.5, 48}, {0, 2},
             {2 / std::log(10.0), 0.02 / std::log(10.0)});
}

TEST(LogTest, Errors) {
  for (const char* base : {"0", "-2", "nan", "inf"}) {
    expect_config_error({{std::string("type: 'Log' log_param { base: ") + base + " }"}, {{2}}}, "base is ",
                        "log_param.base");
  }
  expect_config_error({{"type: 'Log' log_param { base: 1 }"}, {{2}}}, "base 1", "log_param.base");
  expect_config_error({{"type: 'Log' log_param { scale: nan }"}, {{2}}}, "scale is nan", "log_param.scale");
  expect_config_error({{"type: 'Log' log_param { shift: inf }"}, {{2}}}, "shift is inf", "log_param.shift");
}

}  // namespace
}  // namespace robusta::test::log_test
