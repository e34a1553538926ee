// DetectionLoss: fields, shapes, and the kernel of the CPU.

#include "layers/types/detection_loss/detection_loss.h"

#include "base/parallel.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/math.h"
#include "layers/types/detection_loss/detection_examples.h"

namespace robusta {

DetectionLossLayer::DetectionLossLayer(const caffe::LayerParameter& param)
    : DetectionMapsLayer(param, param.detection_loss_param(), "detection_loss_param") {
  DetectionExamples::check(fields());
  require_finite(fields().lambda(), "detection_loss_param.lambda");
}

std::vector<Shape> DetectionLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  take_bottoms(bottoms);
  return {Shape{1, 1, 1, 2}};
}

/// Bounds are normalised by what the numbers of both axes have in common, as in mscnn.
DetectionTerms DetectionLossLayer::terms() const {
  const auto& [mean, deviation] = maps().statistics;
  const float shift = (mean[0] + mean[1]) / 2, size = (mean[2] + mean[3]) / 2;
  const float of_shift = std::sqrt(deviation[0] * deviation[1]), of_size = std::sqrt(deviation[2] * deviation[3]);
  return {.m = maps(),
          .lambda = fields().lambda(),
          .smooth = fields().bb_smooth(),
          .least_shift = (maps().least_shift - shift) / of_shift,
          .most_shift = (maps().most_shift - shift) / of_shift,
          .least_log = (maps().least_log - size) / of_size,
          .most_log = (maps().most_log - size) / of_size};
}

namespace {

/// Keeps the divisors and the weight of each place.
template <typename T>
class DetectionLossReference : public Kernel {
 public:
  explicit DetectionLossReference(const KernelRequest& request)
      : terms_(request.layer<DetectionLossLayer>().terms()),
        examples_(request.layer<DetectionLossLayer>().fields(), terms_.m, request.layers[0]->name()) {
    const auto places = static_cast<size_t>(terms_.m.places());
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = sizeof(DetectionDivisors) + places * sizeof(float);
    booking_.forward_scratch = 2 * places * sizeof(double);
    booking_.asks_ranks = true;
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *truth = run.bottoms[1].as<T>();
    float* weights = weights_of(run);
    const DetectionDivisors divisors = examples_.choose(x, truth, *run.pass, weights);
    *static_cast<DetectionDivisors*>(run.saved) = divisors;
    const int64_t places = terms_.m.places();
    double *scores = static_cast<double*>(run.scratch), *boxes = scores + places;
    parallel_for(places, kPlaces, [=, this](int64_t place) {
      const int label = terms_.m.label(truth, place);
      const auto weight = static_cast<T>(weights[place]);
      scores[place] = weight >= 0 ? static_cast<double>(weight * terms_.template score_loss<Math>(x, place, label)) : 0;
      boxes[place] = label > 0 ? static_cast<double>(terms_.template box_loss<Math>(x, truth, place)) : 0;
    });
    double of_scores = 0, of_boxes = 0;
    for (int64_t place = 0; place < places; ++place) of_scores += scores[place], of_boxes += boxes[place];
    of_boxes *= static_cast<double>(terms_.lambda) / divisors.boxes;
    run.tops[0].as<T>()[0] = static_cast<T>(of_scores / divisors.scores + of_boxes);
    run.tops[0].as<T>()[1] = static_cast<T>(of_boxes);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *truth = run.bottoms[1].as<T>();
    const float* weights = weights_of(run);
    const auto& divisors = *static_cast<const DetectionDivisors*>(run.saved);
    const auto weight = static_cast<double>(run.top_diffs[0].as<T>()[0]);
    const auto scores = static_cast<T>(weight / divisors.scores);
    const auto boxes = static_cast<T>(weight * static_cast<double>(terms_.lambda) / divisors.boxes);
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(terms_.m.places(), kPlaces, [=, this](int64_t place) {
      terms_.template write_slopes<Math>(x, truth, place, static_cast<T>(weights[place]), scores, boxes, dx);
    });
  }

 private:
  using Math = ExactMath<T>;
  static constexpr int64_t kPlaces = 64;

  static float* weights_of(const KernelRun& run) {
    return reinterpret_cast<float*>(static_cast<DetectionDivisors*>(run.saved) + 1);
  }

  const DetectionTerms terms_;
  DetectionExamples examples_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DetectionLoss", DetectionLossLayer);
ROBUSTA_REGISTER_REFERENCE("DetectionLoss", DetectionLossReference);

}  // namespace robusta
