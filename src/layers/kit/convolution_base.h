/// What Convolution and Deconvolution have in common as layers: shapes, parameters and arithmetic.
///
/// A deconvolution is the transpose of a convolution (Zeiler et al., "Deconvolutional Networks", 2010), so both are
/// described by the geometry of a convolution.
#pragma once

#include <vector>

#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"
#include "ops/convolution_geometry.h"

namespace robusta {

/// Weights are shared by all bottoms; top i comes from bottom i. Parameters: weights of geometry().weight_shape(),
/// then, if has_bias(), a bias with one element per channel of the top.
class ConvolutionBase : public Layer, public TellsShapes {
 public:
  explicit ConvolutionBase(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, -1, 1, -1, true}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool wants_image(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return is_no_image(bottoms[bottom]);
  }
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  std::optional<std::vector<AxisMap>> alignment(const Shape& bottom, const Shape& top) const override;

  int64_t num_output() const override { return param().convolution_param().num_output(); }
  /// Of each bottom, after infer_tops.
  const ConvolutionGeometry& geometry() const { return geometry_; }
  bool has_bias() const { return param().convolution_param().bias_term(); }

  /// For a bottom with so many channels.
  virtual int64_t groups(int64_t channels) const { return param().convolution_param().group(); }

  /// False: bottoms are the inputs of geometry()'s convolution, and tops its outputs. True: the other way round.
  virtual bool is_transposed() const = 0;
  int64_t top_channels() const { return is_transposed() ? geometry_.channels : geometry_.num_output; }
  /// Elements of one channel of one sample of a top.
  int64_t top_plane() const { return is_transposed() ? elements_in(geometry_.axes) : elements_out(geometry_.axes); }

 protected:
  /// The geometry for a bottom of this shape with `channel_axis`; fills all but `batch` and the window's kernel,
  /// stride, pad and dilation, which are there already. Throws Error{kConfig}.
  virtual void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const = 0;

 private:
  ConvolutionGeometry geometry_;
  FixedShape weights_;
};

}  // namespace robusta
