// DecodeBBox: fields, shapes, which regions are kept, and the reference kernel.

#include "layers/types/decode_bbox/decode_bbox.h"

#include <algorithm>
#include <numeric>

#include "layers/kit/bottom_checks.h"

namespace robusta {

DecodeBboxLayer::DecodeBboxLayer(const caffe::LayerParameter& param)
    : Layer(param), statistics_(read_box_statistics(param.bbox_reg_param())) {
  require_finite(param.decode_bbox_param().gt_iou_thr(), "decode_bbox_param.gt_iou_thr");
  if (param.bottom_size() < 3 || training()) return;
  throw Error(ErrorKind::kConfig, "a third bottom is looked at when training alone", "leave it out in the TEST phase")
      .in_field("bottom");
}

std::vector<Shape> DecodeBboxLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto require = [&](size_t i, bool fits, const char* wanted) {
    if (fits) return;
    throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str()), str("wanted is ", wanted))
        .in_field("bottom");
  };
  const Shape &codes = bottoms[0], &regions = bottoms[1];
  require(0, codes.axes() >= 2 && codes.count(1) == 8,
          "n x 8: four numbers for the background, and four for the boxes");
  require(1, regions.axes() >= 2 && regions.count(1) == 5 && regions[0] == codes[0], "n x 5: an item and four corners");
  if (bottoms.size() > 2) require(2, bottoms[2].axes() >= 1 && bottoms[2][0] == codes[0], "a row for each region");
  // What was kept of another number of regions says nothing about these.
  if (regions_ != regions[0]) keeps_all_ = true;
  regions_ = regions[0];
  Shape top = regions;
  if (!keeps_all_) top[0] = static_cast<int64_t>(kept_.size());
  return {top};
}

std::vector<int> DecodeBboxLayer::sizing_bottoms() const {
  std::vector<int> all(static_cast<size_t>(param().bottom_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void DecodeBboxLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  const float *codes = values[0].data(), *regions = values[1].data();
  const auto is_kept = [&](int64_t i) {
    const Box<float> box = decode_region(statistics_, regions + i * 5, codes + i * 8);
    if (!(box.xmin <= box.xmax && box.ymin <= box.ymax)) return false;
    if (values.size() < 3) return true;
    const size_t width = values[2].size() / static_cast<size_t>(regions_);
    const float common = values[2][(static_cast<size_t>(i) + 1) * width - 1];
    return !(common >= param().decode_bbox_param().gt_iou_thr());
  };
  kept_.clear();
  for (int64_t i = 0; i < regions_; ++i) {
    if (is_kept(i)) kept_.push_back(i);
  }
  keeps_all_ = static_cast<int64_t>(kept_.size()) == regions_;
  if (!kept_.empty()) return;
  throw Error(ErrorKind::kData, str("of ", regions_, " regions none is left"),
              "their boxes are upside down or no numbers, or all above gt_iou_thr: look at what makes the codes");
}

namespace {

template <typename T>
class DecodeBboxReference : public Kernel {
 public:
  explicit DecodeBboxReference(const KernelRequest& request) : layer_(request.layer<DecodeBboxLayer>()) {
    book_decode_bbox(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const auto kept = static_cast<int64_t>(layer_.kept().size());
    const int64_t rows = layer_.keeps_all() ? run.tops[0].shape()[0] : std::min(run.tops[0].shape()[0], kept);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t region = layer_.keeps_all() ? row : layer_.kept()[static_cast<size_t>(row)];
      write_region(layer_.statistics(), region, run.bottoms[0].as<T>(), run.bottoms[1].as<T>(),
                   run.tops[0].as<T>() + row * 5);
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const DecodeBboxLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DecodeBBox", DecodeBboxLayer);
ROBUSTA_REGISTER_REFERENCE("DecodeBBox", DecodeBboxReference);

}  // namespace robusta
