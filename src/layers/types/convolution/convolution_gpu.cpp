// Convolution by kernels of our own: depthwise ones in packs of channels, timed beside cuDNN's where that is
// (dnn_choice_cuda.cpp); all others by im2col and matrix products, for what cuDNN does not take, and where the GPU is
// emulated. What forward-only convolutions make of their parameters for a library is here, too.

#include <algorithm>

#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/gemm_convolution_kernel.h"
#include "layers/types/convolution/depthwise_bodies.h"
#include "layers/types/convolution/depthwise_gpu.h"
#include "layers/types/convolution/library_convolution.h"
#include "layers/types/convolution/library_params_bodies.h"
#include "layers/types/convolution/library_params_gpu.h"
#include "memory/placement.h"

namespace robusta {
namespace {

const float* param_values(std::span<Param* const> params, int place) {
  return place < 0 ? nullptr : params[static_cast<size_t>(place)]->tensor().as<float>();
}

template <typename T = char>
T* part_at(void* memory, size_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(memory) + offset);
}

ChannelView results_of(const dnn::Problem& problem) {
  const ResultView view = problem.result_view();
  return {view.batch * view.pixels, view.channels, 1};
}

template <typename T, int kStride, bool kMirrored>
void run_strips(Stream* stream, const dnn::Problem& problem, const DepthwiseShape& shape,
                const ConvolutionArrays& arrays, const void* from, const void* to) {
  using Body = DepthwiseStrip<T, kStride, kMirrored>;
  const int64_t strips = (shape.out_w + Body::kStrip - 1) / Body::kStrip;
  const bool forward = !kMirrored;
  const auto array = [](const void* data) { return static_cast<const T*>(data); };
  for_each(stream, problem.geometry.batch * shape.out_h * strips * shape.packs,
           Body{shape, Divisor(shape.packs), Divisor(strips), Divisor(shape.out_h), array(from), array(arrays.filters),
                forward ? array(arrays.bias) : nullptr, forward ? array(arrays.addend) : nullptr,
                forward && problem.relu, const_cast<T*>(array(to))});
}

template <typename T>
void run_forward(Stream* stream, const dnn::Problem& problem, const ConvolutionArrays& arrays) {
  const DepthwiseShape shape = DepthwiseShape::of<T>(problem.geometry);
  if (problem.geometry.axes[0].stride == 1) {
    return run_strips<T, 1, false>(stream, problem, shape, arrays, arrays.image, arrays.result);
  }
  run_strips<T, 2, false>(stream, problem, shape, arrays, arrays.image, arrays.result);
}

template <typename T>
void run_data(Stream* stream, const dnn::Problem& problem, const ConvolutionArrays& arrays) {
  DepthwiseShape shape = DepthwiseShape::of<T>(problem.geometry);
  if (problem.geometry.axes[0].stride == 1) {
    std::swap(shape.in_h, shape.out_h);
    std::swap(shape.in_w, shape.out_w);
    shape.pad_h = kDepthwiseSide - 1 - shape.pad_h;
    shape.pad_w = kDepthwiseSide - 1 - shape.pad_w;
    return run_strips<T, 1, true>(stream, problem, shape, arrays, arrays.result, arrays.image);
  }
  for_each(stream, problem.image_size() / kPackWidth<T>,
           DepthwiseGather<T>{shape, Divisor(shape.packs), Divisor(shape.in_w), Divisor(shape.in_h),
                              static_cast<const T*>(arrays.result), static_cast<const T*>(arrays.filters),
                              static_cast<T*>(const_cast<void*>(arrays.image))});
}

template <typename T>
void run_filters(Stream* stream, const dnn::Problem& problem, const ConvolutionArrays& arrays) {
  const ConvolutionGeometry& g = problem.geometry;
  const DepthwiseShape shape = DepthwiseShape::of<T>(g);
  channel_sums(stream, results_of(problem), arrays.workspace,
               DepthwiseFilterSums<T>{shape, static_cast<int32_t>(g.axes[0].stride), static_cast<int32_t>(g.channels),
                                      Divisor(shape.packs), Divisor(shape.out_w), Divisor(shape.out_h),
                                      static_cast<const T*>(arrays.image), static_cast<const T*>(arrays.result),
                                      static_cast<T*>(const_cast<void*>(arrays.filters))});
}

/// All directions by these kernels: where cuDNN is not, or takes nothing.
class OwnDepthwise {
 public:
  OwnDepthwise(const KernelRequest& request, const LibraryPasses& passes) : problem_(passes.problem) {
    for (size_t d = 0; d < 3; ++d) has_[d] = wants(request, static_cast<dnn::Direction>(d));
  }
  std::string describe() const { return "gpu depthwise"; }
  bool gate() { return false; }
  bool sum() { return false; }
  bool has(dnn::Direction direction) const { return has_[static_cast<size_t>(direction)]; }
  size_t workspace_bytes(dnn::Direction direction) const { return depthwise_workspace(direction, problem_); }
  void run(dnn::Direction direction, Stream* stream, const ConvolutionArrays& arrays) const {
    run_depthwise(direction, stream, problem_, arrays);
  }

 private:
  dnn::Problem problem_;
  bool has_[3];
};

std::unique_ptr<Kernel> make_depthwise_gpu(const KernelRequest& request, std::string& why_not) {
  why_not = objection_to_library(request);
  if (!why_not.empty()) return nullptr;
  LibraryPasses passes = asked_passes(request);
  passes.problem.channels_last = request.bottoms[0].shape.axes() == 4;
  if (!takes_depthwise(passes.problem)) {
    why_not = "takes a filter of 3 x 3 for each channel, stride 1 or 2, and whole packs of channels";
    return nullptr;
  }
  passes.fused = passes.problem.follows();
  const OwnDepthwise own(request, passes);
  return std::make_unique<LibraryConvolution<OwnDepthwise>>(request, std::move(passes), own);
}

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

bool takes_depthwise(const dnn::Problem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  if (!problem.channels_last || g.axes.size() != 2 || g.group != g.channels || g.num_output != g.channels) return false;
  constexpr int64_t kEdge = int64_t{1} << 31;
  const int64_t stride = g.axes[0].stride, width = 16 / static_cast<int64_t>(size_of(problem.type));
  const auto fits = [&](const WindowAxis& axis) {
    return axis.kernel == kDepthwiseSide && axis.dilation == 1 && axis.stride == stride && axis.padded_in() < kEdge / 4;
  };
  const bool rows_fit = kDepthwiseSide * g.axes[1].in * g.channels < kEdge;  // within a window offsets have 32 bits
  return (stride == 1 || stride == 2) && rows_fit && g.channels % width == 0 && fits(g.axes[0]) && fits(g.axes[1]) &&
         std::max(problem.image_size(), problem.result_size()) / width < kEdge / 2;
}

size_t depthwise_workspace(dnn::Direction direction, const dnn::Problem& problem) {
  if (direction != dnn::Direction::kBackwardFilters) return 0;
  return with_storage(problem.type, [&](auto t) {
    return channel_sums_scratch<DepthwiseFilterSums<decltype(t)>>(results_of(problem));
  });
}

void run_depthwise(dnn::Direction direction, Stream* stream, const dnn::Problem& problem,
                   const ConvolutionArrays& arrays) {
  with_storage(problem.type, [&](auto t) {
    using T = decltype(t);
    if (direction == dnn::Direction::kForward) return run_forward<T>(stream, problem, arrays);
    if (direction == dnn::Direction::kBackwardData) return run_data<T>(stream, problem, arrays);
    run_filters<T>(stream, problem, arrays);
  });
}

LibraryParams::LibraryParams(const FusedConvolution& chain, const LibraryPasses& passes, DType bias_type)
    : passes_(passes),
      bias_type_(bias_type),
      has_bias_(chain.convolution->has_bias()),
      makes_filters_(passes.packs_filters() || bool{chain.norm}),
      makes_bias_(bool{chain.norm} || (has_bias_ && bias_type != DType::kF32)) {
  if (chain.norm) {
    eps_ = chain.norm->eps();
    norm_ = chain.norm.param(0);
    if (chain.norm->has_scale()) {
      scale_ = chain.norm.param(3);
      shift_ = chain.norm.param(4);
    }
    if (chain.scale) scale_ = chain.scale.param(0);
    if (chain.scale && chain.scale->has_bias()) shift_ = chain.scale.param(1);
  }
  const auto add = [this](int64_t elements, DType type) {
    return std::exchange(bytes_, bytes_ + align_up(static_cast<size_t>(elements) * size_of(type)));
  };
  const dnn::Problem& problem = passes_.problem;
  if (makes_filters_) add(problem.filter_size(), problem.type);
  if (norm_ >= 0) factors_at_ = add(problem.geometry.num_output, DType::kF32);
  if (makes_bias_) bias_at_ = add(problem.geometry.num_output, bias_type_);
}

void LibraryParams::make(Stream* stream, std::span<Param* const> params, void* memory) const {
  if (makes_bias_) make_bias(stream, params, memory);
  if (makes_filters_) make_filters(stream, params, memory);
}

void LibraryParams::make_bias(Stream* stream, std::span<Param* const> params, void* memory) const {
  const float* bias = param_values(params, has_bias_ ? 1 : -1);
  const int64_t channels = passes_.problem.geometry.num_output;
  void* const to = part_at(memory, bias_at_);
  if (norm_ < 0) {
    return transpose_filters(stream, 1, channels, 1, {DType::kF32, const_cast<float*>(bias)}, false, {bias_type_, to});
  }
  with_storage(bias_type_, [&](auto t) {
    for_each(stream, channels,
             FoldNorm<decltype(t)>{param_values(params, norm_), param_values(params, norm_ + 1),
                                   param_values(params, norm_ + 2), param_values(params, scale_),
                                   param_values(params, shift_), bias, eps_, part_at<float>(memory, factors_at_),
                                   static_cast<decltype(t)*>(to)});
  });
}

/// REQUIRES: the factors are there.
void LibraryParams::make_filters(Stream* stream, std::span<Param* const> params, void* memory) const {
  const dnn::Problem& problem = passes_.problem;
  const float* plain = param_values(params, 0);
  const float* factors = norm_ >= 0 ? part_at<float>(memory, factors_at_) : nullptr;
  if (passes_.fold) return fold_filters(stream, *passes_.fold, plain, factors, problem.type, memory);
  const int64_t outputs = problem.geometry.num_output, rows = passes_.filter_rows(), cols = passes_.filter_cols();
  if (!factors) {
    return transpose_filters(stream, outputs, rows, cols, {DType::kF32, const_cast<float*>(plain)}, false,
                             {problem.type, memory});
  }
  with_storage(problem.type, [&](auto t) {
    for_each(stream, problem.filter_size(),
             ScaleFilters<decltype(t)>{Divisor(rows), Divisor(cols), cols, rows * cols, plain, factors,
                                       static_cast<decltype(t)*>(memory)});
  });
}

const void* LibraryParams::filters(std::span<Param* const> params, const void* memory) const {
  return makes_filters_ ? memory : param_values(params, 0);
}

const void* LibraryParams::bias(std::span<Param* const> params, const void* memory) const {
  if (makes_bias_) return static_cast<const char*>(memory) + bias_at_;
  return param_values(params, has_bias_ ? 1 : -1);
}

}  // namespace ROBUSTA_GPU_TARGET

static constexpr auto make_convolution_gpu = make_gemm_convolution_gpu;
ROBUSTA_REGISTER_GPU_KERNEL("Convolution", "gpu", 5, make_convolution_gpu);
ROBUSTA_REGISTER_GPU_KERNEL(FusedConvolution::pattern(), "gpu", 15, make_depthwise_gpu);

}  // namespace robusta
