/// One direction of a convolution on tensors in oneDNN's formats, and the interface of the algorithms for it: oneDNN's
/// own (convolution_primitive.h, convolution_groups.h), and others that work on the same formats.
///
/// Weights, biases and their gradients are plain f32; the tensors lie as the problem says. A pass packs the weights
/// into scratch memory each time it runs (training changes them anyway) or, for inference, once per version into memory
/// of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/backends/onednn/desc.h"
#include "ops/convolution_geometry.h"

namespace robusta::onednn {

enum class Direction { kForward, kBackwardData, kBackwardWeights };

struct ConvolutionProblem {
  ConvolutionGeometry geometry;
  Desc src, dst;             ///< formats that were chosen, of `type`; gradients have the same
  DType type = DType::kF32;  ///< or bf16: of src and dst; sums are f32
  bool bias = false;
  bool adds = false;  ///< forward: ConvolutionData::addend is added, before the ReLU
  bool relu = false;  ///< applied to what the forward pass writes
  float slope = 0;    ///< of that ReLU, and of ConvolutionData::gate
  /// Forward: a BatchNorm reads the results next, and begins with their sums, if it is not given these.
  bool moments_follow = false;
  bool inference = false;  ///< no backward pass follows

  /// [group,] num_output / group, channels / group, kernel...
  Dims weight_dims() const;
  /// For tuning records: no blanks.
  std::string key(Direction direction) const;
};

/// The memory of one run. Which are written depends on the direction.
struct ConvolutionData {
  const void *src = nullptr, *weights = nullptr, *bias = nullptr, *dst = nullptr;
  const void* addend = nullptr;                ///< where the problem `adds`: stored as dst, or dst itself
  uint64_t version = 0;                        ///< of the weights
  bool add_weights = false, add_bias = false;  ///< to the gradients that are there, instead of overwriting them
  /// Backward, for passes that gate: what the ReLU after the convolution gave, stored as dst. Where it is not positive
  /// the gradient in dst counts times problem.slope. Null: the gradient is meant as it is.
  const void* gate = nullptr;
  /// Forward, for passes that sum: where the sums over the results go (kit/result_sums.h). Null: nowhere.
  float* sums = nullptr;
};

class ConvolutionPass {
 public:
  virtual ~ConvolutionPass() = default;
  /// The implementation, without blanks.
  virtual std::string name() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual size_t kept_bytes() const { return 0; }  ///< Booking::kept_bytes
  /// True if backward takes ConvolutionData::gate.
  virtual bool gates() const { return false; }
  /// True if forward takes ConvolutionData::sums, which only problems want whose moments follow.
  virtual bool sums_results() const { return false; }
  /// Packs the weights, where they are kept from run to run. The first run does that otherwise, which says nothing
  /// about those that follow.
  virtual void keep_weights(const ConvolutionData&, void* /*scratch*/) {}
  /// Backward weights: a null `weights` or `bias` is not wanted.
  virtual void run(const ConvolutionData& data, void* scratch) = 0;
};

using ConvolutionPasses = std::vector<std::unique_ptr<ConvolutionPass>>;

}  // namespace robusta::onednn
