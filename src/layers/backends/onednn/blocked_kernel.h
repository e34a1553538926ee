/// The kernels of Concat and Slice (kit/pieces_kernels.h) along channels that lie in blocks or come last.
#pragma once

#include <utility>

#include "layers/backends/onednn/block_pieces.h"
#include "layers/kit/pieces_kernels.h"
#include "tensor/channels_last.h"

namespace robusta::onednn {

/// A tensor with channels last as the matrix that it is in memory.
inline TensorDesc pixels_by_channels(const TensorDesc& tensor) {
  const ChannelExtents extents = channel_extents(tensor.shape);
  return {Shape{extents.batch * extents.pixels, extents.channels}, tensor.dtype, nullptr};
}

/// `PiecesKernel`: JoinKernel or CutKernel. Null, with a reason, where block_pieces declines.
template <typename PiecesKernel>
std::unique_ptr<Kernel> make_blocked(const KernelRequest& request, const TensorDesc& whole,
                                     const std::vector<TensorDesc>& pieces, int axis, std::string& why_not) {
  BlockPieces layouts = block_pieces(whole, pieces, request.bottoms, axis, why_not);
  if (!layouts.whole) return nullptr;
  PiecesLayouts stored{std::move(layouts.whole), std::move(layouts.pieces)};
  if (!layouts.channels_last) {
    return std::make_unique<PiecesKernel>(request, Pieces(whole, pieces, axis), "onednn blocks", std::move(stored));
  }
  std::vector<TensorDesc> rows;
  for (const TensorDesc& piece : pieces) rows.push_back(pixels_by_channels(piece));
  return std::make_unique<PiecesKernel>(request, Pieces(pixels_by_channels(whole), rows, 1), "channels last",
                                        std::move(stored));
}

}  // namespace robusta::onednn
