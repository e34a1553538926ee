// RegionLoss: fields, shapes, and what is wrong with a box.

#include "layers/types/region_loss/region_loss.h"

#include "layers/kit/field_checks.h"

namespace robusta {

RegionLossLayer::RegionLossLayer(const caffe::LayerParameter& param) : AnchorLossLayer(param, false) {
  const auto& p = param.region_loss_param();
  const auto refused = [](const std::string& field, const std::string& cause, const std::string& fix) {
    return Error(ErrorKind::kConfig, cause, fix).in_field("region_loss_param." + field);
  };
  if (p.num() == 0) throw refused("num", "num is 0", "give the number of anchors");
  if (p.num_class() == 0) throw refused("num_class", "num_class is 0", "give the number of classes");
  if (p.coords() != kBoxNumbers) {
    throw refused("coords", str("coords is ", p.coords()), "a box has four numbers: leave it out");
  }
  require_finite(p.object_scale(), "region_loss_param.object_scale");
  require_finite(p.noobject_scale(), "region_loss_param.noobject_scale");
  require_finite(p.class_scale(), "region_loss_param.class_scale");
  require_finite(p.coord_scale(), "region_loss_param.coord_scale");
  require_finite(p.thresh(), "region_loss_param.thresh");
  read_anchors(p.biases(), p.num(), "region_loss_param");
}

AnchorGrid RegionLossLayer::grid_of(const Shape& predictions) const {
  const auto& p = param().region_loss_param();
  const AnchorGrid grid = anchor_grid(predictions, 0, p.num(), kFirstClass + int64_t{p.num_class()});
  if (p.has_side() && (grid.height != p.side() || grid.width != p.side())) {
    throw Error(ErrorKind::kConfig,
                str("side is ", p.side(), ", but bottom 0 has ", grid.height, " x ", grid.width, " cells"),
                "leave it out: the grid is that of bottom 0")
        .in_field("region_loss_param.side");
  }
  return grid;
}

int64_t RegionLossLayer::rows_of(const Shape& boxes) const {
  constexpr int64_t kRow = RegionRule<ExactMath<float>>::kRow;
  if (boxes.axes() > 0 && boxes.count() > 0 && boxes[boxes.axes() - 1] == kRow) return boxes.count() / kRow;
  throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", boxes.str()),
              "wanted are rows of eight numbers: item, class, instance, xmin, ymin, xmax, ymax, difficult, as "
              "AnnotatedData makes them")
      .in_field("bottom");
}

void RegionLossLayer::throw_bad_box(int64_t place, double value, const Pass& pass) const {
  using Rule = RegionRule<ExactMath<float>>;
  const int64_t column = place % Rule::kRow;
  const char* const fix = "corners are parts of the image, 0 to 1, and classes count from 1: correct the data";
  const auto bad = [&](const auto&... what) {
    return Error(ErrorKind::kData,
                 str("row ", place / Rule::kRow, " of bottom 1 (batch at sample ", pass.first_sample, ")", what...),
                 fix);
  };
  if (column == Rule::kItem) throw bad(": item ", value, " is out of range 0..", grid().items - 1);
  if (column == Rule::kClass) {
    throw bad(": class ", value, " is out of range 1..", param().region_loss_param().num_class());
  }
  if (column == Rule::kXmin || column == Rule::kYmin) {
    throw bad(": the centre of the box lies outside of the image; ", column == Rule::kXmin ? "xmin" : "ymin", " is ",
              value);
  }
  throw bad(": the box is upside down; ", column == Rule::kXmax ? "xmax" : "ymax", " is ", value);
}

namespace {

std::unique_ptr<Kernel> make_region_loss_reference(const KernelRequest& request, std::string& why_not) {
  return make_anchor_loss_reference<RegionRule>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("RegionLoss", RegionLossLayer);
ROBUSTA_REGISTER_KERNEL("RegionLoss", "reference", 0, make_region_loss_reference);

}  // namespace robusta
