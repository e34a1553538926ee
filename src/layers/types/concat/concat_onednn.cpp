// Concat along the channels of blocked tensors.

#include "layers/backends/onednn/block_pieces.h"
#include "layers/kit/kernel.h"
#include "layers/kit/pieces.h"
#include "layers/types/concat/concat.h"

namespace robusta {
namespace {

class BlockedConcat : public Kernel {
 public:
  BlockedConcat(const KernelRequest& request, onednn::BlockPieces layouts)
      : pieces_(request.tops[0], request.bottoms, 1) {
    booking_.bottom_layouts = std::move(layouts.pieces);
    booking_.top_layouts = {std::move(layouts.whole)};
    booking_.repeatable = true;
    booking_.reads_bottoms.assign(request.bottoms.size(), false);
  }
  std::string describe() const override { return "onednn blocks"; }
  void forward(const KernelRun& run) override { pieces_.join(run.bottoms, run.tops[0]); }
  void backward(const KernelRun& run) override { pieces_.cut(run.top_diffs[0], run.bottom_diffs); }

 private:
  Pieces pieces_;
};

std::unique_ptr<Kernel> make_concat_onednn(const KernelRequest& request, std::string& why_not) {
  onednn::BlockPieces layouts = onednn::block_pieces(request.tops[0], request.bottoms, request.bottoms,
                                                     request.layer<ConcatLayer>().axis(), why_not);
  if (!layouts.whole) return nullptr;
  return std::make_unique<BlockedConcat>(request, std::move(layouts));
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Concat", "onednn", 20, make_concat_onednn);

}  // namespace robusta
