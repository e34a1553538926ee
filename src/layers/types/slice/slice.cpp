// Slice: fields, shapes and the reference kernel.
//
// The tops are parts of x along one axis, of equal extents or cut at slice_point; the gradients are put side by side, a
// top without one counting as zeros.

#include "layers/types/slice/slice.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/pieces_kernels.h"

namespace robusta {

SliceLayer::SliceLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& given = param.slice_param();
  if (given.has_axis() && given.has_slice_dim()) {
    throw Error(ErrorKind::kConfig, "axis and slice_dim are both given", "keep axis; slice_dim is its old name")
        .in_field("slice_param.slice_dim");
  }
  if (given.slice_point_size() != 0 && given.slice_point_size() != param.top_size() - 1) {
    throw Error(
        ErrorKind::kConfig,
        str(param.top_size(), " tops need ", param.top_size() - 1, " slice points, not ", given.slice_point_size()),
        "leave slice_point out for equal parts")
        .in_field("slice_param.slice_point");
  }
}

std::vector<int64_t> SliceLayer::extents(int64_t whole) const {
  const auto& points = param().slice_param().slice_point();
  const int64_t tops = param().top_size();
  if (points.empty()) {
    if (whole % tops != 0) {
      throw Error(ErrorKind::kConfig,
                  str("the ", whole, " entries of axis ", axis_, " cannot be cut into ", tops, " equal parts"),
                  "give slice_point")
          .in_field("slice_param.slice_point");
    }
    return std::vector<int64_t>(static_cast<size_t>(tops), whole / tops);
  }
  std::vector<int64_t> extents;
  int64_t before = 0;
  for (int i = 0; i <= points.size(); ++i) {
    const int64_t end = i < points.size() ? int64_t{points[i]} : whole;
    if (end <= before || end > whole) {
      throw Error(ErrorKind::kConfig, str("slice points must rise from 1 to ", whole - 1, " (axis ", axis_, " has ",
                                          whole, " entries), but ", end, " follows ", before))
          .in_field("slice_param.slice_point");
    }
    extents.push_back(end - before);
    before = end;
  }
  return extents;
}

int SliceLayer::given_axis() const {
  const auto& given = param().slice_param();
  return given.has_slice_dim() ? static_cast<int>(given.slice_dim()) : given.axis();
}

std::optional<Shape> SliceLayer::wanted_bottom(size_t, const std::vector<Shape>& bottoms) const {
  const int axis = given_axis(), axes = bottoms[0].axes();
  if (axis < 1 || axis > axes || axes == 0) return std::nullopt;  // the batch's items are as many as they are
  std::vector<int64_t> dims = bottoms[0].dims();
  if (axis == axes) dims.push_back(1);
  Shape wanted(std::move(dims));
  const auto& points = param().slice_param().slice_point();
  const int64_t tops = param().top_size(), extent = wanted[axis];
  if (points.empty()) {
    if (extent % tops == 0) return std::nullopt;
    wanted[axis] = extent * tops;
    return wanted;
  }
  const int64_t last = points[points.size() - 1], before = points.size() > 1 ? points[points.size() - 2] : 0;
  const bool of_images = axes == 4 && axis == 1;
  const bool fits = axis < axes && extent > last && !of_images;
  if (fits || extent == 2 * last - before) return std::nullopt;
  wanted[axis] = 2 * last - before;
  return wanted;
}

std::optional<Shape> SliceLayer::bottom_for(size_t, const Shape& wanted, const std::vector<Shape>& bottoms) const {
  const int axis = given_axis() < 0 ? given_axis() + wanted.axes() : given_axis();
  if (axis < 0 || axis >= wanted.axes() || axis >= bottoms[0].axes()) return std::nullopt;
  Shape whole = wanted;
  const bool equal_parts = param().slice_param().slice_point().empty();
  whole[axis] = equal_parts ? wanted[axis] * param().top_size() : bottoms[0][axis];
  return whole;
}

std::vector<Shape> SliceLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const bool by_old_name = param().slice_param().has_slice_dim();
  axis_ = canonical_axis(bottoms[0], given_axis(), by_old_name ? "slice_param.slice_dim" : "slice_param.axis");
  std::vector<Shape> tops;
  for (int64_t extent : extents(bottoms[0][axis_])) {
    tops.push_back(bottoms[0]);
    tops.back()[axis_] = extent;
  }
  return tops;
}

namespace {

std::unique_ptr<Kernel> make_slice(const KernelRequest& request, std::string&) {
  const Pieces pieces(request.bottoms[0], request.tops, request.layer<SliceLayer>().axis());
  return std::make_unique<CutKernel>(request, pieces, "reference");
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Slice", SliceLayer);
ROBUSTA_REGISTER_KERNEL("Slice", "reference", 0, make_slice);

}  // namespace robusta
