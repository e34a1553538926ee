// DepthwiseConvolution, ConvolutionDepthwise, ConvolutionDepthWise: a Convolution with a group for each channel of the
// bottom, by three names (Howard et al. 2017, "MobileNets"; yonghenglh6/DepthwiseConvolution, lyxok1/Tiny-DSOD,
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe). Their weights have the shape of that Convolution's.
//
// It is one for the planner, too, and so has all kernels and chains of Convolution.

#include "base/str.h"
#include "layers/types/convolution/convolution.h"

namespace robusta {
namespace {

caffe::LayerParameter as_convolution(caffe::LayerParameter param) {
  param.set_type("Convolution");
  return param;
}

class DepthwiseConvolutionLayer : public ConvolutionLayer {
 public:
  explicit DepthwiseConvolutionLayer(const caffe::LayerParameter& param) : ConvolutionLayer(as_convolution(param)) {}

  int64_t groups(int64_t channels) const override {
    const auto& p = param().convolution_param();
    if (p.has_group() && p.group() != channels) {
      throw Error(
          ErrorKind::kConfig, str("group ", p.group(), " is given for ", channels, " channels"),
          "a depthwise convolution has a group for each channel: leave group out, or write type: \"Convolution\"")
          .in_field("convolution_param.group");
    }
    return channels;
  }
};

}  // namespace

[[maybe_unused]] static const bool registered_depthwise_convolution = [] {
  const LayerFactory make = [](const caffe::LayerParameter& param) -> std::unique_ptr<Layer> {
    return std::make_unique<DepthwiseConvolutionLayer>(param);
  };
  return register_layer("DepthwiseConvolution", make) && register_layer("ConvolutionDepthwise", make) &&
         register_layer("ConvolutionDepthWise", make);
}();

}  // namespace robusta
