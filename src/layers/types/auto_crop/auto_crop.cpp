// AutoCrop: the part of bottom 0, behind batch and channels, that lies where bottom 1 does (Long et al. 2015, "Fully
// Convolutional Networks for Semantic Segmentation"; yun-liu/RCF, and the Crop of old forks).
//
// Where that is the net knows, from the windows between both bottoms and a blob that both come from.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class AutoCropLayer : public GatherLayer {
 public:
  using GatherLayer::GatherLayer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  bool aligns_bottoms() const override { return true; }
  void align(const std::vector<int64_t>& offsets) override { offsets_ = offsets; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape &bottom = bottoms[0], &wanted = bottoms[1];
    const auto axes = static_cast<size_t>(bottom.axes());
    if (bottom.axes() != wanted.axes() || axes < 3) {
      throw Error(ErrorKind::kConfig, str("the bottoms have shapes ", bottom.str(), " and ", wanted.str()),
                  "both have batch, channels and the same spatial axes")
          .in_field("bottom");
    }
    offsets_.resize(axes - 2, 0);
    top_ = bottom;
    for (int axis = 2; axis < bottom.axes(); ++axis) {
      const int64_t offset = offsets_[static_cast<size_t>(axis) - 2];
      if (offset > bottom[axis] || wanted[axis] > bottom[axis] - offset) {
        throw Error(ErrorKind::kConfig,
                    str("axis ", axis, " of bottom 0 (", bottom.str(), ") ends before bottom 1 (", wanted.str(),
                        ") does, which begins ", offset, " entries behind it"),
                    "use a larger padding in the first convolution")
            .in_field("bottom");
      }
      top_[axis] = wanted[axis];
    }
    return {top_};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      const int64_t skip = axis < 2 ? 0 : offsets_[axis - 2];
      steps.push_back({{.extent = top_[static_cast<int>(axis)], .stride = strides[axis], .skip = skip}});
    }
    return steps;
  }

  std::optional<std::vector<AxisMap>> alignment(const Shape&, const Shape&) const override {
    std::vector<AxisMap> maps;
    for (const int64_t offset : offsets_) maps.push_back({1, static_cast<double>(offset)});
    return maps;
  }

 private:
  Shape top_;
  std::vector<int64_t> offsets_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("AutoCrop", AutoCropLayer);

}  // namespace robusta
