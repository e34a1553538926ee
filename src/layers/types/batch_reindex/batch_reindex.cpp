// BatchReindex: shapes, and the reference kernel. The gradient of an item is the sum of those of its copies, in the
// order of the list; the list has none.

#include "layers/types/batch_reindex/batch_reindex.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"

namespace robusta {

std::vector<Shape> BatchReindexLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (bottoms[1].axes() != 1 || bottoms[0].axes() < 1) {
    throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", bottoms[1].str(), ", bottom 0 ", bottoms[0].str()),
                "bottom 1 is a list of indices, with one axis, into the first axis of bottom 0")
        .in_field("bottom");
  }
  Shape top = bottoms[0];
  top[0] = bottoms[1][0];
  check_extents(top);
  picks_ = {.count = top[0],
            .rows = bottoms[0][0],
            .width = bottoms[0].count(1),
            .fix = "indices count the items of bottom 0 from 0: correct what makes bottom 1"};
  return {top};
}

namespace {

template <typename T>
class BatchReindexReference : public Kernel {
 public:
  explicit BatchReindexReference(const KernelRequest& request) : layer_(request.layer<BatchReindexLayer>()) {
    book_batch_reindex(booking_);
    booking_.backward_scratch = picks_scratch(layer_.picks());
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* indices = run.bottoms[1].as<T>();
    check_picks(layer_.picks(), indices);
    pick_rows<T>(layer_.picks(), indices, run.bottoms[0].as<T>(), nullptr, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[1]) fill_zero(run.bottom_diffs[1]);
    if (!run.bottom_diffs[0]) return;
    sum_picked_rows(layer_.picks(), run.bottoms[1].as<T>(), run.top_diffs[0].as<T>(), false,
                    run.bottom_diffs[0].as<T>(), run.scratch);
  }

 private:
  const BatchReindexLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("BatchReindex", BatchReindexLayer);
ROBUSTA_REGISTER_REFERENCE("BatchReindex", BatchReindexReference);

}  // namespace robusta
