// Crop: a part of bottom 0 of the size of bottom 1, which gives nothing but that (Long et al. 2015, "Fully
// Convolutional Networks for Semantic Segmentation").
//
// Axes from `axis` on are cropped. The part begins at `offset`: one for all of these axes, or one for each, 0 where
// none is given. What was cut off has no gradient.

#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class CropLayer : public GatherLayer {
 public:
  using GatherLayer::GatherLayer;
  Arity arity() const override { return {2, 2, 1, 1}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape &bottom = bottoms[0], &wanted = bottoms[1];
    const int first = canonical_axis(bottom, param().crop_param().axis(), "crop_param.axis");
    check_axes(bottom, wanted, first);
    top_ = bottom;
    skipped_.assign(static_cast<size_t>(bottom.axes()), 0);
    for (int axis = first; axis < bottom.axes(); ++axis) {
      const int64_t offset = offset_of(axis - first);
      if (offset > bottom[axis] || wanted[axis] > bottom[axis] - offset) {
        throw Error(ErrorKind::kConfig,
                    str("axis ", axis, " of bottom 0 (", bottom.str(), ") has no ", wanted[axis],
                        " entries from offset ", offset, " on, as bottom 1 (", wanted.str(), ") asks for"),
                    "use a smaller offset; bottom 0 is the larger blob")
            .in_field("crop_param.offset");
      }
      top_[axis] = wanted[axis];
      skipped_[static_cast<size_t>(axis)] = offset;
    }
    return {top_};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      steps.push_back({{.extent = top_[static_cast<int>(axis)], .stride = strides[axis], .skip = skipped_[axis]}});
    }
    return steps;
  }

  std::optional<std::vector<AxisMap>> alignment(const Shape&, const Shape&) const override {
    std::vector<AxisMap> maps;
    for (size_t axis = 2; axis < skipped_.size(); ++axis) maps.push_back({1, static_cast<double>(skipped_[axis])});
    return maps;
  }

 private:
  int64_t offset_of(int cropped_axis) const {
    const auto& offsets = param().crop_param().offset();
    return offsets.empty() ? 0 : offsets[offsets.size() == 1 ? 0 : cropped_axis];
  }

  void check_axes(const Shape& bottom, const Shape& wanted, int first) const {
    const int offsets = param().crop_param().offset_size(), cropped = bottom.axes() - first;
    if (offsets > 1 && offsets != cropped) {
      throw Error(ErrorKind::kConfig, str(offsets, " offsets for ", cropped, " cropped axes"),
                  "give one for all of them, or one for each")
          .in_field("crop_param.offset");
    }
    if (wanted.axes() < bottom.axes()) {
      throw Error(ErrorKind::kConfig,
                  str("bottom 1 (", wanted.str(), ") has fewer axes than bottom 0 (", bottom.str(), ")"),
                  "it gives the size of each axis that is cropped")
          .in_field("bottom");
    }
  }

  Shape top_;
  std::vector<int64_t> skipped_;  ///< of each axis
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Crop", CropLayer);

}  // namespace robusta
