#include <gtest/gtest.h>

#include "support/maps.h"

namespace robusta::test::relu6_test {
namespace {

TEST(Relu6Test, NoGradientAtTheEdges) {
  expect_map("type: 'ReLU6'", {-1, 0, 1, 6, 7}, {0, 0, 1, 6, 6}, {0, 0, 1, 0, 0});
}

}  // namespace
}  // namespace robusta::test::relu6_test
