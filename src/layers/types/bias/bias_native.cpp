// Bias on plain f32 arrays. dx is dy, and lies in the same memory as a rule: then nothing is copied.

#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/bias/bias.h"

namespace robusta {
namespace {

class BiasNative : public Kernel {
 public:
  explicit BiasNative(const KernelRequest& request) {
    const auto& layer = request.layer<BiasLayer>();
    rows_ = {layer.outer(), layer.count(), layer.inner()};
    second_bottom_ = layer.bias_is_bottom();
    book_bias(request, booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* bias = (second_bottom_ ? run.bottoms[1] : run.params[0]->tensor()).as<float>();
    rows_.affine(run.bottoms[0].as<float>(), nullptr, bias, run.tops[0].as<float>());
  }

  void backward(const KernelRun& run) override {
    const float* dy = run.top_diffs[0].as<float>();
    if (second_bottom_ && run.bottom_diffs[1]) {
      rows_.sum(dy, false, run.bottom_diffs[1].as<float>());
    } else if (!second_bottom_ && run.params[0]->learns) {
      rows_.sum(dy, run.accumulate[0] != 0, run.params[0]->gradient().as<float>());
    }
    if (run.bottom_diffs[0]) copy_unless_shared(run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  ChannelRows rows_;
  bool second_bottom_;
};

std::unique_ptr<Kernel> make_bias_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<BiasNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Bias", "native", 10, make_bias_native);

}  // namespace robusta
