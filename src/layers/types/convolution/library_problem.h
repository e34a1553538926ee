/// A convolution as a library such as cuDNN is asked for it.
#pragma once

#include <string>

#include "layers/types/convolution/convolution_steps_gpu.h"
#include "ops/convolution_geometry.h"

namespace robusta::dnn {

enum class Direction { kForward, kBackwardData, kBackwardFilters };

struct Problem {
  ConvolutionGeometry geometry;  ///< at most 3 spatial axes
  /// Image, filters and result; else all plain. One axis of these has extent 1 where a plain array serves as well.
  bool channels_last = false;
  bool bias = false, relu = false;  ///< fused into the forward pass
  DType type = DType::kF32;         ///< or 16 bits; of all tensors, sums are f32

  /// For records: names all that a graph of this direction depends on. No blanks.
  std::string key(Direction direction) const;
  /// In elements.
  int64_t image_size() const { return geometry.batch * geometry.channels * elements_in(geometry.axes); }
  int64_t filter_size() const { return geometry.weight_shape().count(); }
  int64_t result_size() const { return result_view().count(); }
  ResultView result_view() const {
    return {geometry.batch, geometry.num_output, elements_out(geometry.axes), channels_last, type};
  }
};

}  // namespace robusta::dnn
