/// Convolution and Deconvolution: what their kernels share.
///
/// Deconvolution is the transpose of a convolution, so both are described by the geometry of a convolution; for
/// Deconvolution its input is our top and its output is our bottom. Cross-correlation, as in Caffe: taps are not
/// mirrored.
#pragma once

#include <vector>

#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "ops/window.h"

namespace robusta {

/// One image set through one convolution: [batch, channels, in...] to [batch, num_output, out...].
struct ConvolutionGeometry {
  int64_t batch = 1;  ///< all axes before the channel axis
  int64_t channels = 1, num_output = 1, group = 1;
  std::vector<WindowAxis> axes;  ///< spatial axes; there may be none

  /// num_output, channels / group, kernel...
  Shape weight_shape() const;
  /// Of one pass, a multiply-add counted as two, padding included.
  double flops() const;
  friend bool operator==(const ConvolutionGeometry&, const ConvolutionGeometry&) = default;
};

/// Weights are shared by all bottoms; top i comes from bottom i. Parameters: weights of geometry().weight_shape(),
/// then, if has_bias(), a bias with one element per channel of the top.
class ConvolutionBase : public Layer {
 public:
  explicit ConvolutionBase(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, -1, 1, -1, true}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  /// Of each bottom, after infer_tops.
  const ConvolutionGeometry& geometry() const { return geometry_; }
  bool has_bias() const { return param().convolution_param().bias_term(); }

 protected:
  /// The geometry for a bottom of this shape with `channel_axis`; fills all but `batch` and the window's kernel,
  /// stride, pad and dilation, which are there already. Throws Error{kConfig}.
  virtual void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const = 0;
  /// Channels and spatial extents of the top.
  virtual int64_t top_channels(const ConvolutionGeometry& geometry) const = 0;
  virtual int64_t top_extent(const WindowAxis& axis) const = 0;

 private:
  ConvolutionGeometry geometry_;
  FixedShape weights_;
};

class ConvolutionLayer : public ConvolutionBase {
 public:
  using ConvolutionBase::ConvolutionBase;

 protected:
  void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const override;
  int64_t top_channels(const ConvolutionGeometry& geometry) const override { return geometry.num_output; }
  int64_t top_extent(const WindowAxis& axis) const override { return axis.out; }
};

/// "height" and "width" for two axes, "axis 0 of 3" for others: for messages.
std::string spatial_axis_name(size_t axis, size_t axes);

/// Kernel, stride, pad and dilation of a convolution_param for this many spatial axes. Throws Error{kConfig}.
std::vector<WindowAxis> read_windows(const caffe::ConvolutionParameter& param, size_t axes);

}  // namespace robusta
