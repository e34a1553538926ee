// Layouts for Concat and Slice: blocked ones, where every piece is whole blocks of channels, and channels last.

#include "layers/backends/onednn/block_pieces.h"

#include <algorithm>

#include "base/str.h"
#include "layers/backends/onednn/layout.h"

namespace robusta::onednn {
namespace {

/// Channels last, as convolutions leave numbers of 16 bits.
BlockPieces rows_of_channels(const TensorDesc& whole, const std::vector<TensorDesc>& pieces,
                             const std::vector<TensorDesc>& offered, int axis, std::string& why_not) {
  if (std::none_of(offered.begin(), offered.end(), [](const TensorDesc& t) { return has_channels_last(t.layout); })) {
    return why_not = "nothing comes with channels last", BlockPieces{};
  }
  if (axis != 1) return why_not = str("channels come last, but the axis is ", axis), BlockPieces{};
  const auto layout = [](const TensorDesc& tensor) { return layout_of(channels_last_desc(dims_of(tensor.shape))); };
  BlockPieces result{layout(whole), {}, true};
  for (const TensorDesc& piece : pieces) result.pieces.push_back(layout(piece));
  return result;
}

}  // namespace

BlockPieces block_pieces(const TensorDesc& whole, const std::vector<TensorDesc>& pieces,
                         const std::vector<TensorDesc>& offered, int axis, std::string& why_not) {
  if (whole.dtype == DType::kBF16) return rows_of_channels(whole, pieces, offered, axis, why_not);
  int block = 0;
  for (const TensorDesc& tensor : offered) {
    if (tensor.layout) block = std::max(block, channel_block(tensor.layout));
  }
  if (whole.dtype != DType::kF32) return why_not = "only f32 and bf16", BlockPieces{};
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
  BlockPieces result{layout(whole), {}, false};
  for (const TensorDesc& piece : pieces) result.pieces.push_back(layout(piece));
  return result;
}

}  // namespace robusta::onednn
