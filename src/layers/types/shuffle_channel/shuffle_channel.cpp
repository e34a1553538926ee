// ShuffleChannel: takes channels from `group` groups in turn, so that what follows sees all of them (Zhang et al. 2018,
// "ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile Devices"; farmingyard/ShuffleNet).
//
// Channel j * group + i of the top is channel j of group i.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class ShuffleChannelLayer : public GatherLayer {
 public:
  explicit ShuffleChannelLayer(const caffe::LayerParameter& param) : GatherLayer(param) {
    if (group() == 0) throw refused("group is 0", "use 1 for no groups");
  }
  Arity arity() const override { return {}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    if (bottoms[0].axes() < 2 || bottoms[0][1] % group() != 0) {
      throw refused(str("group ", group(), " does not divide the channels of ", bottoms[0].str()),
                    "axis 1 holds the channels, as many in each group");
    }
    bottom_ = bottoms[0];
    return {bottom_};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    const int64_t own = bottom_[1] / group();
    std::vector<std::vector<GatherAxis>> steps;
    for (int axis = 0; axis < bottom_.axes(); ++axis) {
      steps.push_back({{.extent = bottom_[axis], .stride = strides[static_cast<size_t>(axis)]}});
    }
    steps[1] = {{.extent = own, .stride = strides[1]}, {.extent = group(), .stride = own * strides[1]}};
    return steps;
  }

 private:
  int64_t group() const { return param().shuffle_channel_param().group(); }
  static Error refused(const std::string& cause, const std::string& fix) {
    return Error(ErrorKind::kConfig, cause, fix).in_field("shuffle_channel_param.group");
  }

  Shape bottom_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("ShuffleChannel", ShuffleChannelLayer);

}  // namespace robusta
