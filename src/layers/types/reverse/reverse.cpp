// Reverse: fields, shapes and the reference kernel.

#include "layers/types/reverse/reverse.h"

#include <set>

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {

std::vector<Shape> ReverseLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const auto& given = param().reverse_param().axis();
  std::set<int> axes;
  for (const int32_t axis : given) {
    if (axes.insert(canonical_axis(bottom, axis, "reverse_param.axis")).second) continue;
    throw Error(ErrorKind::kConfig, str("axis ", axis, " stands twice"), "leave one out")
        .in_field("reverse_param.axis");
  }
  if (given.empty()) axes.insert(canonical_axis(bottom, 0, "reverse_param.axis"));
  if (static_cast<int>(axes.size()) > ReverseMap::kMost) {
    throw Error(ErrorKind::kConfig, str("there are ", axes.size(), " axes"), str("give at most ", ReverseMap::kMost))
        .in_field("reverse_param.axis");
  }
  map_ = {};
  for (const int axis : axes) {
    map_.extent[map_.axes] = bottom[axis];
    map_.stride[map_.axes] = bottom.count(axis + 1);
    ++map_.axes;
  }
  return {bottom};
}

namespace {

template <typename T>
class ReverseReference : public Kernel {
 public:
  explicit ReverseReference(const KernelRequest& request) : map_(request.layer<ReverseLayer>().map()) {
    book_reads_nothing(1, booking_);
    booking_.repeatable = true;
  }
  std::string describe() const override { return "reference"; }
  void forward(const KernelRun& run) override { reverse(run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) reverse(run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  void reverse(const Tensor& from, const Tensor& to) const {
    const T* x = from.as<T>();
    T* y = to.as<T>();
    parallel_for(to.count(), kElementwiseGrain, [=, this](int64_t i) { y[i] = x[map_(i)]; });
  }

  const ReverseMap map_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Reverse", ReverseLayer);
ROBUSTA_REGISTER_REFERENCE("Reverse", ReverseReference);

}  // namespace robusta
