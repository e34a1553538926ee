// Bias on the GPU: channels last where it goes by channel, plain otherwise. dx is dy, and lies in the same memory as a
// rule: then nothing is copied.

#include "layers/backends/gpu/channels.h"
#include "layers/types/bias/bias.h"

namespace robusta {
namespace {

template <typename T>
class BiasGpu : public Kernel {
 public:
  explicit BiasGpu(const KernelRequest& request) {
    const auto& layer = request.layer<BiasLayer>();
    view_ = book_channel_view(request, {layer.outer(), layer.count(), layer.inner()}, booking_);
    second_bottom_ = layer.bias_is_bottom();
    book_bias(request, booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.bottom_types[0] = dtype_of<T>();
    booking_.backward_scratch = channel_sums_scratch<ChannelDot<T>>(view_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const float* bias = (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).as<float>();
    channel_affine<T>(run.stream, view_, run.bottoms[0].as<T>(), nullptr, bias, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    if (second_bottom_ ? static_cast<bool>(run.bottom_diffs[1]) : run.params[0]->learns) {
      float* sums = (second_bottom_ ? run.bottom_diffs[1] : run.params[0]->gradient()).as<float>();
      channel_sums(run.stream, view_, run.scratch,
                   ChannelDot<T>{dy, nullptr, sums, !second_bottom_ && run.accumulate[0]});
    }
    T* dx = run.bottom_diffs[0].as<T>();
    if (dx && dx != dy) channel_affine<T>(run.stream, view_, dy, nullptr, nullptr, dx);
  }

 private:
  ChannelView view_;
  bool second_bottom_;
};

std::unique_ptr<Kernel> make_bias_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<BiasGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Bias", "gpu", 10, make_bias_gpu);

}  // namespace robusta
