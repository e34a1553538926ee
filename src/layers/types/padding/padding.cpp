// Padding: zeros around images, or, where pad_beg and pad_end are negative, images with their margins cut off (as in
// TheLegendAli/DeepLab-Context). pad_beg is for the top and the left, pad_end for the bottom and the right.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class PaddingLayer : public GatherLayer {
 public:
  explicit PaddingLayer(const caffe::LayerParameter& param) : GatherLayer(param) {
    if ((begin() < 0) == (end() < 0) || begin() == 0 || end() == 0) return;
    throw refused(str("pad_beg ", begin(), " and pad_end ", end(), " have different signs"),
                  "both add, or both cut off");
  }
  Arity arity() const override { return {}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    bottom_ = bottoms[0];
    if (bottom_.axes() != 4) {
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottom_.str()));
    }
    Shape top = bottom_;
    for (const int axis : {2, 3}) {
      top[axis] += begin() + end();
      if (top[axis] < 1) throw refused(str("nothing is left of ", bottom_.str()), "cut off less");
    }
    check_extents(top);
    return {top};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (int axis = 0; axis < 4; ++axis) {
      const int64_t first = axis < 2 ? 0 : begin(), last = axis < 2 ? 0 : end();
      steps.push_back({{.extent = bottom_[axis] + first + last,
                        .stride = strides[static_cast<size_t>(axis)],
                        .skip = std::max<int64_t>(-first, 0),
                        .before = std::max<int64_t>(first, 0),
                        .after = std::max<int64_t>(last, 0)}});
    }
    return steps;
  }

 private:
  int64_t begin() const { return param().padding_param().pad_beg(); }
  int64_t end() const { return param().padding_param().pad_end(); }
  static Error refused(const std::string& cause, const std::string& fix) {
    return Error(ErrorKind::kConfig, cause, fix).in_field("padding_param.pad_beg");
  }

  Shape bottom_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Padding", PaddingLayer);

}  // namespace robusta
