// Which algorithms are tried for a convolution on the CPU, and in which order.

#include "layers/types/convolution/convolution_passes.h"

#include <algorithm>

#include "base/simd.h"
#include "layers/backends/amx/products_pass.h"
#include "layers/backends/amx/weights_pass.h"
#include "layers/backends/amx/window_weights.h"
#include "layers/backends/depthwise/depthwise_pass.h"
#include "layers/backends/few_channels/weights_pass.h"
#include "layers/backends/onednn/convolution_groups.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/packed_rows/images_pass.h"
#include "layers/backends/pointwise/forward_pass.h"
#include "layers/backends/pointwise/weights_pass.h"
#include "layers/backends/winograd/winograd_pass.h"
#include "layers/kit/trial_memory.h"
#include "layers/types/convolution/convolution_trial.h"

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

std::vector<std::string> names_of(const ConvolutionPasses& passes) {
  std::vector<std::string> names;
  for (const auto& pass : passes) names.push_back(pass->name());
  return names;
}

/// Whether filters are packed once or in each pass depends on the number of images, too.
std::string algorithm_of(const std::string& name) { return name.substr(0, name.find(',')); }

std::vector<std::string> algorithms_of(const ConvolutionPasses& passes) {
  std::vector<std::string> names = names_of(passes);
  for (std::string& name : names) name = algorithm_of(name);
  return names;
}

/// Runs what stands for the passes of a problem: the same algorithms on fewer images, where they are offered for these.
class PassContest {
 public:
  PassContest(Direction direction, const ConvolutionProblem& problem, const ConvolutionPasses& whole)
      : gated_(direction != Direction::kForward && problem.relu) {
    const int64_t images = images_to_time(problem.geometry);
    const ConvolutionProblem some = images < problem.geometry.batch ? of_images(problem, images) : problem;
    if (images < problem.geometry.batch) fewer_ = convolution_passes(direction, some);
    const std::vector<std::string> offered = algorithms_of(whole);
    // Some are offered for few images alone.
    std::erase_if(fewer_, [&](const auto& pass) { return !std::ranges::count(offered, algorithm_of(pass->name())); });
    const bool same = algorithms_of(fewer_) == offered;
    passes_ = same ? &fewer_ : &whole;
    trial_ = std::make_unique<ConvolutionTrial>(same ? some : problem);
    for (const auto& pass : *passes_) trial_->make_room(*pass);
    for (const auto& pass : *passes_) trial_->keep_weights(*pass);
  }

  void run(int option) { trial_->run(*(*passes_)[static_cast<size_t>(option)], gated_); }

 private:
  bool gated_;  // behind a ReLU
  ConvolutionPasses fewer_;
  const ConvolutionPasses* passes_;
  std::unique_ptr<ConvolutionTrial> trial_;
};

}  // namespace

bool prefers_blocks(const ConvolutionGeometry& geometry) {
  constexpr int64_t kImageChannels = 4;
  if (geometry.channels <= kImageChannels) return vector_lanes() > 0;
  return winograd::can_run(geometry) && winograd_pays(geometry);
}

ConvolutionPasses convolution_passes(Direction direction, const ConvolutionProblem& problem) {
  ConvolutionPasses passes;
  if (problem.type != DType::kF32) {
    onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_direct, passes);
    amx::add_products_passes(direction, problem, passes);
    amx::add_weights_passes(direction, problem, passes);
    amx::add_window_weights_passes(direction, problem, passes);
    depthwise::add_passes(direction, problem, passes);
    return passes;
  }
  winograd::add_passes(direction, problem, passes);
  if (is_3x3_stride_1(problem.geometry)) {
    if (problem.geometry.group == 1) {
      onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_winograd, passes);
    } else if (!problem.adds) {
      onednn::add_group_passes(direction, problem, passes);
    }
  }
  const auto others = static_cast<std::ptrdiff_t>(passes.size());
  onednn::add_primitive_passes(direction, problem, dnnl::algorithm::convolution_direct, passes);
  // The first is taken where nothing is timed: the direct kernel, unless Winograd's is known to pay.
  if (!winograd_pays(problem.geometry)) std::rotate(passes.begin(), passes.begin() + others, passes.end());
  few_channels::add_passes(direction, problem, passes);
  packed_rows::add_passes(direction, problem, passes);
  pointwise::add_passes(direction, problem, passes);
  pointwise::add_weights_passes(direction, problem, passes);
  return passes;
}

std::unique_ptr<onednn::ConvolutionPass> choose_pass(Direction direction, const ConvolutionProblem& problem,
                                                     Tuner* tuner) {
  ConvolutionPasses passes = convolution_passes(direction, problem);
  if (passes.empty()) return nullptr;
  if (!tuner || passes.size() == 1) return std::move(passes[0]);
  std::unique_ptr<PassContest> contest;
  const auto run = [&](int option) {
    if (!contest) {
      require_room_for_trial(ConvolutionTrial::bytes(problem));
      contest = std::make_unique<PassContest>(direction, problem, passes);
    }
    contest->run(option);
  };
  const int chosen = chosen_or_first([&] { return tuner->choose(problem.key(direction), names_of(passes), run); });
  return std::move(passes[static_cast<size_t>(chosen)]);
}

}  // namespace robusta
