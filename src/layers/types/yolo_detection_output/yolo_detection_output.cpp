// YoloDetectionOutput and Yolov3DetectionOutput: what is alike in both, and the reference kernel.

#include "layers/types/yolo_detection_output/yolo_detection_output.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

/// The boxes of an item that stay, the best first, those of equal scores as they come.
std::vector<FoundBox> survivors(const std::vector<FoundBox>& found, float suppression) {
  std::vector<size_t> order(found.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return found[a].score > found[b].score; });
  std::vector<Box<float>> boxes;
  boxes.reserve(order.size());
  for (const size_t i : order) boxes.push_back(found[i].box);
  // Boxes go that overlap by more: by the threshold or more is by more than the number before it.
  const float below = std::nextafter(suppression, -1.0f);
  std::vector<FoundBox> stay;
  for (const int64_t i : suppress_overlaps(boxes, below, 1)) stay.push_back(found[order[static_cast<size_t>(i)]]);
  return stay;
}

}  // namespace

void YoloDetectionLayer::set_thresholds(float confidence, float suppression, const std::string& message) {
  confidence_ = require_finite(confidence, message + ".confidence_threshold");
  suppression_ = require_finite(suppression, message + ".nms_threshold");
  if (suppression_ > 0) return;
  throw Error(ErrorKind::kConfig, str("nms_threshold is ", suppression_), "give a positive number, such as 0.45")
      .in_field(message + ".nms_threshold");
}

std::vector<Shape> YoloDetectionLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  std::vector<AnchorGrid> grids;
  for (int bottom = 0; bottom < static_cast<int>(bottoms.size()); ++bottom) {
    grids.push_back(grid_of(bottoms, bottom));
    if (grids.back().items == grids[0].items) continue;
    throw Error(ErrorKind::kConfig,
                str("bottom ", bottom, " has ", grids.back().items, " items, and bottom 0 ", grids[0].items))
        .in_field("bottom");
  }
  // What was found in a batch of another size says nothing about this one.
  const auto same = [](const AnchorGrid& a, const AnchorGrid& b) {
    return a.items == b.items && a.height == b.height && a.width == b.width;
  };
  if (!std::equal(grids.begin(), grids.end(), grids_.begin(), grids_.end(), same)) {
    rows_ = {{0, -1, -1, -1, -1, -1, -1}};
  }
  grids_ = std::move(grids);
  return {{1, 1, static_cast<int64_t>(rows_.size()), kDetectionRow}};
}

std::vector<int> YoloDetectionLayer::sizing_bottoms() const {
  std::vector<int> all(static_cast<size_t>(param().bottom_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void YoloDetectionLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  const int64_t items = grids_[0].items;
  std::vector<std::vector<FoundBox>> of_item(static_cast<size_t>(items));
  parallel_for(items, 1, [&](int64_t item) {
    std::vector<FoundBox> found;
    for (size_t bottom = 0; bottom < grids_.size(); ++bottom) {
      const AnchorGrid& grid = grids_[bottom];
      const float* x = values[bottom].data() + item * grid.anchors * grid.numbers * grid.cells();
      find(static_cast<int>(bottom), grid, x, found);
    }
    of_item[static_cast<size_t>(item)] = survivors(found, suppression_);
  });
  rows_.clear();
  for (int64_t item = 0; item < items; ++item) {
    for (const FoundBox& found : of_item[static_cast<size_t>(item)]) {
      rows_.push_back({static_cast<float>(item), static_cast<float>(found.label + 1), found.score, found.box.xmin,
                       found.box.ymin, found.box.xmax, found.box.ymax});
    }
  }
  if (!rows_.empty()) return;
  for (int64_t item = 0; item < items; ++item) rows_.push_back({static_cast<float>(item), -1, -1, -1, -1, -1, -1});
}

namespace {

template <typename T>
class YoloDetectionReference : public Kernel {
 public:
  explicit YoloDetectionReference(const KernelRequest& request) : layer_(request.layer<YoloDetectionLayer>()) {
    book_yolo_detections(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T* to = run.tops[0].as<T>();
    const int64_t rows = std::min(run.tops[0].shape()[2], static_cast<int64_t>(layer_.rows().size()));
    for (int64_t row = 0; row < rows; ++row) {
      const DetectionRow& from = layer_.rows()[static_cast<size_t>(row)];
      std::transform(from.begin(), from.end(), to + row * kDetectionRow, [](float v) { return static_cast<T>(v); });
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const YoloDetectionLayer& layer_;
};

std::unique_ptr<Kernel> make_yolo_detections(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<YoloDetectionReference<decltype(t)>>(request);
  });
}

[[maybe_unused]] const bool registered_yolo_detections =
    register_kernel({"YoloDetectionOutput", "reference", "cpu", 0, make_yolo_detections}) &&
    register_kernel({"Yolov3DetectionOutput", "reference", "cpu", 0, make_yolo_detections});

}  // namespace

}  // namespace robusta
