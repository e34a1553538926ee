/// A convolution as a library such as cuDNN is asked for it.
#pragma once

#include <optional>
#include <string>

#include "layers/types/convolution/convolution_steps_gpu.h"
#include "layers/types/convolution/space_to_depth_gpu.h"
#include "ops/convolution_geometry.h"

namespace robusta {
namespace dnn {

enum class Direction { kForward, kBackwardData, kBackwardFilters };

struct Problem {
  ConvolutionGeometry geometry;  ///< at most 3 spatial axes
  /// Image, filters and result; else all plain. One axis of these has extent 1 where a plain array serves as well.
  bool channels_last = false;
  bool bias = false, adds = false, relu = false;  ///< fused into the forward pass; adds: an array
  bool sums = false;                              ///< forward also sums the result and its squares by channel, in f32
  bool rounds_apart = false;  ///< with sums: rounding is an operation of its own, for which there are other engines
  bool gates = false;         ///< the image's gradient is 0 where the image, which a ReLU gave, is not positive
  DType type = DType::kF32;   ///< or 16 bits; of all tensors, sums are f32

  /// For records: names all that a graph of this direction depends on. No blanks.
  std::string key(Direction direction) const;
  /// Whether anything is to be computed with the convolution.
  bool follows() const { return bias || adds || relu; }
  /// In elements.
  int64_t image_size() const { return geometry.batch * geometry.channels * elements_in(geometry.axes); }
  int64_t filter_size() const { return geometry.weight_shape().count(); }
  int64_t result_size() const { return result_view().count(); }
  ResultView result_view() const {
    return {geometry.batch, geometry.num_output, elements_out(geometry.axes), channels_last, type};
  }
};

}  // namespace dnn

/// What is computed, in the format that all directions have kernels for.
struct LibraryPasses {
  dnn::Problem problem;
  std::optional<SpaceToDepth> fold;  ///< `problem` is the folded one, and the image comes plain and in f32
  float slope = 0;                   ///< of a ReLU
  bool adds = false, relu = false;   ///< an array is added, a ReLU follows
  bool fused = false;                ///< forward: what problem.follows() says is the library's work

  /// The library's order of the filters is not Caffe's.
  bool turns_filters() const {
    const ConvolutionGeometry& g = problem.geometry;
    return problem.channels_last && g.channels / g.group > 1 && taps(g.axes) > 1;
  }
  /// It takes a copy of them, for that or as they are of 16 bits.
  bool packs_filters() const { return turns_filters() || is_16_bit(problem.type); }
  /// Of a filter in Caffe's order, as far as it is to be turned.
  int64_t filter_rows() const { return channels_of_filter() * (turns_filters() ? 1 : taps(problem.geometry.axes)); }
  int64_t filter_cols() const { return turns_filters() ? taps(problem.geometry.axes) : 1; }

 private:
  int64_t channels_of_filter() const { return problem.geometry.channels / problem.geometry.group; }
};

/// Of one run: the image or its gradient, and so on.
struct ConvolutionArrays {
  const void *image, *filters, *result, *bias = nullptr, *addend = nullptr;
  const void* gate = nullptr;  ///< the image, where its gradient is to be gated
  float* sums = nullptr;       ///< of the result by channel, then of its squares; null: nobody asks
  void* workspace;
};

}  // namespace robusta
