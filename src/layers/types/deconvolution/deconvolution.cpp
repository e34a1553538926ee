// Deconvolution: shapes, and the reference kernel. Nothing else needs to know the layer, so it has no header.

#include "base/str.h"
#include "layers/kit/convolution_base.h"
#include "layers/kit/gemm_convolution_kernel.h"
#include "layers/kit/windows.h"

namespace robusta {
namespace {

/// geometry() is that of the convolution which takes our top as its input: `channels` are those of our top,
/// `num_output` those of our bottom, `in` is the extent of the top and `out` that of the bottom.
class DeconvolutionLayer : public ConvolutionBase {
 public:
  using ConvolutionBase::ConvolutionBase;
  bool is_transposed() const override { return true; }

 protected:
  void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const override {
    if (param().convolution_param().pad_type() != 0) {
      throw Error(ErrorKind::kUnsupported, "pad_type of a Deconvolution is not in this build",
                  "write pad_t, pad_b, pad_l and pad_r")
          .in_field("convolution_param.pad_type");
    }
    geometry.channels = param().convolution_param().num_output();
    geometry.num_output = bottom[channel_axis];
    for (size_t a = 0; a < geometry.axes.size(); ++a) {
      WindowAxis& axis = geometry.axes[a];
      axis.out = bottom[channel_axis + 1 + static_cast<int>(a)];
      axis.in = transposed_extent(axis, spatial_axis_name(a, geometry.axes.size()));
    }
  }

 private:
  static int64_t transposed_extent(const WindowAxis& axis, const std::string& name) {
    int64_t in = 0;
    const bool overflows = __builtin_mul_overflow(axis.stride, axis.out - 1, &in) ||
                           __builtin_add_overflow(in, axis.extent() - axis.pad - axis.pad_behind(), &in);
    if (!overflows && in >= 1) return in;
    throw Error(ErrorKind::kConfig,
                overflows ? str("stride ", axis.stride, " makes the output's ", name, " impossibly large")
                          : str("pad ", axis.pad, " leaves nothing of the output: its ", name, " would be ", in),
                overflows ? "use a smaller stride" : "use less padding or a larger kernel")
        .in_field(overflows ? "convolution_param.stride" : "convolution_param.pad");
  }
};

template <typename T>
using DeconvolutionReference = GemmConvolutionKernel<T>;

}  // namespace

ROBUSTA_REGISTER_LAYER("Deconvolution", DeconvolutionLayer);
ROBUSTA_REGISTER_REFERENCE("Deconvolution", DeconvolutionReference);

}  // namespace robusta
