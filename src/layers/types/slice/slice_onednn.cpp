// Slice along the channels of blocked tensors.

#include "layers/backends/onednn/block_pieces.h"
#include "layers/kit/kernel.h"
#include "layers/kit/pieces.h"
#include "layers/types/slice/slice.h"

namespace robusta {
namespace {

class BlockedSlice : public Kernel {
 public:
  BlockedSlice(const KernelRequest& request, onednn::BlockPieces layouts)
      : pieces_(request.bottoms[0], request.tops, 1) {
    booking_.bottom_layouts = {std::move(layouts.whole)};
    booking_.top_layouts = std::move(layouts.pieces);
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;
  }
  std::string describe() const override { return "onednn blocks"; }
  void forward(const KernelRun& run) override { pieces_.cut(run.bottoms[0], run.tops); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) pieces_.join(run.top_diffs, run.bottom_diffs[0]);
  }

 private:
  Pieces pieces_;
};

std::unique_ptr<Kernel> make_slice_onednn(const KernelRequest& request, std::string& why_not) {
  onednn::BlockPieces layouts = onednn::block_pieces(request.bottoms[0], request.tops, request.bottoms,
                                                     request.layer<SliceLayer>().axis(), why_not);
  if (!layouts.whole) return nullptr;
  return std::make_unique<BlockedSlice>(request, std::move(layouts));
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Slice", "onednn", 20, make_slice_onednn);

}  // namespace robusta
