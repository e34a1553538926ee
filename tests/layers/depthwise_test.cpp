// Depthwise convolutions of bf16 against sums in double: windows of all kinds, in all directions.

#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <vector>

#include "layers/backends/depthwise/depthwise_pass.h"
#include "support/amx_cases.h"
#include "support/convolution_sums.h"

namespace robusta::test::depthwise_test {
namespace {

using onednn::Direction;

std::vector<ConvolutionGeometry> geometries() {
  const WindowAxis three{.in = 9, .kernel = 3, .pad = 1}, strided{.in = 9, .kernel = 3, .stride = 2, .pad = 1};
  const WindowAxis even{.in = 8, .kernel = 3, .stride = 2, .pad = 1}, five{.in = 7, .kernel = 5, .pad = 2};
  const WindowAxis wide{.in = 11, .kernel = 3, .pad = 2, .dilation = 2}, far{.in = 13, .kernel = 2, .stride = 3};
  const WindowAxis one{.in = 4, .kernel = 1}, seven{.in = 9, .kernel = 7, .pad = 3};
  std::vector<ConvolutionGeometry> all;
  for (const auto& [y, x] : {std::pair(three, three),
                             {strided, strided},
                             {even, three},
                             {five, five},
                             {wide, far},
                             {one, three},
                             {far, one},
                             {one, one},
                             {seven, seven}}) {
    all.push_back(in_groups(image_geometry(64, y, x, 64), 64));
  }
  return all;
}

void check(const ConvolutionGeometry& geometry, Direction direction, int threads, bool relu) {
  onednn::ConvolutionProblem problem = half_problem(geometry);
  problem.relu = relu;
  problem.slope = 0.25f;
  SCOPED_TRACE(problem.key(direction));
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  onednn::ConvolutionPasses passes;
  depthwise::add_passes(direction, problem, passes);
  ASSERT_EQ(passes.size(), 1u);
  ConvolutionSums sums(geometry);
  std::vector<char> scratch(passes[0]->scratch_bytes(), 0x7f);
  passes[0]->run(sums.data(), scratch.data());
  omp_set_num_threads(before);
  sums.expect(direction, relu ? problem.slope : 1.0);
}

TEST(Depthwise, AllDirections) {
  for (const ConvolutionGeometry& geometry : geometries()) {
    for (const int threads : {1, 3}) {
      check(geometry, Direction::kForward, threads, false);
      check(geometry, Direction::kForward, threads, true);
      check(geometry, Direction::kBackwardData, threads, false);
      check(geometry, Direction::kBackwardWeights, threads, false);
    }
  }
}

void check_sums(const ConvolutionGeometry& geometry, int threads) {
  onednn::ConvolutionProblem problem = half_problem(geometry);
  problem.moments_follow = true;
  SCOPED_TRACE(problem.key(Direction::kForward));
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  onednn::ConvolutionPasses passes;
  depthwise::add_passes(Direction::kForward, problem, passes);
  ASSERT_TRUE(passes[0]->sums_results());
  ConvolutionSums convolution(geometry);
  std::vector<char> scratch(passes[0]->scratch_bytes(), 0x7f);
  std::vector<float> sums(2 * static_cast<size_t>(geometry.num_output));
  onednn::ConvolutionData data = convolution.data();
  data.sums = sums.data();
  for (int pass = 0; pass < 2; ++pass) passes[0]->run(data, scratch.data());
  omp_set_num_threads(before);
  convolution.expect(Direction::kForward);
  expect_result_sums(convolution.results(), sums);
}

TEST(Depthwise, SumsItsResults) {
  std::vector<ConvolutionGeometry> all = geometries();
  // More rows than are summed in f32 at a time.
  const WindowAxis high{.in = 300, .kernel = 3, .pad = 1}, narrow{.in = 9, .kernel = 1};
  all.push_back(in_groups(image_geometry(32, high, narrow, 32), 32));
  for (const ConvolutionGeometry& geometry : all) {
    for (const int threads : {1, 3, 32}) check_sums(geometry, threads);
  }
}

TEST(Depthwise, Declines) {
  const auto count = [](const ConvolutionGeometry& geometry) {
    onednn::ConvolutionPasses passes;
    depthwise::add_passes(Direction::kForward, half_problem(geometry), passes);
    return passes.size();
  };
  const WindowAxis three{.in = 9, .kernel = 3, .pad = 1}, eight{.in = 9, .kernel = 8};
  EXPECT_EQ(count(image_geometry(32, three, three, 32)), 0u);
  EXPECT_EQ(count(in_groups(image_geometry(32, three, three, 64), 32)), 0u);
  EXPECT_EQ(count(in_groups(image_geometry(48, three, three, 48), 48)), 0u);
  EXPECT_EQ(count(in_groups(image_geometry(32, eight, eight, 32), 32)), 0u);
}

}  // namespace
}  // namespace robusta::test::depthwise_test
