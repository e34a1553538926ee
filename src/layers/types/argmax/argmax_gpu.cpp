// ArgMax on the GPU: a maximum for each rank, of what comes after the one before. That suits a few ranks, as top_k is
// used.

#include "layers/backends/gpu/axis.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/types/argmax/argmax.h"

namespace robusta {
namespace {

/// A candidate of a column, as it is reduced.
struct ArgMaxEntry {
  float value;
  int64_t place;  ///< -1: none
};

/// The body of reduce_classes for one rank: the largest entry that comes after the one found for the rank before.
template <typename T>
struct ArgMaxRank {
  using Sum = ArgMaxEntry;
  ClassIndex index;
  const T* x;
  ArgMaxEntry* found;  ///< by position: the entry of the rank before, then of this one
  bool first;
  int64_t outer_stride, inner;  ///< of the top, with a rank's place or value at each inner position
  float *places, *values;       ///< of this rank; null: not wanted

  /// Larger values first, of equal ones the larger place (as in Caffe); what is no number after all numbers.
  ROBUSTA_GPU bool before(Sum a, Sum b) const {
    if (a.place < 0 || b.place < 0) return a.place >= 0 && b.place < 0;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return b_nan;
    if (!a_nan && a.value != b.value) return a.value > b.value;
    return a.place > b.place;
  }

  /// Place -1 comes after all others.
  ROBUSTA_GPU Sum zero() const { return {0, -1}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return before(a, b) ? a : b; }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const Sum entry{static_cast<float>(x[index.element(position, c)]), c};
    return first || before(found[position], entry) ? entry : zero();
  }
  ROBUSTA_GPU void store(int64_t position, Sum entry) const {
    found[position] = entry;
    const int64_t outer = index.by_inner.quotient(position), at = outer * outer_stride + position - outer * inner;
    if (places) places[at] = static_cast<float>(entry.place);
    if (values) values[at] = entry.value;
  }
};

template <typename T>
class ArgMaxGpu : public Kernel {
 public:
  explicit ArgMaxGpu(const KernelRequest& request)
      : layer_(request.layer<ArgMaxLayer>()), view_(layer_.view(request.bottoms[0].shape)) {
    // Places are written as f32, since 16 bits do not hold every integer above 2048 (f16) or 256 (bf16).
    book_scores<T>(request, booking_);
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.forward_scratch = static_cast<size_t>(view_.positions()) * sizeof(ArgMaxEntry);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    auto* found = static_cast<ArgMaxEntry*>(run.scratch);
    const int64_t ranks = layer_.top_k();
    // Along an axis the top holds places or values; over whole samples places, then values if they are wanted.
    const bool both = !layer_.has_axis() && layer_.values();
    const int64_t stride = ranks * view_.inner * (both ? 2 : 1);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      float* top = run.tops[0].as<float>() + rank * view_.inner;
      float* places = layer_.has_axis() && layer_.values() ? nullptr : top;
      float* values = both ? top + ranks * view_.inner : places ? nullptr : top;
      reduce_classes(run.stream, view_,
                     ArgMaxRank<T>{.index = ClassIndex(view_),
                                   .x = run.bottoms[0].as<T>(),
                                   .found = found,
                                   .first = rank == 0,
                                   .outer_stride = stride,
                                   .inner = view_.inner,
                                   .places = places,
                                   .values = values});
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const ArgMaxLayer& layer_;
  AxisView view_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("ArgMax", ArgMaxGpu);

}  // namespace robusta
