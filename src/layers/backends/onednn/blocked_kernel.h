/// The kernels of Concat and Slice (kit/pieces_kernels.h) along the channels of blocked tensors.
#pragma once

#include <utility>

#include "layers/backends/onednn/block_pieces.h"
#include "layers/kit/pieces_kernels.h"

namespace robusta::onednn {

/// `PiecesKernel`: JoinKernel or CutKernel. Null, with a reason, where block_pieces declines.
template <typename PiecesKernel>
std::unique_ptr<Kernel> make_blocked(const KernelRequest& request, const TensorDesc& whole,
                                     const std::vector<TensorDesc>& pieces, int axis, std::string& why_not) {
  BlockPieces layouts = block_pieces(whole, pieces, request.bottoms, axis, why_not);
  if (!layouts.whole) return nullptr;
  return std::make_unique<PiecesKernel>(request, 1, "onednn blocks",
                                        PiecesLayouts{std::move(layouts.whole), std::move(layouts.pieces)});
}

}  // namespace robusta::onednn
