// Convolutions of one tap that pass over inputs, few channels beside one another: oneDNN's kernel for AVX2 writes
// beyond its scratch memory there, so it is not to be offered. A process of its own, since the instructions that oneDNN
// may use are settled once.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/convolution_primitive.h"

namespace robusta::test::onednn_strided_convolution_test {
namespace {

using namespace onednn;

constexpr int64_t kBatch = 3, kOutputs = 8, kIn = 12;
constexpr size_t kGuard = 1 << 16;
constexpr unsigned char kMark = 0xA5;

float value(int64_t i) { return static_cast<float>(i * 37 % 41) / 20 - 1; }

AlignedMemory values(int64_t count) {
  AlignedMemory memory(sizeof(float) * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) memory.floats()[i] = value(i);
  return memory;
}

ConvolutionProblem strided(int64_t channels, int64_t stride) {
  ConvolutionProblem problem;
  const int64_t out = (kIn - 1) / stride + 1;
  WindowAxis axis;
  axis.in = kIn, axis.out = out, axis.stride = stride;
  problem.geometry.batch = kBatch, problem.geometry.channels = channels, problem.geometry.num_output = kOutputs;
  problem.geometry.axes = {axis, axis};
  problem.src = channels_last_desc({kBatch, channels, kIn, kIn});
  problem.dst = channels_last_desc({kBatch, kOutputs, out, out});
  return problem;
}

/// Of the weight from channel `c` to output `o`.
double gradient(const ConvolutionGeometry& g, const float* src, const float* dst, int64_t o, int64_t c) {
  const int64_t out = g.axes[0].out, stride = g.axes[0].stride;
  double sum = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int64_t y = 0; y < out; ++y) {
      for (int64_t x = 0; x < out; ++x) {
        const double in = src[((n * kIn + y * stride) * kIn + x * stride) * g.channels + c];
        sum += in * dst[((n * out + y) * out + x) * kOutputs + o];
      }
    }
  }
  return sum;
}

void expect_right_gradients(const ConvolutionProblem& problem, ConvolutionPass& pass) {
  const ConvolutionGeometry& g = problem.geometry;
  const AlignedMemory src = values(kBatch * g.channels * kIn * kIn);
  const AlignedMemory dst = values(kBatch * kOutputs * g.axes[0].out * g.axes[0].out);
  const AlignedMemory weights = values(kOutputs * g.channels), scratch(pass.scratch_bytes() + kGuard);
  auto* const guard = static_cast<unsigned char*>(scratch.data()) + pass.scratch_bytes();
  std::fill(guard, guard + kGuard, kMark);
  ConvolutionData data;
  data.src = src.data(), data.weights = weights.data(), data.dst = dst.data();
  pass.run(data, scratch.data());
  EXPECT_EQ(std::count(guard, guard + kGuard, kMark), kGuard) << pass.name() << " wrote beyond its scratch memory";
  for (int64_t o = 0; o < kOutputs; ++o) {
    for (int64_t c = 0; c < g.channels; ++c) {
      ASSERT_NEAR(weights.floats()[o * g.channels + c], gradient(g, src.floats(), dst.floats(), o, c), 1e-3)
          << pass.name() << ", " << g.channels << " channels, stride " << g.axes[0].stride;
    }
  }
}

TEST(OnednnStridedConvolution, StaysWithinItsScratchMemory) {
  if (dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2) != dnnl::status::success) GTEST_SKIP() << "oneDNN is in use already";
  for (int64_t channels = 1; channels <= 9; ++channels) {
    for (const int64_t stride : {1, 2, 3}) {
      const ConvolutionProblem problem = strided(channels, stride);
      ConvolutionPasses passes;
      add_primitive_passes(Direction::kBackwardWeights, problem, dnnl::algorithm::convolution_direct, passes);
      for (const auto& pass : passes) expect_right_gradients(problem, *pass);
    }
  }
}

}  // namespace
}  // namespace robusta::test::onednn_strided_convolution_test
