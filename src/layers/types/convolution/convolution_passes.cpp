// Which algorithms are tried for a convolution on the CPU, and in which order; the tuner times them on memory of their
// own.

#include "layers/types/convolution/convolution_passes.h"

#include <algorithm>

#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/convolution_groups.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/winograd/winograd_pass.h"

namespace robusta {

using onednn::ConvolutionPasses;
using onednn::ConvolutionProblem;
using onednn::Direction;

namespace {

bool is_3x3_stride_1(const ConvolutionGeometry& geometry) {
  return geometry.axes.size() == 2 &&
         std::all_of(geometry.axes.begin(), geometry.axes.end(),
                     [](const WindowAxis& axis) { return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1; });
}

/// Measured over the 3x3 and 5x5 layers of LeNet, AlexNet, GoogLeNet, ResNet-50 and VGG-16 (Zen 5, 2 threads): Winograd
/// took 0.35 to 0.9 of the time of the direct kernel, in each direction, down to 7x7 images of 16 samples. Below these
/// sizes the transforms cost more than they save, and their rounding (about 1e-5) buys nothing.
bool winograd_pays(const ConvolutionGeometry& geometry) {
  constexpr int64_t kChannels = 64, kChannels5x5 = 16, kPixels = 512;
  const int64_t least = geometry.axes.empty() || geometry.axes[0].kernel == 3 ? kChannels : kChannels5x5;
  return geometry.channels / geometry.group >= least && geometry.num_output / geometry.group >= least &&
         geometry.batch * elements_out(geometry.axes) >= kPixels;
}

/// Runs a pass on memory of its own, for timing.
class Trial {
 public:
  explicit Trial(const ConvolutionProblem& problem)
      : src_(filled(problem.src.get_size())),
        dst_(filled(problem.dst.get_size())),
        weights_(filled(static_cast<size_t>(problem.geometry.weight_shape().count()) * sizeof(float))),
        bias_(filled(static_cast<size_t>(problem.geometry.num_output) * sizeof(float))) {}

  void run(onednn::ConvolutionPass& pass) {
    if (scratch_bytes_ < pass.scratch_bytes()) {
      scratch_bytes_ = pass.scratch_bytes();
      scratch_ = onednn::AlignedMemory(scratch_bytes_);
    }
    onednn::ConvolutionData data{src_.data(), weights_.data(), bias_.data(), dst_.data()};
    data.version = 1;
    pass.run(data, scratch_.data());
  }

 private:
  static onednn::AlignedMemory filled(size_t bytes) {
    onednn::AlignedMemory memory(bytes);
    // Ones everywhere: denormals and NaN would be slower than real values.
    std::fill_n(memory.floats(), bytes / sizeof(float), 1.0f);
    return memory;
  }
  onednn::AlignedMemory src_, dst_, weights_, bias_, scratch_;
  size_t scratch_bytes_ = 0;
};

}  // namespace

bool prefers_blocks(const ConvolutionGeometry& geometry) {
  constexpr int64_t kImageChannels = 4;
  if (geometry.channels <= kImageChannels) return winograd::has_wide_vectors();
  return winograd::can_run(geometry) && winograd_pays(geometry);
}

ConvolutionPasses convolution_passes(Direction direction, const ConvolutionProblem& problem) {
  ConvolutionPasses passes;
  if (problem.type != DType::kF32) {
    onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_direct, passes);
    return passes;
  }
  winograd::add_passes(direction, problem, passes);
  if (is_3x3_stride_1(problem.geometry)) {
    if (problem.geometry.group == 1) {
      onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_winograd, passes);
    } else {
      onednn::add_group_passes(direction, problem, passes);
    }
  }
  const auto others = static_cast<std::ptrdiff_t>(passes.size());
  onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_direct, passes);
  // The first is taken where nothing is timed: the direct kernel, unless Winograd's is known to pay.
  if (!winograd_pays(problem.geometry)) std::rotate(passes.begin(), passes.begin() + others, passes.end());
  return passes;
}

std::unique_ptr<onednn::ConvolutionPass> choose_pass(Direction direction, const ConvolutionProblem& problem,
                                                     Tuner* tuner) {
  ConvolutionPasses passes = convolution_passes(direction, problem);
  if (passes.empty()) return nullptr;
  if (passes.size() == 1 || !tuner) return std::move(passes[0]);
  std::vector<std::string> names;
  for (const auto& pass : passes) names.push_back(pass->name());
  std::unique_ptr<Trial> trial;
  const int chosen = tuner->choose(problem.key(direction), names, [&](int option) {
    if (!trial) trial = std::make_unique<Trial>(problem);
    trial->run(*passes[static_cast<size_t>(option)]);
  });
  return std::move(passes[static_cast<size_t>(chosen)]);
}

}  // namespace robusta
