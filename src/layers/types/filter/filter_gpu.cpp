// Filter on the GPU: a thread for each item counts those selected before it; then elements move. Each bottom keeps its
// type, selectors are f32.

#include "device/gpu/copy.h"
#include "device/gpu/divisor.h"
#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/filter/filter.h"

namespace robusta {
namespace {

/// places[item]: among those selected, -1 for one that is not; items[place]: the inverse. There are `most` places: a
/// program may have written other selectors since forward.
struct FilterPlaces {
  const float* selectors;
  int64_t most;
  int64_t *places, *items;
  ROBUSTA_GPU void operator()(int64_t item) const {
    int64_t before = 0;
    for (int64_t i = 0; i < item; ++i) before += selectors[i] != 0;
    const bool selected = before < most && selectors[item] != 0;
    places[item] = selected ? before : -1;
    if (selected) items[before] = item;
  }
};

/// Row i of `to` is row rows[i] of `from`, zeros where that is -1.
template <typename T>
struct FilterRows {
  Divisor by_width;
  int64_t width;
  const int64_t* rows;
  const T* from;
  T* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t k = by_width.take_off(row), source = rows[row];
    to[i] = source < 0 ? T{} : from[source * width + k];
  }
};

class FilterGpu : public Kernel {
 public:
  explicit FilterGpu(const KernelRequest& request) : items_(request.bottoms.back().count()) {
    book_filter(request.bottoms.size(), booking_);
    for (const TensorDesc& bottom : request.bottoms) booking_.bottom_types.push_back(bottom.dtype);
    booking_.top_types.assign(booking_.bottom_types.begin(), booking_.bottom_types.end() - 1);
    booking_.bottom_types.back() = DType::kF32;
    booking_.forward_scratch = booking_.backward_scratch = static_cast<size_t>(2 * items_) * sizeof(int64_t);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    find_places(run, run.tops[0]);
    for (size_t top = 0; top < run.tops.size(); ++top) move(run, run.bottoms[top], items(run), run.tops[top]);
  }

  void backward(const KernelRun& run) override {
    find_places(run, run.top_diffs[0]);
    for (size_t top = 0; top < run.top_diffs.size(); ++top) {
      if (run.bottom_diffs[top]) move(run, run.top_diffs[top], places(run), run.bottom_diffs[top]);
    }
    const Tensor& selectors = run.bottom_diffs.back();
    if (selectors) gpu_fill_zero(run.stream, selectors.data, selectors.desc.bytes());
  }

 private:
  static int64_t* places(const KernelRun& run) { return static_cast<int64_t*>(run.scratch); }
  int64_t* items(const KernelRun& run) const { return places(run) + items_; }
  void find_places(const KernelRun& run, const Tensor& selected) const {
    const float* selectors = run.bottoms.back().as<float>();
    for_each(run.stream, items_, FilterPlaces{selectors, selected.shape()[0], places(run), items(run)});
  }
  static void move(const KernelRun& run, const Tensor& from, const int64_t* rows, const Tensor& to) {
    const int64_t width = std::max<int64_t>(to.shape().count(1), 1);
    with_storage(to.desc.dtype, [&](auto t) {
      using T = decltype(t);
      for_each(run.stream, to.count(), FilterRows<T>{Divisor(width), width, rows, from.as<T>(), to.as<T>()});
    });
  }

  int64_t items_;
};

std::unique_ptr<Kernel> make_filter_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<FilterGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Filter", "gpu", 10, make_filter_gpu);

}  // namespace robusta
