/// Convolution: what its kernels share.
#pragma once

#include "layers/kit/convolution_base.h"
#include "layers/kit/model_group.h"

namespace robusta {

/// The bottom is the input of geometry()'s convolution, the top its output.
class ConvolutionLayer : public ConvolutionBase, public CutByOutputs {
 public:
  using ConvolutionBase::ConvolutionBase;
  bool is_transposed() const override { return false; }

  /// REQUIRES: one bottom, and one group or a multiple of the parts, so that a part has whole groups.
  void cut(ModelGroup& group) override;
  bool parts_read_whole_bottom() const override { return param().convolution_param().group() == 1; }
  /// The ranks that share out its outputs; null: this one has all of them.
  ModelGroup* group() const { return group_; }

 protected:
  void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const override;

 private:
  ModelGroup* group_ = nullptr;
};

}  // namespace robusta
