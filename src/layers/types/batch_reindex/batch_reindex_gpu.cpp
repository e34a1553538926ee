// BatchReindex on the GPU (backends/gpu/picked_rows.h). Items keep their type; the list is f32.

#include "device/gpu/copy.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/types/batch_reindex/batch_reindex.h"

namespace robusta {
namespace {

template <typename T>
class BatchReindexGpu : public Kernel {
 public:
  explicit BatchReindexGpu(const KernelRequest& request) : rows_(request, request.layer<BatchReindexLayer>().picks()) {
    book_batch_reindex(booking_);
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types = {dtype_of<T>()};
    booking_.forward_scratch = rows_.forward_scratch();
    booking_.backward_scratch = rows_.backward_scratch();
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    rows_.pick<T, T>(run, run.bottoms[1].as<float>(), run.bottoms[0].as<T>(), nullptr, run.tops[0].as<T>());
  }
  void backward(const KernelRun& run) override {
    const Tensor& list = run.bottom_diffs[1];
    if (list) gpu_fill_zero(run.stream, list.data, list.desc.bytes());
    if (!run.bottom_diffs[0]) return;
    rows_.sum(run, run.bottoms[1].as<float>(), run.top_diffs[0].as<T>(), false, run.bottom_diffs[0].as<T>());
  }
  void check(const Pass&) override { rows_.check(); }

 private:
  GpuPickedRows rows_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("BatchReindex", BatchReindexGpu);

}  // namespace robusta
