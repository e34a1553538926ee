// Item by item on one thread: the loop over the cells is short beside the convolutions that made them.

#include "layers/types/detection_loss/detection_examples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/philox.h"
#include "layers/kit/field_checks.h"

namespace robusta {

void DetectionExamples::check(const caffe::DetectionLossParameter& param) {
  const std::string& mode = param.sample_mode();
  if (mode == "random" || mode == "bootstrap" || mode == "mixture" || mode == "all") return;
  throw wrong_setting("detection_loss_param.sample_mode", "unknown sample_mode \"" + mode + "\"",
                      "say random, bootstrap, mixture or all");
}

DetectionExamples::DetectionExamples(const caffe::DetectionLossParameter& param, const DetectionMaps& maps,
                                     std::string layer)
    : maps_(maps),
      layer_(std::move(layer)),
      draws_(param.sample_mode() == "random" || param.sample_mode() == "mixture"),
      by_scores_(param.sample_mode() == "bootstrap" || param.sample_mode() == "mixture"),
      by_overlap_(param.iou_weighted()),
      balances_(param.pos_neg_weighted()),
      multiple_(param.bg_multiple()),
      objects_(static_cast<size_t>(maps.classes)) {
  check(param);
}

/// Of the background, for so many objects.
int64_t DetectionExamples::share(int64_t objects) const {
  const int64_t all = objects * multiple_;
  return draws_ && by_scores_ ? all / 2 : all;
}

template <typename T>
void DetectionExamples::count_objects(const T* truth, int64_t item, float* weights, Sums& sums) {
  std::ranges::fill(objects_, 0);
  for (int64_t place = item * maps_.cells(); place < (item + 1) * maps_.cells(); ++place) {
    const int label = maps_.label(truth, place);
    const bool all = !draws_ && !by_scores_;
    weights[place] = all && maps_.is_background(truth, place) ? 1 : kNoDetectionExample;
    if (label <= 0) continue;
    weights[place] = by_overlap_ ? static_cast<float>(truth[maps_.in_truth(place, DetectionMaps::kOverlap)]) : 1;
    ++objects_[static_cast<size_t>(label)];
    ++sums.objects;
    sums.object_weights += static_cast<double>(weights[place]);
  }
}

/// As good as all are drawn when there were 64 draws for each cell.
template <typename T>
void DetectionExamples::draw(const T* truth, int64_t item, const Pass& pass, float* weights) const {
  constexpr int64_t kMostDraws = 64;
  int64_t objects = 0;
  for (const int64_t of_class : objects_) objects += of_class;
  const int64_t draws =
      std::min(std::max(share(objects), 4 * (maps_.classes - 1)), kMostDraws * std::max<int64_t>(maps_.cells(), 64));
  const uint64_t key = random_key(pass.seed, layer_, "background");
  const uint64_t sample = pass.first_sample + static_cast<uint64_t>(item), cells = static_cast<uint64_t>(maps_.cells());
  PhiloxStream stream(key, sample);
  for (int64_t i = 0; i < draws; ++i) {
    const int64_t place = item * maps_.cells() + static_cast<int64_t>(stream.below(cells));
    if (maps_.is_background(truth, place)) weights[place] = 1;
  }
}

template <typename T>
void DetectionExamples::take_hardest(const T* predictions, const T* truth, int64_t item, float* weights) {
  const auto is_harder = [](const Candidate& a, const Candidate& b) {
    const bool a_is_none = std::isnan(a.score), b_is_none = std::isnan(b.score);
    if (a_is_none != b_is_none) return a_is_none;
    if (!a_is_none && a.score != b.score) return a.score > b.score;
    return a.place > b.place;
  };
  for (int64_t c = 1; c < maps_.classes; ++c) {
    candidates_.clear();
    for (int64_t place = item * maps_.cells(); place < (item + 1) * maps_.cells(); ++place) {
      if (!maps_.is_background(truth, place)) continue;
      candidates_.push_back({static_cast<double>(predictions[maps_.in_predictions(place, c)]), place});
    }
    const int64_t wanted = std::max<int64_t>(4, share(objects_[static_cast<size_t>(c)]));
    const int64_t taken = std::min(static_cast<int64_t>(candidates_.size()), wanted);
    std::nth_element(candidates_.begin(), candidates_.begin() + taken, candidates_.end(), is_harder);
    for (int64_t i = 0; i < taken; ++i) weights[candidates_[static_cast<size_t>(i)].place] = 1;
  }
}

template <typename T>
DetectionDivisors DetectionExamples::choose(const T* predictions, const T* truth, const Pass& pass, float* weights) {
  for (int64_t place = 0; place < maps_.places(); ++place) {
    const int64_t at = maps_.fault(truth, place);
    if (at >= 0) throw_bad_truth(maps_, at, static_cast<double>(truth[at]), pass);
  }
  Sums sums;
  for (int64_t item = 0; item < maps_.items; ++item) {
    count_objects(truth, item, weights, sums);
    if (draws_) draw(truth, item, pass, weights);
    if (by_scores_) take_hardest(predictions, truth, item, weights);
  }
  for (int64_t place = 0; place < maps_.places(); ++place) {
    if (weights[place] >= 0 && maps_.label(truth, place) == 0) ++sums.background_weights;
  }
  sums.examples = sums.objects + sums.background_weights;
  std::array<double, 4> over_ranks{sums.examples, sums.objects, sums.object_weights, sums.background_weights};
  if (pass.ranks) pass.ranks->sum(over_ranks);
  const auto [examples, objects, object_weights, background_weights] = over_ranks;
  if (balances_) {
    // The weights are scaled so that their sum stays the number of examples, by which the loss is divided.
    const double of_objects = 1 / (1 + static_cast<double>(multiple_));
    const double object = object_weights > 0 ? of_objects * examples / object_weights : 1;
    const double background = background_weights > 0 ? (1 - of_objects) * examples / background_weights : 1;
    for (int64_t place = 0; place < maps_.places(); ++place) {
      if (weights[place] >= 0)
        weights[place] *= static_cast<float>(maps_.label(truth, place) > 0 ? object : background);
    }
  }
  // Gradients are averaged over the ranks, and these divisors are of all of them: so each counts a part of it.
  const double ranks = pass.ranks ? pass.ranks->ranks() : 1;
  return {std::max(1.0, examples) / ranks, std::max(1.0, 4 * objects) / ranks};
}

template DetectionDivisors DetectionExamples::choose(const float*, const float*, const Pass&, float*);
template DetectionDivisors DetectionExamples::choose(const double*, const double*, const Pass&, float*);

}  // namespace robusta
