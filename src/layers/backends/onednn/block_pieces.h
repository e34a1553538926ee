/// Concat and Slice of tensors whose channels lie in blocks, or in bf16 come last: while every piece is whole blocks, a
/// sample of a piece is one contiguous run within that sample of the whole, exactly as in plain order.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace robusta::onednn {

struct BlockPieces {
  Layout whole;
  std::vector<Layout> pieces;
  bool channels_last = false;  ///< then a row is the channels of one pixel
};

/// The layouts in which `whole` and `pieces` can be joined or cut along `axis`; `offered` are the layouts that
/// their producers leave. Empty layouts, and the reason in `why_not`, when there is nothing to gain or it cannot be
/// done.
BlockPieces block_pieces(const TensorDesc& whole, const std::vector<TensorDesc>& pieces,
                         const std::vector<TensorDesc>& offered, int axis, std::string& why_not);

}  // namespace robusta::onednn
