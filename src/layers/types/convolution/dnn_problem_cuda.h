/// A convolution as cuDNN is asked for it: graphs of the forward pass and of both gradients.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/dnn/graph.h"
#include "layers/types/convolution/convolution_steps_gpu.h"
#include "ops/convolution_geometry.h"

namespace robusta::dnn {

enum class Direction { kForward, kBackwardData, kBackwardFilters };

/// By which memory is bound to the tensors of these graphs.
enum TensorId : int64_t { kImage = 1, kFilters, kResult, kBias, kConvolved, kBiased };

struct Problem {
  ConvolutionGeometry geometry;  ///< at most 3 spatial axes
  /// Image, filters and result; else all plain. One axis of these has extent 1 where a plain array serves as well.
  bool channels_last = false;
  bool bias = false, relu = false;  ///< fused into the forward pass
  DType type = DType::kF32;         ///< or 16 bits; of all tensors, sums are f32

  /// For records: names all that a graph of this direction depends on. No blanks.
  std::string key(Direction direction) const;
  /// In elements.
  int64_t image_size() const;
  int64_t filter_size() const { return geometry.weight_shape().count(); }
  int64_t result_size() const { return result_view().count(); }
  ResultView result_view() const;
};

/// Null, with a reason, where cuDNN has no such graph.
std::shared_ptr<const Graph> make_graph(Direction direction, const Problem& problem, const Target& target,
                                        std::string& why_not);

}  // namespace robusta::dnn
