/// DetectionAccuracy: how well maps of detections find what is there (zhaoweicai/mscnn,
/// src/caffe/layers/detection_accuracy_layer.cpp). Shared by its kernels.
///
/// Bottoms: kit/detection_maps.h. Top 0 [1, 1, 1, 2]: the share of cells, of objects and of the background, whose class
/// is among the top_k largest scores; the same of objects alone. Top 1 [1, 1, 1, 1]: the mean, over objects, of what
/// the box of the cell's code and that of the truth have in common, by what either has. A share of nothing is -1. Of
/// equal scores the last is the larger one; one that is no number is never found.
#pragma once

#include "layers/kit/detection_maps.h"
#include "ops/boxes.h"

namespace robusta {

/// What is summed over places.
struct DetectionHits {
  int64_t cells = 0, hits = 0, objects = 0, found = 0;
  double overlaps = 0;  ///< summed over the objects

  ROBUSTA_HOST_DEVICE static DetectionHits join(const DetectionHits& a, const DetectionHits& b) {
    return {a.cells + b.cells, a.hits + b.hits, a.objects + b.objects, a.found + b.found, a.overlaps + b.overlaps};
  }
  /// `overlap` may be null.
  template <typename T>
  ROBUSTA_HOST_DEVICE void write(T* shares, T* overlap) const {
    const auto share = [](double part, int64_t whole) {
      return static_cast<T>(whole > 0 ? part / static_cast<double>(whole) : -1);
    };
    shares[0] = share(static_cast<double>(hits), cells);
    shares[1] = share(static_cast<double>(found), objects);
    if (overlap) *overlap = share(overlaps, objects);
  }
};

struct DetectionComparison {
  DetectionMaps m;
  int64_t top_k;

  /// Of one place, whose truth may be there.
  template <typename T>
  ROBUSTA_HOST_DEVICE DetectionHits hits(const T* x, const T* truth, int64_t place) const {
    const int label = m.label(truth, place);
    if (label < 0 || (label == 0 && !m.is_background(truth, place))) return {};
    const int64_t hit = is_hit(x, place, label), object = label > 0;
    return {1, hit, object, hit * object, object > 0 ? static_cast<double>(common_part(x, truth, place)) : 0};
  }

 private:
  template <typename T>
  ROBUSTA_HOST_DEVICE bool is_hit(const T* x, int64_t place, int label) const {
    const T own = x[m.in_predictions(place, label)];
    if (own != own) return false;
    int64_t larger = 0;
    for (int64_t c = 0; c < m.classes; ++c) {
      const T score = x[m.in_predictions(place, c)];
      larger += score > own || (score == own && c > label);
    }
    return larger < top_k;
  }

  template <typename T>
  ROBUSTA_HOST_DEVICE T common_part(const T* x, const T* truth, int64_t place) const {
    const auto code = [&](int k, float least, float most) {
      const T number = m.statistics.undo(k, x[m.in_predictions(place, m.classes + k)]);
      return number < static_cast<T>(least)  ? static_cast<T>(least)
             : number > static_cast<T>(most) ? static_cast<T>(most)
                                             : number;
    };
    const auto around = [](T middle_x, T middle_y, T wide, T high) {
      return Box<T>{middle_x - wide / 2, middle_y - high / 2, middle_x + wide / 2, middle_y + high / 2};
    };
    const T wide = static_cast<T>(m.field_w), high = static_cast<T>(m.field_h);
    const Box<T> found =
        around(code(0, m.least_shift, m.most_shift) * wide + static_cast<T>(m.middle_x(place)),
               code(1, m.least_shift, m.most_shift) * high + static_cast<T>(m.middle_y(place)),
               wide * std::exp(code(2, m.least_log, m.most_log)), high * std::exp(code(3, m.least_log, m.most_log)));
    const auto of_truth = [&](int64_t k) { return truth[m.in_truth(place, k)]; };
    return overlap(found, around(of_truth(1), of_truth(2), of_truth(3), of_truth(4)));
  }
};

class DetectionAccuracyLayer : public DetectionMapsLayer {
 public:
  explicit DetectionAccuracyLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  /// After infer_tops.
  DetectionComparison comparison() const {
    return {maps(), static_cast<int64_t>(param().detection_accuracy_param().top_k())};
  }
};

}  // namespace robusta
