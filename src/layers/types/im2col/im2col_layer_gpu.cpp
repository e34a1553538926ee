// Im2col on the GPU, for plain arrays (ops/im2col_gpu.h).

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/im2col/im2col_layer.h"
#include "ops/im2col_gpu.h"

namespace robusta {
namespace {

/// The top keeps the type of the bottom: nothing is computed.
template <typename T>
class Im2colGpu : public Kernel {
 public:
  explicit Im2colGpu(const KernelRequest& request) : layer_(request.layer<Im2colLayer>()) {
    book_im2col(booking_);
    booking_.bottom_types = booking_.top_types = {dtype_of<T>()};
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    gpu_im2col(run.stream, run.bottoms[0].as<T>(), layer_.batch(), layer_.channels(), layer_.axes(),
               run.tops[0].as<T>());
  }
  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    gpu_col2im(run.stream, run.top_diffs[0].as<T>(), layer_.batch(), layer_.channels(), layer_.axes(),
               run.bottom_diffs[0].as<T>());
  }

 private:
  const Im2colLayer& layer_;
};

std::unique_ptr<Kernel> make_im2col_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  if (request.layer<Im2colLayer>().axes().size() > kGpuWindowAxes) {
    why_not = "too many spatial axes";
    return nullptr;
  }
  return make_as_bottom<Im2colGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Im2col", "gpu", 10, make_im2col_gpu);

}  // namespace robusta
