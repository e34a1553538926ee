// Blocks of channels for vector units, channels last for matrix units and where blocks would be half empty.

#include "layers/types/convolution/convolution_formats.h"

#include "base/simd.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/onednn/layout.h"
#include "layers/types/convolution/convolution_passes.h"

namespace robusta {
namespace {

using namespace onednn;

/// As oneDNN's kernels for vectors want them: 8 channels for AVX2, 16 for AVX-512.
int block_of_channels() { return vector_lanes() == 8 ? 8 : 16; }

/// Blocks of 16 channels are wasted on few odd ones (LeNet's 20 and 50): channels last then has the faster kernels,
/// half of the arithmetic being padding otherwise.
bool wants_channels_last(const ConvolutionGeometry& geometry) {
  const int64_t block = block_of_channels();
  auto padded = [&](int64_t channels) { return (channels + block - 1) / block * block; };
  if (prefers_blocks(geometry)) return false;
  constexpr int64_t kPlainInput = 4;  // so few are read from plain images
  const int64_t in = geometry.channels <= kPlainInput ? geometry.channels : padded(geometry.channels);
  return geometry.group == 1 && 2 * in * padded(geometry.num_output) >= 3 * geometry.channels * geometry.num_output;
}

/// What matrix units read: a pixel's channels beside one another. All kernels of 16 bits take this format.
std::vector<ConvolutionProblem> in_channels_last(ConvolutionProblem problem, const Dims& src, const Dims& dst) {
  problem.src = channels_last_desc(src, problem.type);
  problem.dst = channels_last_desc(dst, problem.type);
  return {problem};
}

/// The formats to try, the best first: what oneDNN would choose, or others that it has all directions for.
std::vector<ConvolutionProblem> with_formats(const KernelRequest& request, const ConvolutionProblem& problem) {
  const Dims src = dims_of(request.bottoms[0].shape), dst = dims_of(request.tops[0].shape);
  if (problem.type != DType::kF32) return in_channels_last(problem, src, dst);
  std::vector<ConvolutionProblem> problems(3, problem);
  problems[0].src = any_desc(src);
  problems[0].dst = any_desc(dst);
  problems[1].src = channels_last_desc(src);
  problems[1].dst = channels_last_desc(dst);
  // oneDNN would read few channels from a plain image, but has no gradient in that format.
  problems[2].src = blocked_desc(src, block_of_channels());
  problems[2].dst = blocked_desc(dst, block_of_channels());
  if (wants_channels_last(problem.geometry)) std::swap(problems[0], problems[1]);
  std::erase_if(problems, [](ConvolutionProblem& p) { return !choose_formats(p); });
  return problems;
}

/// False when oneDNN lacks a direction that the request asks for.
bool choose_passes(const KernelRequest& request, FormattedConvolution& passes) {
  ConvolutionProblem gradients = passes.problem;
  gradients.relu = gradients.moments_follow = false;
  gradients.bias = request.backward && request.param_grads.size() > 1 && request.param_grads[1];
  if (request.backward && (request.param_grads[0] || gradients.bias)) {
    // Where the data wants its gradient, too, both passes have to apply the mask, or neither does.
    ConvolutionProblem filters = gradients;
    filters.relu = passes.problem.relu && !request.bottom_grads[0];
    passes.weights = choose_pass(Direction::kBackwardWeights, filters, request.tuner);
    if (!passes.weights) return false;
  }
  if (request.backward && request.bottom_grads[0]) {
    passes.data = choose_pass(Direction::kBackwardData, gradients, request.tuner);
    if (!passes.data) return false;
  }
  passes.forward = choose_pass(Direction::kForward, passes.problem, request.tuner);
  return passes.forward != nullptr;
}

}  // namespace

std::optional<FormattedConvolution> in_best_formats(const KernelRequest& request, const ConvolutionProblem& problem) {
  for (const ConvolutionProblem& formatted : with_formats(request, problem)) {
    FormattedConvolution convolution;
    convolution.problem = formatted;
    if (choose_passes(request, convolution)) return convolution;
  }
  return std::nullopt;
}

}  // namespace robusta
