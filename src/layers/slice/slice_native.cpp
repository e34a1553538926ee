// Slice of blocked channels.

#include "layers/blocked_pieces.h"
#include "layers/kernel.h"
#include "layers/pieces.h"
#include "layers/slice/slice.h"

namespace robusta {
namespace {

class BlockedSlice : public Kernel {
 public:
  BlockedSlice(const KernelRequest& request, const Layout& bottom, const std::vector<Layout>& tops)
      : pieces_(request.bottoms[0], request.tops, 1) {
    booking_.bottom_layouts = {bottom};
    booking_.top_layouts = tops;
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;
  }
  std::string describe() const override { return "native"; }
  void forward(const KernelRun& run) override { pieces_.cut(run.bottoms[0], run.tops); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) pieces_.join(run.top_diffs, run.bottom_diffs[0]);
  }

 private:
  Pieces pieces_;
};

std::unique_ptr<Kernel> make_blocked_slice(const KernelRequest& request, std::string& why_not) {
  Layout bottom;
  std::vector<Layout> tops;
  const int axis = request.layer<SliceLayer>().axis();
  if (!blocked_pieces(request.bottoms[0].layout, request.bottoms[0], request.tops, axis, bottom, tops, why_not)) {
    return nullptr;
  }
  return std::make_unique<BlockedSlice>(request, bottom, tops);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Slice", "native", 10, make_blocked_slice);

}  // namespace robusta
