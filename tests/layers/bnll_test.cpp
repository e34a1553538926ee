#include <gtest/gtest.h>

#include <cmath>

#include "support/maps.h"

namespace robusta::test::bnll_test {
namespace {

TEST(BnllTest, IsTheRectifierFarFromZero) {
  expect_map("type: 'BNLL'", {-1000, 0}, {0, std::log(2.0)}, {0, 0.5});
  expect_map("type: 'BNLL'", {1000}, {1000}, {1});
}

}  // namespace
}  // namespace robusta::test::bnll_test
