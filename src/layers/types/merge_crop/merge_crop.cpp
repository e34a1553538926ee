// MergeCrop: fields, shapes, and the reference kernel: two gathers, added up.

#include "layers/types/merge_crop/merge_crop.h"

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

Error misfit(const std::string& cause, const std::string& fix) {
  return Error(ErrorKind::kConfig, cause, fix).in_field("bottom");
}

}  // namespace

MergeCropLayer::MergeCropLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.mergecrop_param();
  if (p.forward_size() <= 2 && p.backward_size() <= 2) return;
  throw Error(ErrorKind::kConfig, str(std::max(p.forward_size(), p.backward_size()), " values for 2 bottoms"),
              "give one for each bottom or none")
      .in_field(p.forward_size() > 2 ? "mergecrop_param.forward" : "mergecrop_param.backward");
}

bool MergeCropLayer::counts(int bottom) const {
  const auto& given = param().mergecrop_param().forward();
  return bottom < given.size() ? given[bottom] : true;
}

bool MergeCropLayer::has_gradient(int bottom) const {
  const auto& given = param().mergecrop_param().backward();
  return bottom < given.size() ? given[bottom] : bottom == 0;
}

std::vector<Shape> MergeCropLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &a = bottoms[0], &b = bottoms[1];
  if (a.axes() < 2 || a.axes() != b.axes() || a[0] != b[0] || (!stacks() && a[1] != b[1])) {
    throw misfit(str("the bottoms have shapes ", a.str(), " and ", b.str()),
                 str("they have the same number of items", stacks() ? "" : " and of channels"));
  }
  for (int axis = 2; axis < a.axes(); ++axis) {
    if (b[axis] >= a[axis]) continue;
    throw misfit(str("axis ", axis, " of bottom 1 (", b.str(), ") is shorter than that of bottom 0 (", a.str(), ")"),
                 "bottom 1 is the one that is cropped: exchange the two");
  }
  Shape top = a;
  if (stacks()) top[1] += b[1];
  check_extents(top);
  for (const int bottom : {0, 1}) parts_[bottom] = part_of(bottom, bottoms, top);
  return {top};
}

Gather MergeCropLayer::part_of(int bottom, const std::vector<Shape>& bottoms, const Shape& top) const {
  const Shape& from = bottoms[static_cast<size_t>(bottom)];
  const std::vector<int64_t> strides = plain_strides(from.dims());
  std::vector<GatherAxis> axes;
  for (int axis = 0; axis < top.axes(); ++axis) {
    axes.push_back({.extent = top[axis], .stride = strides[static_cast<size_t>(axis)]});
    if (axis >= 2) axes.back().skip = (from[axis] - top[axis]) / 2;
  }
  if (stacks()) (bottom == 0 ? axes[1].after : axes[1].before) = bottoms[static_cast<size_t>(1 - bottom)][1];
  return coalesced(axes);
}

namespace {

template <typename T>
class MergeCropReference : public Kernel {
 public:
  explicit MergeCropReference(const KernelRequest& request) : layer_(request.layer<MergeCropLayer>()) {
    book_merge_crop(booking_);
    for (const int bottom : {0, 1}) {
      back_[bottom] = transposed(layer_.part(bottom), request.bottoms[static_cast<size_t>(bottom)].count());
    }
    booking_.forward_scratch = request.tops[0].plain().bytes();
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T *y = run.tops[0].as<T>(), *second = static_cast<T*>(run.scratch);
    fill_zero(run.tops[0]);
    if (layer_.counts(0)) run_gather(layer_.part(0), run.bottoms[0].as<T>(), y);
    if (!layer_.counts(1)) return;
    run_gather(layer_.part(1), run.bottoms[1].as<T>(), second);
    parallel_for(run.tops[0].count(), kElementwiseGrain, [=](int64_t i) { y[i] += second[i]; });
  }

  void backward(const KernelRun& run) override {
    for (const int bottom : {0, 1}) {
      const Tensor& diff = run.bottom_diffs[static_cast<size_t>(bottom)];
      if (!diff) continue;
      if (layer_.has_gradient(bottom)) {
        run_gather(back_[bottom], run.top_diffs[0].as<T>(), diff.as<T>());
      } else {
        fill_zero(diff);
      }
    }
  }

 private:
  const MergeCropLayer& layer_;
  Gather back_[2];
};

}  // namespace

ROBUSTA_REGISTER_LAYER("MergeCrop", MergeCropLayer);
ROBUSTA_REGISTER_REFERENCE("MergeCrop", MergeCropReference);

}  // namespace robusta
