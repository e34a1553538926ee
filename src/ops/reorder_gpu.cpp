// Reorders in a GPU's memory: between plain and channels last, and between element types.

#include <cassert>

#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// Per batch item a matrix of rows x cols becomes its transpose; neighbouring indices write neighbouring elements.
template <typename From, typename To>
struct TransposeEach {
  static constexpr int kWidth = kPackWidth<To>;
  const From* from;
  To* to;
  int64_t rows, cols;
  Divisor by_rows, by_cols;
  bool in_packs() const { return on_packs(to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    int64_t item = i, row = by_rows.take_off(item), col = by_cols.take_off(item);
    Pack<float, N> values;
    for (int n = 0; n < N; ++n) {
      values.at[n] = static_cast<float>(from[(item * rows + row) * cols + col]);
      if (++row < rows) continue;
      row = 0;
      if (++col == cols) col = 0, ++item;
    }
    store_pack(values, to + i);
  }
};

template <typename From, typename To>
struct ConvertEach {
  static constexpr int kWidth = kPackWidth<From, To>;
  const From* from;
  To* to;
  bool in_packs() const { return on_packs(from) && on_packs(to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    store_pack(load_pack<N>(from + i), to + i);
  }
};

template <typename From, typename To>
class TransposeGpu : public Reorder {
 public:
  TransposeGpu(int64_t batch, int64_t rows, int64_t cols) : batch_(batch), rows_(rows), cols_(cols) {}
  void run(const void* from, void* to, void*, Stream* stream) override {
    const int64_t count = batch_ * rows_ * cols_;
    if (count == 0) return;
    for_each_pack(stream, count,
                  TransposeEach<From, To>{static_cast<const From*>(from), static_cast<To*>(to), rows_, cols_,
                                          Divisor(rows_), Divisor(cols_)});
  }

 private:
  int64_t batch_, rows_, cols_;
};

/// Between types, in one layout.
template <typename From, typename To>
class ConvertGpu : public Reorder {
 public:
  explicit ConvertGpu(int64_t count) : count_(count) {}
  void run(const void* from, void* to, void*, Stream* stream) override {
    for_each_pack(stream, count_, ConvertEach<From, To>{static_cast<const From*>(from), static_cast<To*>(to)});
  }

 private:
  int64_t count_;
};

template <typename From, typename To>
std::unique_ptr<Reorder> make_typed_reorder(const TensorDesc& from, const TensorDesc& to) {
  if (same_layout(from.layout, to.layout)) return std::make_unique<ConvertGpu<From, To>>(from.count());
  const ChannelExtents e = channel_extents(from.shape);
  const bool towards = is_channels_last(to.layout);
  return std::make_unique<TransposeGpu<From, To>>(e.batch, towards ? e.channels : e.pixels,
                                                  towards ? e.pixels : e.channels);
}

std::unique_ptr<Reorder> make_gpu_reorder(const TensorDesc& from, const TensorDesc& to) {
  return with_storage(from.dtype, [&](auto a) {
    return with_storage(to.dtype, [&](auto b) { return make_typed_reorder<decltype(a), decltype(b)>(from, to); });
  });
}

[[maybe_unused]] const bool registered = register_reorder(kGpuKind, make_gpu_reorder);

}  // namespace
}  // namespace robusta
