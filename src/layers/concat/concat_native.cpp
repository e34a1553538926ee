// Concat of blocked channels.

#include "layers/blocked_pieces.h"
#include "layers/concat/concat.h"
#include "layers/kernel.h"
#include "layers/pieces.h"

namespace robusta {
namespace {

class BlockedConcat : public Kernel {
 public:
  BlockedConcat(const KernelRequest& request, const Layout& top, const std::vector<Layout>& bottoms)
      : pieces_(request.tops[0], request.bottoms, 1) {
    booking_.bottom_layouts = bottoms;
    booking_.top_layouts = {top};
    booking_.reads_bottoms.assign(request.bottoms.size(), false);
  }
  std::string describe() const override { return "native"; }
  void forward(const KernelRun& run) override { pieces_.join(run.bottoms, run.tops[0]); }
  void backward(const KernelRun& run) override { pieces_.cut(run.top_diffs[0], run.bottom_diffs); }

 private:
  Pieces pieces_;
};

std::unique_ptr<Kernel> make_blocked_concat(const KernelRequest& request, std::string& why_not) {
  Layout offered, top;
  for (const TensorDesc& bottom : request.bottoms) {
    if (!offered) offered = bottom.layout;
  }
  std::vector<Layout> bottoms;
  const int axis = request.layer<ConcatLayer>().axis();
  if (!blocked_pieces(offered, request.tops[0], request.bottoms, axis, top, bottoms, why_not)) return nullptr;
  return std::make_unique<BlockedConcat>(request, top, bottoms);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Concat", "native", 10, make_blocked_concat);

}  // namespace robusta
