// The kernels of Concat and Slice: what they book. A layout is that of values and gradients alike.

#include "layers/kit/pieces_kernels.h"

#include <utility>

namespace robusta {

JoinKernel::JoinKernel(const KernelRequest& request, Pieces pieces, std::string name, PiecesLayouts layouts)
    : pieces_(std::move(pieces)), name_(std::move(name)) {
  booking_.bottom_layouts = std::move(layouts.pieces);
  booking_.top_layouts = {std::move(layouts.whole)};
  book_join(request.bottoms.size(), booking_);
}

CutKernel::CutKernel(const KernelRequest& request, Pieces pieces, std::string name, PiecesLayouts layouts)
    : pieces_(std::move(pieces)), name_(std::move(name)) {
  booking_.bottom_layouts = {std::move(layouts.whole)};
  booking_.top_layouts = std::move(layouts.pieces);
  book_cut(request.tops.size(), booking_);
}

}  // namespace robusta
