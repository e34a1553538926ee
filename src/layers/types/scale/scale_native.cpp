// Scale on plain f32 arrays.

#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/scale/scale.h"

namespace robusta {
namespace {

class ScaleNative : public Kernel {
 public:
  explicit ScaleNative(const KernelRequest& request) {
    const auto& layer = request.layer<ScaleLayer>();
    rows_ = {layer.outer(), layer.count(), layer.inner()};
    second_bottom_ = layer.scale_is_bottom();
    bias_ = layer.bias_place();
    book_scale(request, booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* bias = bias_ < 0 ? nullptr : run.params[static_cast<size_t>(bias_)]->tensor().as<float>();
    rows_.affine(run.bottoms[0].as<float>(), scale_of(run), bias, run.tops[0].as<float>());
  }

  void backward(const KernelRun& run) override {
    const float* dy = run.top_diffs[0].as<float>();
    if (bias_ >= 0 && run.params[static_cast<size_t>(bias_)]->learns) {
      const size_t index = static_cast<size_t>(bias_);
      rows_.sum(dy, run.accumulate[index] != 0, run.params[index]->gradient().as<float>());
    }
    // Before the gradient of bottom 0, which may take the place of dy.
    if (second_bottom_ && run.bottom_diffs[1]) {
      rows_.dot(dy, run.bottoms[0].as<float>(), false, run.bottom_diffs[1].as<float>());
    } else if (!second_bottom_ && run.params[0]->learns) {
      rows_.dot(dy, run.bottoms[0].as<float>(), run.accumulate[0] != 0, run.params[0]->gradient().as<float>());
    }
    if (run.bottom_diffs[0]) rows_.affine(dy, scale_of(run), nullptr, run.bottom_diffs[0].as<float>());
  }

 private:
  const float* scale_of(const KernelRun& run) const {
    return (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).as<float>();
  }

  ChannelRows rows_;
  bool second_bottom_;
  int bias_;  // index of the bias among the parameters, -1: none
};

std::unique_ptr<Kernel> make_scale_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<ScaleNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Scale", "native", 10, make_scale_native);

}  // namespace robusta
