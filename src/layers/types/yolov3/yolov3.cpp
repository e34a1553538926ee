// Yolov3: fields, shapes, and what is wrong with a box.
//
// A layer has the anchors of its own scale, named by `mask`, but knows those of all scales, since a box belongs to the
// anchor that fits it best among all of them (Redmon, Farhadi 2018, "YOLOv3: An Incremental Improvement", section 2).

#include "layers/types/yolov3/yolov3.h"

#include <set>

#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

void check_mask(const caffe::Yolov3Parameter& p, const Anchors& anchors) {
  if (p.mask_size() != static_cast<int64_t>(p.num())) {
    throw wrong_setting("yolov3_param.mask", str("there are ", p.mask_size(), " mask for num ", p.num()),
                        "give the index of each anchor of this scale");
  }
  std::set<uint32_t> seen;
  for (const uint32_t anchor : p.mask()) {
    if (anchor >= anchors.count) {
      throw wrong_setting("yolov3_param.mask", str("mask ", anchor, " is out of range 0..", anchors.count - 1),
                          "anchors count from 0");
    }
    if (!seen.insert(anchor).second)
      throw wrong_setting("yolov3_param.mask", str("mask ", anchor, " stands twice"), "leave one out");
  }
}

}  // namespace

Yolov3Layer::Yolov3Layer(const caffe::LayerParameter& param) : AnchorLossLayer(param, true) {
  const auto& p = param.yolov3_param();
  if (p.num() == 0) throw wrong_setting("yolov3_param.num", "num is 0", "give the number of anchors of this scale");
  if (p.num_class() == 0) throw wrong_setting("yolov3_param.num_class", "num_class is 0", "give the number of classes");
  if (p.anchors_scale() == 0)
    throw wrong_setting("yolov3_param.anchors_scale", "it is 0", "give the pixels of the image in a cell");
  require_finite_fields(p, "yolov3_param");
  check_mask(p, read_anchors(p.biases(), -1, "yolov3_param"));
}

std::vector<Shape> Yolov3Layer::infer_tops(const std::vector<Shape>& bottoms) {
  const std::vector<Shape> tops = AnchorLossLayer::infer_tops(bottoms);
  if (bottoms[1][0] == grid().items) return tops;
  throw Error(ErrorKind::kConfig, str("bottom 0 has ", grid().items, " items and bottom 1 ", bottoms[1][0]),
              "give as many rows of boxes to each item")
      .in_field("bottom");
}

std::optional<Shape> Yolov3Layer::wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const {
  constexpr int64_t kRow = Yolov3Rule<ExactMath<float>>::kRow;
  const Shape& boxes = bottoms[bottom];
  if (bottom != 1 || boxes.axes() == 0 || boxes.count(1) % kRow == 0) return std::nullopt;
  return Shape{boxes[0], kRow};
}

AnchorGrid Yolov3Layer::grid_of(const Shape& predictions) const {
  const auto& p = param().yolov3_param();
  return anchor_grid(predictions, 0, p.num(), kFirstClass + int64_t{p.num_class()});
}

int64_t Yolov3Layer::rows_of(const Shape& boxes) const {
  constexpr int64_t kRow = Yolov3Rule<ExactMath<float>>::kRow;
  if (boxes.axes() > 0 && boxes.count() > 0 && boxes.count(1) % kRow == 0) return boxes.count() / kRow;
  throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", boxes.str()),
              "wanted are for each item rows of five numbers: class, x, y, width, height")
      .in_field("bottom");
}

void Yolov3Layer::throw_bad_box(int64_t place, double value, const Pass& pass) const {
  using Rule = Yolov3Rule<ExactMath<float>>;
  constexpr const char* kNames[] = {"class", "x", "y", "width", "height"};
  const int64_t row = place / Rule::kRow, column = place % Rule::kRow, of_item = rows() / grid().items;
  const std::string wanted =
      column == Rule::kClass
          ? str("out of range 0..", int64_t{param().yolov3_param().num_class()} - 1)
          : std::string(column < Rule::kWidth ? "outside of the image, 0..1" : "no positive part of the image");
  throw Error(ErrorKind::kData,
              str("box ", row % of_item, " of sample ", pass.first_sample + static_cast<uint64_t>(row / of_item), ": ",
                  kNames[column], " ", value, " is ", wanted),
              "bottom 1 holds class, x, y, width and height of each box as parts of the image, and classes count from "
              "0: correct the data");
}

namespace {

std::unique_ptr<Kernel> make_yolov3_reference(const KernelRequest& request, std::string& why_not) {
  return make_anchor_loss_reference<Yolov3Rule>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Yolov3", Yolov3Layer);
ROBUSTA_REGISTER_KERNEL("Yolov3", "reference", 0, make_yolov3_reference);

}  // namespace robusta
