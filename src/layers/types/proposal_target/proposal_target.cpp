// ProposalTarget: fields, shapes, and the reference kernel.

#include "layers/types/proposal_target/proposal_target.h"

#include <algorithm>

#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

ProposalTargetLayer::ProposalTargetLayer(const caffe::LayerParameter& param)
    : Layer(param),
      choice_(fields(), name()),
      statistics_(read_box_statistics(param.bbox_reg_param())),
      by_class_(param.bbox_reg_param().cls_aware()) {
  if (!by_class_ || fields().cls_num() >= 2) return;
  throw wrong_setting("proposal_target_param.cls_num", str("cls_num is ", fields().cls_num()),
                      "give the number of classes, the background among them");
}

std::vector<Shape> ProposalTargetLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto require = [&](size_t i, int64_t width, const char* wanted) {
    if (bottoms[i].axes() >= 2 && bottoms[i].count(1) == width) return;
    throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str()), str("wanted is ", wanted))
        .in_field("bottom");
  };
  require(0, RegionChoice::kRegionWidth, "n x 5: an item and four corners");
  require(1, RegionChoice::kTruthWidth, "n x 7: an item, four corners, a class, and whether it is ignored");
  // What was chosen of other numbers of regions says nothing about these.
  if (regions_ != bottoms[0][0] || truths_ != bottoms[1][0]) told_ = false;
  regions_ = bottoms[0][0], truths_ = bottoms[1][0];
  const int64_t rows = !takes_all() ? fields().batch_size()
                       : told_      ? static_cast<int64_t>(chosen_.size())
                                    : regions_ + truths_;
  const int64_t codes = by_class_ ? 4 * static_cast<int64_t>(fields().cls_num()) : 8;
  std::vector<Shape> tops{{rows, 5, 1, 1},     {rows, 1, 1, 1}, {rows, codes, 1, 1}, {rows, codes, 1, 1},
                          {rows, codes, 1, 1}, {rows, 6, 1, 1}, {rows, 1, 1, 1}};
  tops.resize(static_cast<size_t>(std::clamp(param().top_size(), 5, 7)));
  for (const Shape& top : tops) check_extents(top);
  return tops;
}

void ProposalTargetLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  chosen_ = choice_.choose(values[0], values[1], nullptr);
  told_ = true;
}

namespace {

template <typename T>
class ProposalTargetReference : public Kernel {
 public:
  explicit ProposalTargetReference(const KernelRequest& request)
      : layer_(request.layer<ProposalTargetLayer>()), choice_(layer_.fields(), layer_.name()) {
    book_reads_nothing(2, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const std::vector<TargetRow>& chosen = layer_.takes_all() ? layer_.chosen() : choose(run);
    const TargetWriter<T> writer = layer_.template writer<T>(run);
    const int64_t rows = std::min(run.tops[0].shape()[0], static_cast<int64_t>(chosen.size()));
    for (int64_t row = 0; row < rows; ++row) writer.write(chosen[static_cast<size_t>(row)], row);
  }

  void backward(const KernelRun&) override {}

 private:
  const std::vector<TargetRow>& choose(const KernelRun& run) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const T* numbers = run.bottoms[i].as<T>();
      floats_[i].assign(numbers, numbers + run.bottoms[i].count());
    }
    return choice_.choose(floats_[0], floats_[1], run.pass);
  }

  const ProposalTargetLayer& layer_;
  RegionChoice choice_;
  std::vector<float> floats_[2];
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ProposalTarget", ProposalTargetLayer);
ROBUSTA_REGISTER_REFERENCE("ProposalTarget", ProposalTargetReference);

}  // namespace robusta
