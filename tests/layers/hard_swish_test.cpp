#include <gtest/gtest.h>

#include "support/maps.h"

namespace robusta::test::hard_swish_test {
namespace {

TEST(HardSwishTest, Values) {
  expect_map("type: 'HardSwish'", {-4, -3, -1.5, 0, 1, 3, 4}, {0, 0, -0.375, 0, 4.0 / 6, 3, 4},
             {0, 0, 0, 0.5, 5.0 / 6, 1, 1});
}

}  // namespace
}  // namespace robusta::test::hard_swish_test
