// RegionLoss: fields, shapes, and what is wrong with a box.
//
// (Redmon, Farhadi 2017, "YOLO9000: Better, Faster, Stronger".) The rule itself is in region_loss.h, and what it has in
// common with Yolov3's in kit/anchor_loss.h.

#include "layers/types/region_loss/region_loss.h"

#include <utility>

#include "base/log.h"
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
  return anchor_grid(predictions, 0, p.num(), kFirstClass + int64_t{p.num_class()});
}

/// Rows of eight end in an axis of eight; all else is rows of five of each item, however they are grouped.
int64_t RegionLossLayer::rows_of(const Shape& boxes) const {
  const bool has_elements = boxes.axes() > 0 && boxes.count() > 0;
  if (has_elements && boxes[boxes.axes() - 1] == RegionRows{}.width()) return boxes.count() / RegionRows{}.width();
  const int64_t width = RegionRows{.centred = true}.width();
  if (has_elements && boxes[0] == grid().items && boxes.count(1) % width == 0) return boxes.count() / width;
  throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", boxes.str(), ", and bottom 0 ", grid().items, " items"),
              "wanted are rows of eight numbers: item, class, instance, xmin, ymin, xmax, ymax, difficult, as "
              "AnnotatedData makes them; or for each item rows of five: class, x, y, width, height, as BoxData does")
      .in_field("bottom");
}

std::vector<Shape> RegionLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const std::vector<Shape> tops = AnchorLossLayer::infer_tops(bottoms);
  const Shape& boxes = bottoms[1];
  form_ = {.centred = boxes[boxes.axes() - 1] != RegionRows{}.width(), .of_item = rows() / grid().items};
  divide_loss_by_items(form_.centred);
  if (!form_.centred && param().region_loss_param().rescore() == 0 && !std::exchange(warned_, true)) {
    LOG_WARNING << "layer " << name() << ": region_loss_param.rescore changes nothing for boxes in rows of eight "
                << "numbers, as in Intel's Caffe: it is for rows of five";
  }
  return tops;
}

void RegionLossLayer::throw_bad_box(int64_t place, double value, const Pass& pass) const {
  const int64_t row = place / form_.width(), column = place % form_.width();
  const auto bad = [&](const std::string& box, const auto&... what) {
    return Error(ErrorKind::kData, str(box, what...),
                 form_.centred
                     ? "places and sizes are parts of the image, 0 to 1, and classes count from 0: correct the data"
                     : "corners are parts of the image, 0 to 1, and classes count from 1: correct the data");
  };
  const int64_t classes = param().region_loss_param().num_class();
  if (form_.centred) {
    constexpr const char* kNames[] = {"class", "x", "y", "width", "height"};
    const std::string box =
        str("box ", row % form_.of_item, " of sample ", pass.first_sample + static_cast<uint64_t>(row / form_.of_item));
    if (column == RegionRows::kOwnClass) throw bad(box, ": class ", value, " is out of range 0..", classes - 1);
    throw bad(box, ": ", kNames[column], " ", value, " is no part of the image");
  }
  const std::string box = str("row ", row, " of bottom 1 (batch at sample ", pass.first_sample, ")");
  if (column == RegionRows::kItem) throw bad(box, ": item ", value, " is out of range 0..", grid().items - 1);
  if (column == RegionRows::kClass) throw bad(box, ": class ", value, " is out of range 1..", classes);
  if (column == RegionRows::kXmin || column == RegionRows::kYmin) {
    throw bad(box, ": the centre of the box lies outside of the image; ", column == RegionRows::kXmin ? "xmin" : "ymin",
              " is ", value);
  }
  throw bad(box, ": the box is upside down; ", column == RegionRows::kXmax ? "xmax" : "ymax", " is ", value);
}

namespace {

std::unique_ptr<Kernel> make_region_loss_reference(const KernelRequest& request, std::string& why_not) {
  return make_anchor_loss_reference<RegionRule>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("RegionLoss", RegionLossLayer);
ROBUSTA_REGISTER_KERNEL("RegionLoss", "reference", 0, make_region_loss_reference);

}  // namespace robusta
