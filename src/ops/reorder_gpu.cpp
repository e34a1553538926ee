// Reorders between plain and channels-last tensors in a GPU's memory.

#include <cassert>

#include "device/gpu/for_each.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// Per batch item a matrix of rows x cols becomes its transpose; neighbouring indices write neighbouring elements.
template <typename T>
struct TransposeEach {
  const T* from;
  T* to;
  int64_t rows, cols;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t row = i % rows, col = i / rows % cols, begin = i / (rows * cols) * rows * cols;
    to[i] = from[begin + row * cols + col];
  }
};

class TransposeGpu : public Reorder {
 public:
  TransposeGpu(int64_t batch, int64_t rows, int64_t cols) : batch_(batch), rows_(rows), cols_(cols) {}
  void run(const void* from, void* to, void*, Stream* stream) override {
    for_each(stream, batch_ * rows_ * cols_,
             TransposeEach<float>{static_cast<const float*>(from), static_cast<float*>(to), rows_, cols_});
  }

 private:
  int64_t batch_, rows_, cols_;
};

std::unique_ptr<Reorder> make_gpu_reorder(const TensorDesc& from, const TensorDesc& to) {
  assert(!from.layout != !to.layout && from.dtype == DType::kF32);
  const ChannelExtents e = channel_extents(from.shape);
  const bool towards = is_channels_last(to.layout);
  return std::make_unique<TransposeGpu>(e.batch, towards ? e.channels : e.pixels, towards ? e.pixels : e.channels);
}

[[maybe_unused]] const bool registered = register_reorder(kGpuKind, make_gpu_reorder);

}  // namespace
}  // namespace robusta
