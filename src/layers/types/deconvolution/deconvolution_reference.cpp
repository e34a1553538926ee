// The reference kernel of Deconvolution: the passes of Convolution with image and output swapped.

#include "layers/kit/kernel.h"
#include "layers/types/convolution/gemm_convolution.h"
#include "layers/types/deconvolution/deconvolution.h"

namespace robusta {
namespace {

template <typename T>
class DeconvolutionReference : public Kernel {
 public:
  explicit DeconvolutionReference(const KernelRequest& request)
      : geometry_(request.layer<DeconvolutionLayer>().geometry()), math_(geometry_) {
    booking_.reads_bottoms.assign(request.bottoms.size(), request.backward && request.param_grads[0]);
    booking_.forward_scratch = booking_.backward_scratch = math_.column_elements() * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* weights = run.params[0]->tensor().as<T>();
    for (size_t i = 0; i < run.tops.size(); ++i) {
      T* top = run.tops[i].as<T>();
      math_.deconvolve(run.bottoms[i].as<T>(), weights, top, static_cast<T*>(run.scratch));
      if (run.params.size() < 2) continue;
      add_bias(run.params[1]->tensor().as<T>(), geometry_.batch, geometry_.channels, elements_in(geometry_.axes), top);
    }
  }

  void backward(const KernelRun& run) override {
    T* columns = static_cast<T*>(run.scratch);
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const T* top_diff = run.top_diffs[i].as<T>();
      if (run.params[0]->learns) {
        const T beta = run.accumulate[0] || i > 0 ? 1 : 0;
        math_.correlate(top_diff, run.bottoms[i].as<T>(), beta, run.params[0]->gradient().as<T>(), columns);
      }
      if (run.bottom_diffs[i]) {
        math_.convolve(top_diff, run.params[0]->tensor().as<T>(), run.bottom_diffs[i].as<T>(), columns);
      }
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      sum_bias_gradient(run.top_diffs, geometry_.batch, geometry_.channels, elements_in(geometry_.axes),
                        run.accumulate[1] != 0, run.params[1]->gradient().as<T>());
    }
  }

 private:
  ConvolutionGeometry geometry_;
  GemmConvolution<T> math_;
};

}  // namespace

ROBUSTA_REGISTER_REFERENCE("Deconvolution", DeconvolutionReference);

}  // namespace robusta
