// Scale on the GPU: channels last where it goes by channel, plain otherwise.

#include "layers/backends/gpu/channels.h"
#include "layers/types/scale/scale.h"

namespace robusta {
namespace {

template <typename T>
class ScaleGpu : public Kernel {
 public:
  explicit ScaleGpu(const KernelRequest& request) {
    const auto& layer = request.layer<ScaleLayer>();
    view_ = book_channel_view(request, {layer.outer(), layer.count(), layer.inner()}, booking_);
    second_bottom_ = layer.scale_is_bottom();
    bias_ = layer.bias_place();
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.bottom_types[0] = dtype_of<T>();
    book_scale(request, booking_);
    booking_.backward_scratch = channel_sums_scratch<ChannelDot<T>>(view_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const float* bias = bias_ < 0 ? nullptr : run.params[static_cast<size_t>(bias_)]->tensor().as<float>();
    channel_affine(run.stream, view_, run.bottoms[0].as<T>(), scale_of(run), bias, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    if (bias_ >= 0) sum_into(run, static_cast<size_t>(bias_), dy, nullptr);
    // Before the gradient of bottom 0, which may take the place of dy.
    if (!second_bottom_) {
      sum_into(run, 0, dy, x);
    } else if (run.bottom_diffs[1]) {
      channel_sums(run.stream, view_, run.scratch, ChannelDot<T>{dy, x, run.bottom_diffs[1].as<float>(), false});
    }
    if (!run.bottom_diffs[0]) return;
    channel_affine<T>(run.stream, view_, dy, scale_of(run), nullptr, run.bottom_diffs[0].as<T>());
  }

 private:
  const float* scale_of(const KernelRun& run) const {
    return (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).as<float>();
  }

  void sum_into(const KernelRun& run, size_t param, const T* a, const T* b) const {
    if (!run.params[param]->learns) return;
    float* gradient = run.params[param]->gradient().as<float>();
    channel_sums(run.stream, view_, run.scratch, ChannelDot<T>{a, b, gradient, run.accumulate[param] != 0});
  }

  ChannelView view_;
  bool second_bottom_;
  int bias_;  // index of the bias among the parameters, -1: none
};

std::unique_ptr<Kernel> make_scale_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<ScaleGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Scale", "gpu", 10, make_scale_gpu);

}  // namespace robusta
