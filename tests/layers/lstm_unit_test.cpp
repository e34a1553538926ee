// LSTMUnit: the cells of one step.

#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_checks.h"

namespace robusta::test::lstm_unit_test {
namespace {

KernelCase lstm_unit(std::vector<Shape> bottoms) {
  KernelCase what{{"type: 'LSTMUnit'"}, std::move(bottoms)};
  what.tops = 2;
  what.bottom_values = [](int bottom, const Shape& shape) {
    Array cont;
    for (int64_t i = 0; bottom == 2 && i < shape.count(); ++i) cont.push_back(i % 3 == 1 ? 0 : i % 3 == 0 ? 1 : 0.5);
    return cont;
  };
  return what;
}

std::vector<KernelCase> cases() {
  return {lstm_unit({{1, 3, 4}, {1, 3, 16}, {1, 3}}), lstm_unit({{1, 1, 1}, {1, 1, 4}, {1, 1}}),
          lstm_unit({{1, 70, 37}, {1, 70, 148}, {1, 70}})};
}

TEST(LstmUnitTest, Gradients) {
  for (const KernelCase& c : cases()) {
    if (c.bottoms[0].count() < 100) check_gradients(c);
  }
}

TEST(LstmUnitTest, SinglePrecision) {
  for (const KernelCase& c : cases()) compare_with_reference("reference", c);
}

TEST(LstmUnitTest, Native) {
  for (const KernelCase& c : cases()) compare_with_reference("native", c);
}

TEST(LstmUnitTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c);
}

TEST(LstmUnitTest, Numbers) {
  KernelHarness unit(lstm_unit({{1, 1, 1}, {1, 1, 4}, {1, 1}}), {});
  unit.forward({{0.8}, {0.5, -0.25, 1, 2}, {0.5}});
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double c = sigmoid(-0.25) * 0.5 * 0.8 + sigmoid(0.5) * std::tanh(2.0);
  EXPECT_NEAR(unit.tops()[0][0], c, 1e-12);
  EXPECT_NEAR(unit.tops()[1][0], sigmoid(1) * std::tanh(c), 1e-12);
}

TEST(LstmUnitTest, ContHasNoGradient) {
  const KernelHarness unit(cases()[0], {});
  EXPECT_TRUE(unit.wants_bottom(0) && unit.wants_bottom(1));
  EXPECT_FALSE(unit.wants_bottom(2));
}

TEST(LstmUnitTest, RefusesOtherShapes) {
  expect_config_error(lstm_unit({{3, 4}, {1, 3, 16}, {1, 3}}), "bottom 0", "bottom");
  expect_config_error(lstm_unit({{2, 3, 4}, {2, 3, 16}, {2, 3}}), "a state of shape 1 3 4", "bottom");
  expect_config_error(lstm_unit({{1, 3, 4}, {1, 3, 12}, {1, 3}}), "gates of shape 1 3 16", "bottom");
  expect_config_error(lstm_unit({{1, 3, 4}, {1, 3, 16}, {3, 1}}), "cont of shape 1 3", "bottom");
}

}  // namespace
}  // namespace robusta::test::lstm_unit_test
