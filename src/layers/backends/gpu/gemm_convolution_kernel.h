/// Convolution and Deconvolution on the GPU by im2col and matrix products, on plain arrays. For files named *_gpu.cpp.
///
/// A deconvolution swaps image and output, as in the reference kernel (kit/gemm_convolution_kernel.h).
#pragma once

#include <algorithm>

#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/weights.h"
#include "layers/kit/convolution_base.h"
#include "ops/gemm_convolution_gpu.h"
#include "ops/im2col_gpu.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
class GemmConvolutionGpuKernel : public Kernel {
 public:
  explicit GemmConvolutionGpuKernel(const KernelRequest& request)
      : layer_(request.layer<ConvolutionBase>()),
        math_(layer_.geometry()),
        tops_{layer_.geometry().batch, layer_.top_channels(), layer_.top_plane()} {
    booking_.reads_bottoms.assign(request.bottoms.size(), request.backward && request.param_grads[0]);
    book_stored_weights<T>(layer_.geometry().weight_shape().count(), booking_);
    columns_ = stored_weights_bytes<T>(layer_.geometry().weight_shape().count());
    booking_.forward_scratch = columns_ + math_.column_bytes();
    booking_.backward_scratch = std::max(booking_.forward_scratch, channel_sums_scratch<ChannelDot<T>>(tops_));
  }
  std::string describe() const override { return "gpu im2col"; }

  void forward(const KernelRun& run) override {
    const T* weights = weights_of(run);
    for (size_t i = 0; i < run.tops.size(); ++i) {
      T* top = run.tops[i].as<T>();
      apply(layer_.is_transposed(), run, run.bottoms[i].as<T>(), weights, top);
      if (run.params.size() < 2) continue;
      channel_affine<T>(run.stream, tops_, top, nullptr, run.params[1]->tensor().as<float>(), top);
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const T *bottom = run.bottoms[i].as<T>(), *top_diff = run.top_diffs[i].as<T>();
      if (run.params[0]->learns) weight_gradient(run, i, bottom, top_diff);
      if (run.bottom_diffs[i]) {
        apply(!layer_.is_transposed(), run, top_diff, weights_of(run), run.bottom_diffs[i].as<T>());
      }
      if (run.params.size() < 2 || !run.params[1]->learns) continue;
      channel_sums(run.stream, tops_, run.scratch,
                   ChannelDot<T>{top_diff, nullptr, run.params[1]->gradient().as<float>(), run.accumulate[1] || i > 0});
    }
  }

 private:
  T* columns(const KernelRun& run) const { return reinterpret_cast<T*>(static_cast<char*>(run.scratch) + columns_); }
  const T* weights_of(const KernelRun& run) const {
    return weights_of_run<T>(run, layer_.geometry().weight_shape().count(), run.scratch);
  }

  /// The convolution, or its transpose.
  void apply(bool transposed, const KernelRun& run, const T* from, const T* weights, T* to) const {
    if (transposed) {
      math_.deconvolve(run.stream, from, weights, to, columns(run));
    } else {
      math_.convolve(run.stream, from, weights, to, columns(run));
    }
  }

  void weight_gradient(const KernelRun& run, size_t i, const T* bottom, const T* top_diff) const {
    const T *image = layer_.is_transposed() ? top_diff : bottom, *output = layer_.is_transposed() ? bottom : top_diff;
    math_.correlate(run.stream, image, output, run.accumulate[0] || i > 0, run.params[0]->gradient().as<float>(),
                    columns(run));
  }

  const ConvolutionBase& layer_;
  GemmConvolutionGpu<T> math_;
  ChannelView tops_;
  size_t columns_;  // bytes of scratch before them
};

/// Null, with a reason, for types and numbers of axes that the GPU's kernels do not take.
inline std::unique_ptr<Kernel> make_gemm_convolution_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<ConvolutionBase>().geometry().axes.size() > kGpuWindowAxes) {
    why_not = "too many spatial axes";
    return nullptr;
  }
  return make_stored<GemmConvolutionGpuKernel>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
