/// Copies between a tensor and the pieces it consists of along one axis: Concat and Slice, forward and backward. The
/// element type does not matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace robusta {

class Pieces {
 public:
  /// Of plain tensors, or others that store the axes before `axis` outside. REQUIRES: the extents of `pieces` along
  /// `axis` add up to that of `whole`; the others are equal.
  Pieces(const TensorDesc& whole, const std::vector<TensorDesc>& pieces, int axis);

  /// Writes the pieces side by side into `whole`; a null piece counts as zeros. A single piece may share its memory.
  void join(std::span<const Tensor> pieces, const Tensor& whole) const;
  /// The reverse; null pieces are passed over.
  void cut(const Tensor& whole, std::span<const Tensor> pieces) const;

 private:
  template <typename Move>
  void for_rows(const Move& move) const;

  int64_t outer_;                   // rows: all axes before the one that is cut
  size_t whole_bytes_;              // of one row
  std::vector<size_t> bytes_, at_;  // of one row of each piece, and where it begins in the whole row
};

}  // namespace robusta
