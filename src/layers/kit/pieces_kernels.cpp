// The kernels of Concat and Slice: what they book. A layout is that of values and gradients alike.

#include "layers/kit/pieces_kernels.h"

#include <utility>

namespace robusta {

JoinKernel::JoinKernel(const KernelRequest& request, int axis, std::string name, PiecesLayouts layouts)
    : pieces_(request.tops[0], request.bottoms, axis), name_(std::move(name)) {
  booking_.bottom_layouts = std::move(layouts.pieces);
  booking_.top_layouts = {std::move(layouts.whole)};
  book_join(request.bottoms.size(), booking_);
}

CutKernel::CutKernel(const KernelRequest& request, int axis, std::string name, PiecesLayouts layouts)
    : pieces_(request.bottoms[0], request.tops, axis), name_(std::move(name)) {
  booking_.bottom_layouts = {std::move(layouts.whole)};
  booking_.top_layouts = std::move(layouts.pieces);
  book_cut(request.tops.size(), booking_);
}

}  // namespace robusta
