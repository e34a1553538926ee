/// YoloDetectionOutput and Yolov3DetectionOutput: what a YOLO detector has found (Redmon, Farhadi 2017, "YOLO9000:
/// Better, Faster, Stronger"; 2018, "YOLOv3: An Incremental Improvement"). Shared by their kernels.
///
/// As in eric612/MobileNet-YOLO (yolo_detection_output_layer.cpp, yolov3_detection_output_layer.cpp). Each bottom holds
/// predictions (kit/anchors.h) on a grid of its own. A score is that of an object times that of a class: of the second
/// version by a softmax, the best class of a prediction alone, where the score is at least confidence_threshold; of the
/// third by sigmoids, each class whose score is above it. Of those of an item, whatever their classes, the boxes that
/// survive non-maximum suppression, which takes those that overlap a better one by nms_threshold or more. The top is
/// [1, 1, N, 7] with rows [item, class, score, xmin, ymin, xmax, ymax], classes counting from 1, by item, then score; N
/// follows from the values. Where nothing is found in a batch there is a row [item, -1, ..., -1] for each item.
///
/// There all items count as the first: boxes of one image suppress those of another.
///
/// All is computed on the host before the layer runs (kit/sized_by_bottoms.h), in single precision; kernels copy it.
#pragma once

#include <array>

#include "layers/kit/anchors.h"
#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"

namespace robusta {

inline constexpr int64_t kDetectionRow = 7;  ///< item, class, score, xmin, ymin, xmax, ymax
using DetectionRow = std::array<float, kDetectionRow>;

/// Something found: the row of the top, its item a number of its own.
struct FoundBox {
  Box<float> box;
  int64_t label;
  float score;
};

class YoloDetectionLayer : public Layer, public SizedByBottoms {
 public:
  explicit YoloDetectionLayer(const caffe::LayerParameter& param) : Layer(param) {}
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return param().bottom_size() - 1; }
  std::vector<int> sizing_bottoms() const override;
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  /// What the last size_by_bottoms has found. Before: one row of nothing.
  const std::vector<DetectionRow>& rows() const { return rows_; }

 protected:
  /// Throws Error{kConfig} unless both thresholds are numbers.
  void set_thresholds(float confidence, float suppression, const std::string& message);
  float confidence() const { return confidence_; }

  virtual AnchorGrid grid_of(const std::vector<Shape>& bottoms, int bottom) const = 0;
  /// Adds what the predictions of one item of a bottom say: `x` are the numbers of the item.
  virtual void find(int bottom, const AnchorGrid& grid, const float* x, std::vector<FoundBox>& found) const = 0;

 private:
  float confidence_ = 0, suppression_ = 0;
  std::vector<AnchorGrid> grids_;
  std::vector<DetectionRow> rows_{{0, -1, -1, -1, -1, -1, -1}};
};

/// What every kernel books: there is no backward.
inline void book_yolo_detections(const KernelRequest& request, Booking& booking) {
  booking.reads_bottoms.assign(request.bottoms.size(), false);
}

}  // namespace robusta
