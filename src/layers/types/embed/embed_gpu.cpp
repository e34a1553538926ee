// Embed on the GPU (backends/gpu/picked_rows.h). Ids are f32: 16 bits do not hold all of them.

#include "device/gpu/copy.h"
#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/types/embed/embed.h"

namespace robusta {
namespace {

template <typename T>
class EmbedGpu : public Kernel {
 public:
  explicit EmbedGpu(const KernelRequest& request)
      : layer_(request.layer<EmbedLayer>()),
        rows_(request, layer_.picks()),
        view_{layer_.picks().count, layer_.picks().width, 1} {
    booking_.bottom_types = {DType::kF32};
    booking_.top_types = {dtype_of<T>()};
    booking_.repeatable = true;
    booking_.forward_scratch = rows_.forward_scratch();
    booking_.backward_scratch = std::max(rows_.backward_scratch(), channel_sums_scratch<ChannelDot<T>>(view_));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const float* bias = layer_.has_bias() ? run.params[1]->tensor().as<float>() : nullptr;
    rows_.pick(run, run.bottoms[0].as<float>(), run.params[0]->tensor().as<float>(), bias, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    const Tensor& ids = run.bottom_diffs[0];
    if (ids) gpu_fill_zero(run.stream, ids.data, ids.desc.bytes());
    const T* dy = run.top_diffs[0].as<T>();
    if (run.params[0]->learns) {
      rows_.sum(run, run.bottoms[0].as<float>(), dy, run.accumulate[0], run.params[0]->gradient().as<float>());
    }
    if (!layer_.has_bias() || !run.params[1]->learns) return;
    float* sums = run.params[1]->gradient().as<float>();
    channel_sums(run.stream, view_, run.scratch, ChannelDot<T>{dy, nullptr, sums, run.accumulate[1] != 0});
  }
  void check(const Pass&) override { rows_.check(); }

 private:
  const EmbedLayer& layer_;
  GpuPickedRows rows_;
  ChannelView view_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("Embed", EmbedGpu);

}  // namespace robusta
