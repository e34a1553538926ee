/// What a library's kernel takes of a convolution's parameters where nothing runs backward: made once, when they have
/// changed (PreparesParams), and not in each pass.
///
/// Filters in the library's order and type; a constant BatchNorm, and perhaps a Scale, within them and the bias:
/// y = (w x + b) * factor + shift = (w factor) x + (b factor + shift).
#pragma once

#include <span>

#include "layers/types/convolution/fused_convolution.h"
#include "layers/types/convolution/library_problem.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

class LibraryParams {
 public:
  /// `bias_type`: in which the bias is wanted.
  LibraryParams(const FusedConvolution& chain, const LibraryPasses& passes, DType bias_type);

  /// Of the memory for what is made; 0: the parameters serve as they are.
  size_t bytes() const { return bytes_; }
  /// `params`: those of the chain. Enqueues one to three launches.
  void make(Stream* stream, std::span<Param* const> params, void* memory) const;
  const void* filters(std::span<Param* const> params, const void* memory) const;
  /// Null: there is none.
  const void* bias(std::span<Param* const> params, const void* memory) const;

 private:
  void make_bias(Stream* stream, std::span<Param* const> params, void* memory) const;
  void make_filters(Stream* stream, std::span<Param* const> params, void* memory) const;

  LibraryPasses passes_;
  DType bias_type_;
  NormEps eps_;
  bool has_bias_, makes_filters_, makes_bias_;
  int norm_ = -1, scale_ = -1, shift_ = -1;  ///< places of the first statistic, and so on; -1: there is none
  size_t factors_at_ = 0, bias_at_ = 0, bytes_ = 0;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
