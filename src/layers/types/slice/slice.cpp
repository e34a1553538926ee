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

std::vector<Shape> SliceLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const auto& given = param().slice_param();
  axis_ = given.has_slice_dim()
              ? canonical_axis(bottoms[0], static_cast<int>(given.slice_dim()), "slice_param.slice_dim")
              : canonical_axis(bottoms[0], given.axis(), "slice_param.axis");
  std::vector<Shape> tops;
  for (int64_t extent : extents(bottoms[0][axis_])) {
    tops.push_back(bottoms[0]);
    tops.back()[axis_] = extent;
  }
  return tops;
}

namespace {

std::unique_ptr<Kernel> make_slice(const KernelRequest& request, std::string&) {
  return std::make_unique<CutKernel>(request, request.layer<SliceLayer>().axis(), "reference");
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Slice", SliceLayer);
ROBUSTA_REGISTER_KERNEL("Slice", "reference", 0, make_slice);

}  // namespace robusta
