// SPP on the GPU: its poolings' kernels, whose results one kernel puts side by side (backends/gpu/pieces.h).

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/pieces.h"
#include "layers/backends/gpu/weighted_sum.h"
#include "layers/types/spp/spp_kernel.h"

namespace robusta {
namespace {

class SppGpu : public SppKernel {
 public:
  SppGpu(const KernelRequest& request, std::vector<SppPooling> levels)
      : SppKernel(request, std::move(levels)), pieces_({of_rows(request.tops[0])}, rows(), 1, {}, rows()[0].dtype) {}

 private:
  /// The top as [batch, numbers], whatever its axes.
  static TensorDesc of_rows(const TensorDesc& top) {
    return {Shape{top.shape[0], top.shape.count(1)}, top.dtype, nullptr};
  }
  void join(Stream* stream, std::span<const Tensor> rows, const Tensor& top) const override {
    pieces_.join(stream, rows, top);
  }
  void cut(Stream* stream, const Tensor& top, std::span<const Tensor> rows) const override {
    pieces_.cut(stream, top, rows);
  }
  void add(Stream* stream, const Tensor& from, const Tensor& to) const override {
    with_storage(to.desc.dtype, [&](auto t) {
      using T = decltype(t);
      const GpuSumTerm<T> terms[] = {{to.as<T>()}, {from.as<T>()}};
      gpu_weighted_sum<T>(stream, terms, 1.0f, to.as<T>(), to.count());
    });
  }

  GpuPieces pieces_;
};

std::unique_ptr<Kernel> make_spp_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  std::vector<SppPooling> levels = choose_spp_poolings(request, kGpuKind, "", why_not);
  if (levels.empty()) return nullptr;
  return std::make_unique<SppGpu>(request, std::move(levels));
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("SPP", "gpu", 10, make_spp_gpu);

}  // namespace robusta
