// YoloDetectionOutput and Yolov3DetectionOutput: fields, and how each version encodes boxes and scores.

#include <cmath>

#include "layers/kit/math.h"
#include "layers/types/yolo_detection_output/yolo_detection_output.h"

namespace robusta {
namespace {

using HostMath = ExactMath<float>;

/// One prediction: its place in the grid, and its numbers.
struct Prediction {
  int64_t anchor, row, column;
  const float* x;
  int64_t step;
  float number(int64_t c) const { return x[c * step]; }

  /// The box, where anchors are parts of an image of this size.
  Box<float> box(const AnchorGrid& grid, float anchor_width, float anchor_height) const {
    return CentredBox<float>{
        (static_cast<float>(column) + HostMath::sigmoid(number(0))) / static_cast<float>(grid.width),
        (static_cast<float>(row) + HostMath::sigmoid(number(1))) / static_cast<float>(grid.height),
        std::exp(number(2)) * anchor_width, std::exp(number(3)) * anchor_height}
        .corners();
  }
};

/// For each prediction of an item, cell by cell: body(Prediction).
template <typename Body>
void for_predictions(const AnchorGrid& grid, const float* x, const Body& body) {
  for (int64_t cell = 0; cell < grid.cells(); ++cell) {
    for (int64_t anchor = 0; anchor < grid.anchors; ++anchor) {
      body(Prediction{.anchor = anchor,
                      .row = cell / grid.width,
                      .column = cell % grid.width,
                      .x = x + anchor * grid.numbers * grid.cells() + cell,
                      .step = grid.cells()});
    }
  }
}

Error no_classes(const std::string& message, bool given) {
  return Error(ErrorKind::kConfig, given ? "num_classes is 0" : "no num_classes is given", "give the number of classes")
      .in_field(message + ".num_classes");
}

Error no_anchors(const std::string& message) {
  return Error(ErrorKind::kConfig, "num_box is 0", "give the number of anchors").in_field(message + ".num_box");
}

class YoloDetectionOutputLayer : public YoloDetectionLayer {
 public:
  explicit YoloDetectionOutputLayer(const caffe::LayerParameter& param) : YoloDetectionLayer(param) {
    const auto& p = parameter();
    const std::string message = "yolo_detection_output_param";
    if (p.num_classes() == 0 || !p.has_num_classes()) throw no_classes(message, p.has_num_classes());
    if (p.num_box() == 0) throw no_anchors(message);
    if (p.coords() != kBoxNumbers) {
      throw Error(ErrorKind::kConfig, str("coords is ", p.coords()), "a box has four numbers: leave it out")
          .in_field(message + ".coords");
    }
    anchors_ = read_anchors(p.biases(), p.num_box(), message);
    set_thresholds(p.confidence_threshold(), p.nms_threshold(), message);
  }
  Arity arity() const override { return {1, 2, 1, 1}; }

 protected:
  AnchorGrid grid_of(const std::vector<Shape>& bottoms, int bottom) const override {
    return anchor_grid(bottoms[static_cast<size_t>(bottom)], bottom, anchors_.count,
                       kFirstClass + int64_t{parameter().num_classes()});
  }

  void find(int, const AnchorGrid& grid, const float* x, std::vector<FoundBox>& found) const override {
    for_predictions(grid, x, [&](const Prediction& p) {
      int64_t best = kFirstClass;
      for (int64_t c = kFirstClass; c < grid.numbers; ++c) best = p.number(c) > p.number(best) ? c : best;
      float sum = 0;
      for (int64_t c = kFirstClass; c < grid.numbers; ++c) sum += std::exp(p.number(c) - p.number(best));
      const float score = HostMath::sigmoid(p.number(kObjectNumber)) / sum;
      if (!(score >= confidence())) return;
      const auto n = static_cast<size_t>(p.anchor);
      const Box<float> box =
          p.box(grid, anchors_.w[n] / static_cast<float>(grid.width), anchors_.h[n] / static_cast<float>(grid.height));
      found.push_back({box, best - kFirstClass, score});
    });
  }

 private:
  const caffe::YoloDetectionOutputParameter& parameter() const { return param().yolo_detection_output_param(); }

  Anchors anchors_;
};

class Yolov3DetectionOutputLayer : public YoloDetectionLayer {
 public:
  explicit Yolov3DetectionOutputLayer(const caffe::LayerParameter& param) : YoloDetectionLayer(param) {
    const auto& p = parameter();
    if (p.num_classes() == 0 || !p.has_num_classes()) throw no_classes(kMessage, p.has_num_classes());
    if (p.num_box() == 0) throw no_anchors(kMessage);
    anchors_ = read_anchors(p.biases(), -1, kMessage);
    check_scales(p);
    set_thresholds(p.confidence_threshold(), p.nms_threshold(), kMessage);
  }
  Arity arity() const override { return {1, -1, 1, 1}; }

 protected:
  AnchorGrid grid_of(const std::vector<Shape>& bottoms, int bottom) const override {
    const auto& p = parameter();
    if (bottoms.size() != p.mask_group_num()) {
      throw refused("mask_group_num",
                    str("there are ", bottoms.size(), " bottoms for mask_group_num ", p.mask_group_num()),
                    "give a bottom for each scale");
    }
    return anchor_grid(bottoms[static_cast<size_t>(bottom)], bottom, p.num_box(),
                       kFirstClass + int64_t{p.num_classes()});
  }

  void find(int bottom, const AnchorGrid& grid, const float* x, std::vector<FoundBox>& found) const override {
    const auto& p = parameter();
    const auto scale = static_cast<float>(p.anchors_scale(bottom));
    const int first = bottom * (p.mask_size() / static_cast<int>(p.mask_group_num()));
    for_predictions(grid, x, [&](const Prediction& prediction) {
      const float object = HostMath::sigmoid(prediction.number(kObjectNumber));
      const size_t anchor = p.mask(first + static_cast<int>(prediction.anchor));
      const Box<float> box = prediction.box(grid, anchors_.w[anchor] / (static_cast<float>(grid.width) * scale),
                                            anchors_.h[anchor] / (static_cast<float>(grid.height) * scale));
      for (int64_t c = kFirstClass; c < grid.numbers; ++c) {
        const float score = object * HostMath::sigmoid(prediction.number(c));
        if (score > confidence()) found.push_back({box, c - kFirstClass, score});
      }
    });
  }

 private:
  static constexpr const char* kMessage = "yolov3_detection_output_param";

  const caffe::Yolov3DetectionOutputParameter& parameter() const { return param().yolov3_detection_output_param(); }

  static Error refused(const std::string& field, const std::string& cause, const std::string& fix) {
    return Error(ErrorKind::kConfig, cause, fix).in_field(str(kMessage, ".", field));
  }

  void check_scales(const caffe::Yolov3DetectionOutputParameter& p) const {
    const int64_t groups = p.mask_group_num(), wanted = product_or_most(groups, p.num_box());
    if (groups == 0) throw refused("mask_group_num", "mask_group_num is 0", "give the number of bottoms");
    if (p.mask_size() != wanted) {
      throw refused("mask", str("there are ", p.mask_size(), " mask for ", groups, " groups of ", p.num_box()),
                    "give the index of each anchor of each scale");
    }
    for (const uint32_t anchor : p.mask()) {
      if (anchor < anchors_.count) continue;
      throw refused("mask", str("mask ", anchor, " is out of range 0..", anchors_.count - 1), "anchors count from 0");
    }
    if (p.anchors_scale_size() != groups) {
      throw refused("anchors_scale",
                    str("there are ", p.anchors_scale_size(), " anchors_scale for ", groups, " groups"),
                    "give the pixels of the image in a cell of each scale");
    }
    for (const uint32_t scale : p.anchors_scale()) {
      if (scale == 0) throw refused("anchors_scale", "an anchors_scale is 0", "give pixels of the image in a cell");
    }
  }

  Anchors anchors_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("YoloDetectionOutput", YoloDetectionOutputLayer);
ROBUSTA_REGISTER_LAYER("Yolov3DetectionOutput", Yolov3DetectionOutputLayer);

}  // namespace robusta
