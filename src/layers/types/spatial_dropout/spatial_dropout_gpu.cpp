// SpatialDropout on the GPU: the channels of the CPU, bit for bit; plain when training, in any layout when testing.
//
// The position of the pass is read from device memory, since recorded passes (CUDA graphs) see only that change.

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/alias.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/spatial_dropout/spatial_dropout.h"

namespace robusta {
namespace {

struct DrawChannel {
  ChannelFactors factor_of;
  float* factors;
  ROBUSTA_GPU void operator()(int64_t plane) const { factors[plane] = factor_of(plane); }
};

template <typename T>
struct DropChannelEach {
  Divisor by_plane;
  const float* factors;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float factor = factors[by_plane.quotient(i)];
    y[i] = static_cast<T>(factor == 0 ? 0.0f : factor * static_cast<float>(x[i]));
  }
};

template <typename T>
class SpatialDropoutGpu : public Kernel {
 public:
  explicit SpatialDropoutGpu(const KernelRequest& request) : layer_(request.layer<SpatialDropoutLayer>()) {
    book_spatial_dropout(booking_);
    booking_.reads_position = true;
    booking_.forward_scratch = booking_.backward_scratch = static_cast<size_t>(layer_.planes()) * sizeof(float);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override { apply(run, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) apply(run, run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const {
    auto* factors = static_cast<float*>(run.scratch);
    for_each(run.stream, layer_.planes(), DrawChannel{ChannelFactors(layer_, run), factors});
    for_each(run.stream, to.count(), DropChannelEach<T>{Divisor(layer_.plane()), factors, from.as<T>(), to.as<T>()});
  }

  const SpatialDropoutLayer& layer_;
};

std::unique_ptr<Kernel> make_spatial_dropout_gpu(const KernelRequest& request, std::string& why_not) {
  if (!request.layers[0]->training()) return make_gpu_alias(request, true);
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<SpatialDropoutGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("SpatialDropout", "gpu", 10, make_spatial_dropout_gpu);

}  // namespace robusta
