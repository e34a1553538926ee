// Blocked layouts for Concat and Slice, where every piece is whole blocks of channels.

#include "layers/backends/onednn/block_pieces.h"

#include <algorithm>

#include "base/str.h"
#include "layers/backends/onednn/layout.h"

namespace robusta::onednn {

BlockPieces block_pieces(const TensorDesc& whole, const std::vector<TensorDesc>& pieces,
                         const std::vector<TensorDesc>& offered, int axis, std::string& why_not) {
  int block = 0;
  for (const TensorDesc& tensor : offered) {
    if (tensor.layout) block = std::max(block, channel_block(tensor.layout));
  }
  if (whole.dtype != DType::kF32) return why_not = "only f32", BlockPieces{};
  if (axis != 1) return why_not = str("channels lie in blocks, but the axis is ", axis), BlockPieces{};
  if (block <= 1) return why_not = "nothing comes in channel blocks", BlockPieces{};
  for (const TensorDesc& piece : pieces) {
    if (piece.shape[1] % block != 0) {
      return why_not = str(piece.shape[1], " channels are no whole blocks of ", block), BlockPieces{};
    }
  }
  const auto layout = [block](const TensorDesc& tensor) {
    return layout_of(blocked_desc(dims_of(tensor.shape), block));
  };
  BlockPieces result{layout(whole), {}};
  for (const TensorDesc& piece : pieces) result.pieces.push_back(layout(piece));
  return result;
}

}  // namespace robusta::onednn
