// A layer of one's own: y = limit * tanh(x / limit), which is x for small x and never leaves -limit..limit.

#include <robusta/layer.h>

#include <cmath>

namespace {

class SoftClip : public robusta::Layer {
 public:
  explicit SoftClip(const robusta::LayerSpec& spec) : limit_(static_cast<float>(spec.number("limit", 1))) {
    if (limit_ > 0) return;
    throw robusta::Error(robusta::ErrorKind::kConfig, "limit must be above 0").in_field("plugin_param");
  }

  std::vector<robusta::Shape> infer_tops(const std::vector<robusta::Shape>& bottoms) override { return bottoms; }

  robusta::Needs needs() const override {
    return {.backward_reads_bottoms = false, .backward_reads_tops = true, .in_place = true};
  }

  void forward(const robusta::KernelCall& call) override {
    const float* x = call.bottoms[0].as<float>();
    float* y = call.tops[0].as<float>();
    for (int64_t i = 0; i < call.tops[0].count(); ++i) y[i] = limit_ * std::tanh(x[i] / limit_);
  }

  void backward(const robusta::KernelCall& call) override {
    if (!call.bottom_gradients[0]) return;
    const float *y = call.tops[0].as<float>(), *dy = call.top_gradients[0].as<float>();
    float* dx = call.bottom_gradients[0].as<float>();
    for (int64_t i = 0; i < call.tops[0].count(); ++i) dx[i] = dy[i] * (1 - y[i] * y[i] / (limit_ * limit_));
  }

 private:
  float limit_;
};

}  // namespace

ROBUSTA_PLUGIN() {
  robusta::register_layer("SoftClip", [](const robusta::LayerSpec& spec) { return std::make_unique<SoftClip>(spec); });
}
