// Convolution on the GPU by im2col and matrix products, on plain arrays: for what cuDNN does not take, and where the
// GPU is emulated.

#include <algorithm>

#include "layers/convolution/convolution.h"
#include "layers/convolution/gemm_convolution_gpu.h"
#include "layers/gpu_channels.h"
#include "ops/im2col_gpu.h"

namespace robusta {
namespace {

class ConvolutionGpu : public Kernel {
 public:
  explicit ConvolutionGpu(const KernelRequest& request)
      : geometry_(request.layer<ConvolutionLayer>().geometry()),
        math_(geometry_),
        tops_{geometry_.batch, geometry_.num_output, elements_out(geometry_.axes)} {
    booking_.reads_bottoms.assign(request.bottoms.size(), request.backward && request.param_grads[0]);
    booking_.forward_scratch = math_.column_bytes();
    booking_.backward_scratch = std::max(math_.column_bytes(), channel_sums_scratch<ChannelDot<float>>(tops_));
  }
  std::string describe() const override { return "gpu im2col"; }

  void forward(const KernelRun& run) override {
    const float* weights = run.params[0]->tensor().as<float>();
    for (size_t i = 0; i < run.tops.size(); ++i) {
      float* top = run.tops[i].as<float>();
      math_.convolve(run.stream, run.bottoms[i].as<float>(), weights, top, static_cast<float*>(run.scratch));
      if (run.params.size() < 2) continue;
      channel_affine<float>(run.stream, tops_, top, nullptr, run.params[1]->tensor().as<float>(), top);
    }
  }

  void backward(const KernelRun& run) override {
    float* columns = static_cast<float*>(run.scratch);
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const float* top_diff = run.top_diffs[i].as<float>();
      if (run.params[0]->learns) {
        math_.correlate(run.stream, run.bottoms[i].as<float>(), top_diff, run.accumulate[0] || i > 0,
                        run.params[0]->gradient().as<float>(), columns);
      }
      if (run.bottom_diffs[i]) {
        math_.deconvolve(run.stream, top_diff, run.params[0]->tensor().as<float>(), run.bottom_diffs[i].as<float>(),
                         columns);
      }
      if (run.params.size() < 2 || !run.params[1]->learns) continue;
      channel_sums(
          run.stream, tops_, run.scratch,
          ChannelDot<float>{top_diff, nullptr, run.params[1]->gradient().as<float>(), run.accumulate[1] || i > 0});
    }
  }

 private:
  ConvolutionGeometry geometry_;
  GemmConvolutionGpu math_;
  ChannelView tops_;
};

std::unique_ptr<Kernel> make_convolution_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<ConvolutionLayer>().geometry().axes.size() > kGpuWindowAxes) {
    why_not = "too many spatial axes";
    return nullptr;
  }
  return std::make_unique<ConvolutionGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Convolution", "gpu", 5, make_convolution_gpu);

}  // namespace robusta
