// Convolutions by matrix units, forward and the gradient of images, against sums in double: windows of all kinds, cut
// for few threads and many. Where there are no such units, their plain loops are tested.

#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "layers/backends/amx/products_pass.h"
#include "ops/amx/tile_products.h"
#include "support/convolution_sums.h"

namespace robusta::test::amx_products_test {
namespace {

using onednn::ConvolutionProblem;
using onednn::Direction;

double number(const std::vector<uint16_t>& from, int64_t at) {
  return static_cast<double>(from_bf16(from[static_cast<size_t>(at)]));
}

struct Case {
  explicit Case(const ConvolutionGeometry& geometry)
      : problem(half_problem(geometry)),
        images(half_numbers(geometry.batch * geometry.channels * elements_in(geometry.axes), 0.2f)),
        results(half_numbers(geometry.batch * geometry.num_output * elements_out(geometry.axes), 0.8f)),
        weights(static_cast<size_t>(geometry.weight_shape().count())),
        bias(static_cast<size_t>(geometry.num_output)) {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(0.5f + 1.3f * static_cast<float>(i));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = std::sin(static_cast<float>(i));
  }

  /// What is written to the images or the results, which hold something before.
  std::vector<uint16_t> run(Direction direction, int threads, int times = 1, std::vector<float>* sums = nullptr) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    problem.moments_follow = sums != nullptr;
    onednn::ConvolutionPasses passes;
    amx::add_products_passes(direction, problem, passes);
    omp_set_num_threads(before);
    EXPECT_EQ(passes.size(), 1u);
    if (passes.empty()) return {};
    if (sums) {
      sums->resize(2 * static_cast<size_t>(problem.geometry.num_output));
      EXPECT_TRUE(passes[0]->sums_results());
    }
    std::vector<char> scratch(passes[0]->scratch_bytes(), 0x7f);
    std::vector<uint16_t> x = images, y = results;
    onednn::ConvolutionData data{x.data(), weights.data(), bias.data(), y.data()};
    data.addend = results.data();
    data.sums = sums ? sums->data() : nullptr;
    for (int i = 0; i < times; ++i) passes[0]->run(data, scratch.data());
    return direction == Direction::kForward ? y : x;
  }

  double weight(int64_t at) const { return static_cast<double>(from_bf16(to_bf16(weights[static_cast<size_t>(at)]))); }

  ConvolutionProblem problem;
  std::vector<uint16_t> images, results;
  std::vector<float> weights, bias;
};

void expect_halves(const std::vector<uint16_t>& what, const std::vector<double>& expected) {
  std::vector<double> values;
  for (const uint16_t number : what) values.push_back(static_cast<double>(from_bf16(number)));
  expect_near(values, expected, 0x1p-8);
}

void check_forward(Case& c, int threads) {
  const ConvolutionProblem& problem = c.problem;
  std::vector<double> expected(c.results.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<double>(c.bias[i % c.bias.size()]);
    if (problem.adds) expected[i] += number(c.results, static_cast<int64_t>(i));
  }
  for_products(problem.geometry, [&](int64_t image, int64_t result, int64_t weight) {
    expected[static_cast<size_t>(result)] += number(c.images, image) * c.weight(weight);
  });
  if (problem.relu) {
    for (double& value : expected) value = value > 0 ? value : static_cast<double>(problem.slope) * value;
  }
  expect_halves(c.run(Direction::kForward, threads, problem.inference ? 2 : 1), expected);
}

void check_backward(Case& c, int threads) {
  std::vector<double> expected(c.images.size());
  for_products(c.problem.geometry, [&](int64_t image, int64_t result, int64_t weight) {
    expected[static_cast<size_t>(image)] += number(c.results, result) * c.weight(weight);
  });
  expect_halves(c.run(Direction::kBackwardData, threads), expected);
}

std::vector<ConvolutionGeometry> geometries() {
  const WindowAxis one{.in = 7, .kernel = 1}, three{.in = 9, .kernel = 3, .pad = 1};
  const WindowAxis second{.in = 9, .kernel = 1, .stride = 2}, third{.in = 12, .kernel = 1, .stride = 3};
  const WindowAxis dot{.in = 1, .kernel = 1};
  return {image_geometry(40, one, one, 36), image_geometry(64, one, one, 16),
          image_geometry(16, one, {.in = 50, .kernel = 1}, 33), image_geometry(40, second, third, 20),
          image_geometry(32, third, one, 70), image_geometry(36, three, three, 20),
          image_geometry(512, {.in = 3, .kernel = 3, .pad = 1}, {.in = 4, .kernel = 3, .pad = 1}, 32),
          image_geometry(3, {.in = 8, .kernel = 3}, {.in = 7, .kernel = 5, .pad = 1}, 20),
          image_geometry(8, {.in = 6, .kernel = 5, .pad = 4}, {.in = 5, .kernel = 3, .pad = 2}, 8),
          image_geometry(24, {.in = 9, .kernel = 3, .pad = 2, .dilation = 2}, three, 40),
          image_geometry(24, three, {.in = 9, .kernel = 3, .more_pad_behind = 2}, 40),
          image_geometry(24, {.in = 7, .kernel = 5, .pad = 2}, one, 24),
          // Of images that are smaller than a tile.
          image_geometry(64, dot, dot, 32), image_geometry(32, dot, {.in = 3, .kernel = 1}, 32),
          image_geometry(32, {.in = 3, .kernel = 1}, {.in = 4, .kernel = 1}, 64),
          image_geometry(16, second, second, 32), in_groups(image_geometry(40, three, three, 72), 2),
          in_groups(image_geometry(96, one, one, 48), 3), in_groups(image_geometry(64, second, second, 32), 2)};
}

class AmxProducts : public testing::Test {
 protected:
  const amx::PretendThereAreUnits pretend_;
};

TEST_F(AmxProducts, Forward) {
  for (const ConvolutionGeometry& geometry : geometries()) {
    SCOPED_TRACE(half_problem(geometry).key(Direction::kForward));
    Case some(geometry);
    for (const int threads : {1, 2, 5}) check_forward(some, threads);
  }
}

TEST_F(AmxProducts, SumsOfResults) {
  for (const ConvolutionGeometry& geometry : geometries()) {
    SCOPED_TRACE(half_problem(geometry).key(Direction::kForward));
    for (const int threads : {1, 5}) {
      Case some(geometry);
      std::vector<float> sums;
      const std::vector<uint16_t> results = some.run(Direction::kForward, threads, 2, &sums);
      expect_result_sums(results, sums);
      EXPECT_EQ(results, some.run(Direction::kForward, threads));
    }
  }
}

TEST_F(AmxProducts, GradientOfImages) {
  for (const ConvolutionGeometry& geometry : geometries()) {
    SCOPED_TRACE(half_problem(geometry).key(Direction::kBackwardData));
    Case some(geometry);
    for (const int threads : {1, 2, 5}) check_backward(some, threads);
  }
}

TEST_F(AmxProducts, SumAndRelu) {
  for (const bool inference : {false, true}) {
    Case some(geometries()[5]);
    some.problem.inference = inference;
    some.problem.adds = some.problem.relu = true;
    some.problem.slope = 0.25f;
    check_forward(some, 2);
  }
}

/// More filters than second-level caches hold with the pixels.
TEST_F(AmxProducts, ManyFilters) {
  Case some(image_geometry(300, {.in = 3, .kernel = 3, .pad = 1}, {.in = 3, .kernel = 3, .pad = 1}, 320));
  check_forward(some, 2);
  check_backward(some, 2);
}

/// A pixel that no result sees.
TEST_F(AmxProducts, WhatIsNotSeenDoesNotMatter) {
  const WindowAxis second{.in = 9, .kernel = 1, .stride = 2};
  Case some(image_geometry(16, second, second, 32));
  const std::vector<uint16_t> before = some.run(Direction::kForward, 2);
  for (size_t c = 0; c < 16; ++c) some.images[16 + c] = to_bf16(std::numeric_limits<float>::infinity());
  EXPECT_EQ(some.run(Direction::kForward, 2), before);
}

TEST_F(AmxProducts, Declines) {
  const auto count = [](Direction direction, const ConvolutionGeometry& geometry) {
    onednn::ConvolutionPasses passes;
    amx::add_products_passes(direction, half_problem(geometry), passes);
    return passes.size();
  };
  const WindowAxis one{.in = 7, .kernel = 1}, strided{.in = 9, .kernel = 3, .stride = 2, .pad = 1};
  const WindowAxis padded{.in = 7, .kernel = 1, .pad = 1}, far{.in = 7, .kernel = 3, .pad = 3};
  const WindowAxis second{.in = 7, .kernel = 1, .stride = 2}, three{.in = 7, .kernel = 3};
  for (const Direction direction : {Direction::kForward, Direction::kBackwardData}) {
    EXPECT_EQ(count(direction, image_geometry(16, strided, strided, 16)), 0u);
    EXPECT_EQ(count(direction, image_geometry(16, padded, one, 16)), 0u);
    EXPECT_EQ(count(direction, image_geometry(16, far, far, 16)), 0u);
  }
  EXPECT_EQ(count(Direction::kForward, in_groups(image_geometry(24, three, three, 48), 3)), 0u);
  EXPECT_EQ(count(Direction::kForward, image_geometry(16, second, three, 16)), 1u);
  EXPECT_EQ(count(Direction::kBackwardData, image_geometry(16, second, three, 16)), 0u);
  EXPECT_EQ(count(Direction::kBackwardWeights, image_geometry(16, one, one, 16)), 0u);
}

}  // namespace
}  // namespace robusta::test::amx_products_test
