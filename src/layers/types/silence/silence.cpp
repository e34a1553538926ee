// Silence: reads blobs that would otherwise be outputs of the net, and does nothing; their gradient is zero.

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

class SilenceLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {1, -1, 0, 0}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {}; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
};

/// Takes every bottom as it lies.
class SilenceKernel : public Kernel {
 public:
  explicit SilenceKernel(const KernelRequest& request) {
    for (const TensorDesc& bottom : request.bottoms) booking_.bottom_layouts.push_back(bottom.layout);
    book_reads_nothing(request.bottoms.size(), booking_);
  }
  std::string describe() const override { return "reference"; }
  void forward(const KernelRun&) override {}
  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) fill_zero(diff);
    }
  }
};

std::unique_ptr<Kernel> make_silence(const KernelRequest& request, std::string&) {
  return std::make_unique<SilenceKernel>(request);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Silence", SilenceLayer);
ROBUSTA_REGISTER_KERNEL("Silence", "reference", 0, make_silence);

}  // namespace robusta
