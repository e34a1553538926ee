#include <gtest/gtest.h>

#include "support/maps.h"

namespace robusta::test::clip_test {
namespace {

TEST(ClipTest, GradientPassesAtTheEdges) {
  expect_map("type: 'Clip' clip_param { min: -0.5 max: 2 }", {-1, -0.5, 0, 2, 3}, {-0.5, -0.5, 0, 2, 2},
             {0, 1, 1, 1, 0});
  expect_map("type: 'Clip' clip_param { min: -inf max: 2 }", {-100, 2, 3}, {-100, 2, 2}, {1, 1, 0});
}

TEST(ClipTest, Errors) {
  expect_config_error({{"type: 'Clip'"}, {{2}}}, "lacks min or max", "clip_param");
  expect_config_error({{"type: 'Clip' clip_param { min: 0 }"}, {{2}}}, "lacks min or max", "clip_param");
  expect_config_error({{"type: 'Clip' clip_param { min: 1 max: 0.5 }"}, {{2}}}, "min 1 and max 0.5", "clip_param.max");
  expect_config_error({{"type: 'Clip' clip_param { min: nan max: 1 }"}, {{2}}}, "min nan", "clip_param.max");
}

}  // namespace
}  // namespace robusta::test::clip_test
