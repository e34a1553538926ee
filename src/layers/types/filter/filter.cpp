// Filter: shapes, and the reference kernel. Items that were left out have gradient zero.

#include "layers/types/filter/filter.h"

#include <algorithm>
#include <cstring>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/finite_numbers.h"

namespace robusta {
namespace {

Error misfit(const std::string& cause) {
  return Error(ErrorKind::kConfig, cause, "the last bottom holds one selector for each item of the others")
      .in_field("bottom");
}

}  // namespace

std::vector<Shape> FilterLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& selectors = bottoms.back();
  if (param().top_size() != static_cast<int>(bottoms.size()) - 1) {
    throw Error(ErrorKind::kConfig,
                str(param().top_size(), " tops for ", bottoms.size() - 1, " bottoms and a selector"),
                "name one top for each bottom but the last")
        .in_field("top");
  }
  if (selectors.axes() < 1 || selectors.count() != selectors[0]) {
    throw misfit("the selector has shape " + selectors.str());
  }
  const int64_t items = selectors[0];
  // What was selected of a batch of another size says nothing about this one.
  if (selection_ && selection_->items != items) selection_.reset();
  std::vector<Shape> tops;
  for (size_t i = 0; i + 1 < bottoms.size(); ++i) {
    if (bottoms[i].axes() < 1 || bottoms[i][0] != items) {
      throw misfit(str("bottom ", i, " has shape ", bottoms[i].str(), ", and there are ", items, " selectors"));
    }
    tops.push_back(bottoms[i]);
    if (selection_) tops.back()[0] = selection_->selected;
  }
  return tops;
}

void FilterLayer::size_by(std::span<const float> selectors) {
  require_finite_numbers(selectors.data(), static_cast<int64_t>(selectors.size()), [](int64_t item, double value) {
    return Error(ErrorKind::kData, str("the selector of item ", item, " is ", value),
                 "give 0 for what is left out, and another number for what is passed on");
  });
  const auto selected = std::ranges::count_if(selectors, [](float selector) { return selector != 0; });
  selection_ = {selected, static_cast<int64_t>(selectors.size())};
}

namespace {

template <typename T>
class FilterReference : public Kernel {
 public:
  explicit FilterReference(const KernelRequest& request) { book_filter(request.bottoms.size(), booking_); }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    for (size_t top = 0; top < run.tops.size(); ++top) {
      const T* x = run.bottoms[top].as<T>();
      T* y = run.tops[top].as<T>();
      const int64_t width = run.bottoms[top].shape().count(1);
      for_items(run.bottoms.back(), run.tops[top].shape()[0], [&](int64_t item, int64_t place) {
        if (place >= 0) std::copy_n(x + item * width, width, y + place * width);
      });
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t top = 0; top < run.top_diffs.size(); ++top) {
      if (!run.bottom_diffs[top]) continue;
      const T* dy = run.top_diffs[top].as<T>();
      T* dx = run.bottom_diffs[top].as<T>();
      const int64_t width = run.bottom_diffs[top].shape().count(1);
      for_items(run.bottoms.back(), run.top_diffs[top].shape()[0], [&](int64_t item, int64_t place) {
        T* to = dx + item * width;
        if (place >= 0) {
          std::copy_n(dy + place * width, width, to);
        } else {
          std::fill_n(to, width, T{0});
        }
      });
    }
    if (run.bottom_diffs.back()) fill_zero(run.bottom_diffs.back());
  }

 private:
  /// body(item, its place among those selected), -1 for one that is not. There are `most` places: a program may have
  /// written other selectors since forward.
  template <typename Body>
  static void for_items(const Tensor& selectors, int64_t most, const Body& body) {
    int64_t place = 0;
    for (int64_t item = 0; item < selectors.count(); ++item) {
      body(item, place < most && selectors.as<T>()[item] != 0 ? place++ : -1);
    }
  }
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Filter", FilterLayer);
ROBUSTA_REGISTER_REFERENCE("Filter", FilterReference);

}  // namespace robusta
