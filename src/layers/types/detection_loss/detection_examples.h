/// Which cells of a map of detections are examples, and how much the scores of each count (zhaoweicai/mscnn,
/// src/caffe/layers/detection_loss_layer.cpp, its "bootstrap map" and "weight map"; Cai et al. 2016, section 3.3). Made
/// on the host.
///
/// Objects are examples. Of the background of each item, by sample_mode: "random": cells that are drawn, with
/// replacement, bg_multiple times as often as there are objects, at least 4 times for each class; "bootstrap": for each
/// class bg_multiple as many as it has objects, at least 4, of the largest scores of that class; "mixture": half as
/// many of each; "all": all. Of equal scores the last cell comes first, one that is no number before all.
///
/// The weight of an example is 1, or with iou_weighted the overlap of an object. With pos_neg_weighted objects have
/// together 1 / (1 + bg_multiple) of the weight, and the background the rest, as far as there are any. Ranks have the
/// weights and the divisors that their batches would have as one.
///
/// What is drawn depends on the seed, the layer's name, the position of the sample and the number of the draw alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/kit/detection_maps.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// What the losses of this rank are divided by. They are averaged over the ranks.
struct DetectionDivisors {
  double scores = 1, boxes = 1;
};

/// In place of the weight of a cell that is no example.
inline constexpr float kNoDetectionExample = -1;

class DetectionExamples {
 public:
  /// `param`: of the layer called `layer`. Throws Error{kConfig}.
  DetectionExamples(const caffe::DetectionLossParameter& param, const DetectionMaps& maps, std::string layer);

  /// Whether choose() looks at the predictions.
  bool by_scores() const { return by_scores_; }
  /// Writes a weight for each place. `predictions` may be null unless by_scores(). Throws Error{kData} for a truth that
  /// cannot be.
  template <typename T>
  DetectionDivisors choose(const T* predictions, const T* truth, const Pass& pass, float* weights);

  /// Throws Error{kConfig}.
  static void check(const caffe::DetectionLossParameter& param);

 private:
  struct Candidate {
    double score;
    int64_t place;
  };
  /// Over all items, and in the end over all ranks.
  struct Sums {
    double examples = 0, objects = 0, object_weights = 0, background_weights = 0;
  };

  template <typename T>
  void count_objects(const T* truth, int64_t item, float* weights, Sums& sums);
  template <typename T>
  void draw(const T* truth, int64_t item, const Pass& pass, float* weights) const;
  template <typename T>
  void take_hardest(const T* predictions, const T* truth, int64_t item, float* weights);
  int64_t share(int64_t objects) const;

  const DetectionMaps maps_;
  std::string layer_;
  bool draws_ = false, by_scores_ = false, by_overlap_, balances_;
  int64_t multiple_;
  std::vector<int64_t> objects_;  // of the item, by class
  std::vector<Candidate> candidates_;
};

}  // namespace robusta
