// ArgMax: meaning and reference kernel.
//
// A partial sort of each column's (value, place) pairs (std::partial_sort: a heap of top_k entries). The order is
// total, NaNs and equal values included, so that every kernel finds the same places.

#include "layers/types/argmax/argmax.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/booking.h"

namespace robusta {

std::vector<Shape> ArgMaxLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const int axis = canonical_axis(bottom, has_axis() ? param().argmax_param().axis() : 0, "argmax_param.axis");
  const int64_t candidates = view(bottom).classes;
  if (top_k() < 1 || top_k() > candidates) {
    throw Error(ErrorKind::kConfig,
                str("top_k ", top_k(), " does not lie between 1 and the ", candidates, " elements to choose from"))
        .in_field("argmax_param.top_k");
  }
  if (has_axis()) {
    Shape top = bottom;
    top[axis] = top_k();
    return {top};
  }
  // Samples, then (places, values) or places alone, then the ranks; as many axes as the bottom has.
  Shape top(std::vector<int64_t>(static_cast<size_t>(std::max(bottom.axes(), 3)), 1));
  top[0] = bottom[0];
  top[1] = values() ? 2 : 1;
  top[2] = top_k();
  return {top};
}

namespace {

template <typename T>
class ArgMaxReference : public Kernel {
 public:
  explicit ArgMaxReference(const KernelRequest& request)
      : layer_(request.layer<ArgMaxLayer>()), view_(layer_.view(request.bottoms[0].shape)) {
    book_reads_nothing(1, booking_);
    booking_.forward_scratch = static_cast<size_t>(view_.classes) * sizeof(Entry);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    auto* entries = static_cast<Entry*>(run.scratch);
    const int64_t k = layer_.top_k();
    for (int64_t position = 0; position < view_.positions(); ++position) {
      const int64_t outer = position / view_.inner, inner = position % view_.inner;
      const T* x = run.bottoms[0].as<T>() + outer * view_.classes * view_.inner + inner;
      for (int64_t c = 0; c < view_.classes; ++c) entries[c] = {x[c * view_.inner], c};
      std::partial_sort(entries, entries + k, entries + view_.classes, before);
      write(run.tops[0].as<T>(), outer, inner, entries);
    }
  }

  void backward(const KernelRun&) override {}

 private:
  /// A candidate of a column.
  struct Entry {
    T value;
    int64_t place;
  };

  /// Larger values first, of equal ones the larger place (as in Caffe); what is no number last.
  static bool before(const Entry& a, const Entry& b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return b_nan;
    if (!a_nan && a.value != b.value) return a.value > b.value;
    return a.place > b.place;
  }

  /// Along an axis the top holds either places or values; over whole samples places, and values behind them if wanted.
  void write(T* top, int64_t outer, int64_t inner, const Entry* entries) const {
    const int64_t k = layer_.top_k();
    if (layer_.has_axis()) {
      for (int64_t i = 0; i < k; ++i) {
        top[(outer * k + i) * view_.inner + inner] =
            layer_.values() ? entries[i].value : static_cast<T>(entries[i].place);
      }
      return;
    }
    T* row = top + outer * k * (layer_.values() ? 2 : 1);
    for (int64_t i = 0; i < k; ++i) {
      row[i] = static_cast<T>(entries[i].place);
      if (layer_.values()) row[k + i] = entries[i].value;
    }
  }

  const ArgMaxLayer& layer_;
  AxisView view_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ArgMax", ArgMaxLayer);
ROBUSTA_REGISTER_REFERENCE("ArgMax", ArgMaxReference);

}  // namespace robusta
