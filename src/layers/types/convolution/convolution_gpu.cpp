// Convolution on the GPU by im2col and matrix products, on plain arrays: for what cuDNN does not take, and where the
// GPU is emulated.

#include <algorithm>

#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/weights.h"
#include "layers/types/convolution/convolution.h"
#include "layers/types/convolution/gemm_convolution_gpu.h"
#include "ops/im2col_gpu.h"

namespace robusta {
namespace {

template <typename T>
class ConvolutionGpu : public Kernel {
 public:
  explicit ConvolutionGpu(const KernelRequest& request)
      : geometry_(request.layer<ConvolutionLayer>().geometry()),
        math_(geometry_),
        tops_{geometry_.batch, geometry_.num_output, elements_out(geometry_.axes)} {
    booking_.reads_bottoms.assign(request.bottoms.size(), request.backward && request.param_grads[0]);
    const int64_t weights = geometry_.weight_shape().count();
    columns_ = stored_weights_bytes<T>(weights);
    booking_.forward_scratch = columns_ + math_.column_bytes();
    booking_.backward_scratch = std::max(booking_.forward_scratch, channel_sums_scratch<ChannelDot<T>>(tops_));
  }
  std::string describe() const override { return "gpu im2col"; }

  void forward(const KernelRun& run) override {
    const T* weights = weights_of(run);
    for (size_t i = 0; i < run.tops.size(); ++i) {
      T* top = run.tops[i].as<T>();
      math_.convolve(run.stream, run.bottoms[i].as<T>(), weights, top, columns(run));
      if (run.params.size() < 2) continue;
      channel_affine<T>(run.stream, tops_, top, nullptr, run.params[1]->tensor().as<float>(), top);
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const T* top_diff = run.top_diffs[i].as<T>();
      if (run.params[0]->learns) {
        math_.correlate(run.stream, run.bottoms[i].as<T>(), top_diff, run.accumulate[0] || i > 0,
                        run.params[0]->gradient().as<float>(), columns(run));
      }
      if (run.bottom_diffs[i]) {
        math_.deconvolve(run.stream, top_diff, weights_of(run), run.bottom_diffs[i].as<T>(), columns(run));
      }
      if (run.params.size() < 2 || !run.params[1]->learns) continue;
      channel_sums(run.stream, tops_, run.scratch,
                   ChannelDot<T>{top_diff, nullptr, run.params[1]->gradient().as<float>(), run.accumulate[1] || i > 0});
    }
  }

 private:
  T* columns(const KernelRun& run) const { return reinterpret_cast<T*>(static_cast<char*>(run.scratch) + columns_); }
  const T* weights_of(const KernelRun& run) const {
    return stored_weights<T>(run.stream, run.params[0]->tensor().as<float>(), geometry_.weight_shape().count(),
                             run.scratch);
  }

  ConvolutionGeometry geometry_;
  GemmConvolutionGpu<T> math_;
  ChannelView tops_;
  size_t columns_;  // bytes of scratch before them
};

std::unique_ptr<Kernel> make_convolution_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<ConvolutionLayer>().geometry().axes.size() > kGpuWindowAxes) {
    why_not = "too many spatial axes";
    return nullptr;
  }
  return make_stored<ConvolutionGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Convolution", "gpu", 5, make_convolution_gpu);

}  // namespace robusta
