/// The reference kernel of Convolution and Deconvolution: im2col and matrix products.
///
/// A deconvolution swaps image and output: its forward is the data gradient of the convolution, and its own data
/// gradient is the convolution.
#pragma once

#include "layers/kit/convolution_base.h"
#include "layers/kit/kernel.h"
#include "ops/gemm_convolution.h"

namespace robusta {

template <typename T>
class GemmConvolutionKernel : public Kernel {
 public:
  explicit GemmConvolutionKernel(const KernelRequest& request)
      : layer_(request.layer<ConvolutionBase>()), math_(layer_.geometry()) {
    booking_.reads_bottoms.assign(request.bottoms.size(), request.backward && request.param_grads[0]);
    booking_.forward_scratch = booking_.backward_scratch = math_.column_elements() * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    for (size_t i = 0; i < run.tops.size(); ++i) {
      T* top = run.tops[i].as<T>();
      apply(layer_.is_transposed(), run, run.bottoms[i].as<T>(), top);
      if (run.params.size() < 2) continue;
      add_bias(run.params[1]->tensor().as<T>(), batch(), layer_.top_channels(), layer_.top_plane(), top);
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const T *bottom = run.bottoms[i].as<T>(), *top_diff = run.top_diffs[i].as<T>();
      if (run.params[0]->learns) weight_gradient(run, i, bottom, top_diff);
      if (run.bottom_diffs[i]) apply(!layer_.is_transposed(), run, top_diff, run.bottom_diffs[i].as<T>());
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      sum_bias_gradient(run.top_diffs, batch(), layer_.top_channels(), layer_.top_plane(), run.accumulate[1] != 0,
                        run.params[1]->gradient().as<T>());
    }
  }

 private:
  int64_t batch() const { return layer_.geometry().batch; }
  static T* columns(const KernelRun& run) { return static_cast<T*>(run.scratch); }

  /// The convolution, or its transpose.
  void apply(bool transposed, const KernelRun& run, const T* from, T* to) const {
    const T* weights = run.params[0]->tensor().as<T>();
    if (transposed) {
      math_.deconvolve(from, weights, to, columns(run));
    } else {
      math_.convolve(from, weights, to, columns(run));
    }
  }

  void weight_gradient(const KernelRun& run, size_t i, const T* bottom, const T* top_diff) const {
    const T *image = layer_.is_transposed() ? top_diff : bottom, *output = layer_.is_transposed() ? bottom : top_diff;
    const T beta = run.accumulate[0] || i > 0 ? 1 : 0;
    math_.correlate(image, output, beta, run.params[0]->gradient().as<T>(), columns(run));
  }

  const ConvolutionBase& layer_;
  GemmConvolution<T> math_;
};

}  // namespace robusta
