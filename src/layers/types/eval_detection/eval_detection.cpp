// EvalDetection: fields, shapes, what is right, and the reference kernel.

#include "layers/types/eval_detection/eval_detection.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

using Fields = caffe::EvalDetectionParameter;

constexpr float kLeastScore = 0.005f;  ///< Darknet's

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

EvalDetectionLayer::EvalDetectionLayer(const caffe::LayerParameter& param) : Layer(param) {
  const Fields& p = fields();
  const auto require_one = [](uint32_t value, const std::string& field) {
    if (value == 0) throw wrong_setting("eval_detection_param." + field, field + " is 0", "give 1 or more");
  };
  require_one(p.side(), "side");
  require_one(p.num_class(), "num_class");
  require_one(p.num_object(), "num_object");
  require_finite(p.threshold(), "eval_detection_param.threshold");
  require_finite(p.nms(), "eval_detection_param.nms");
  if (static_cast<int64_t>(p.biases_size()) != 2 * int64_t{p.num_object()}) {
    throw wrong_setting("eval_detection_param.biases",
                        str("there are ", p.biases_size(), " biases, and num_object is ", p.num_object()),
                        "give width and height for each of num_object boxes");
  }
  for (const float bias : p.biases()) {
    if (!(require_finite(bias, "eval_detection_param.biases") > 0)) {
      throw wrong_setting("eval_detection_param.biases", str("one of the biases is ", bias),
                          "give positive widths and heights");
    }
  }
}

std::vector<Shape> EvalDetectionLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& predictions = bottoms[0];
  const auto side = int64_t{fields().side()}, channels = product_or_most(fields().num_object(), numbers());
  if (predictions.axes() != 4 || predictions[1] != channels || predictions[2] != side || predictions[3] != side) {
    throw Error(ErrorKind::kConfig,
                str("bottom 0 has shape ", predictions.str(), ", but ", channels, " channels of ", side, " x ", side,
                    " pixels are wanted"),
                "each of num_object boxes has 5 + num_class channels; side is the side of the map")
        .in_field("bottom");
  }
  true_box_rows(bottoms[1], 1);
  items_ = predictions[0];
  return {{items_, top_numbers()}};
}

/// Channel k of an object lies at k planes from its first.
EvalDetectionLayer::Predicted EvalDetectionLayer::predicted(const float* item, int64_t pixel, int64_t object) const {
  const auto side = int64_t{fields().side()}, plane = side * side;
  const float* first = item + object * numbers() * plane + pixel;
  const auto number = [&](int64_t k) { return first[k * plane]; };
  const auto bias = [&](int64_t k) { return fields().biases(static_cast<int>(2 * object + k)); };
  const auto extent = static_cast<float>(side);
  const float x = (static_cast<float>(pixel % side) + sigmoid(number(0))) / extent,
              y = (static_cast<float>(pixel / side) + sigmoid(number(1))) / extent;
  const float half_width = std::exp(number(2)) * bias(0) / extent / 2,
              half_height = std::exp(number(3)) * bias(1) / extent / 2;
  int32_t label = 0;
  for (int32_t c = 1; c < static_cast<int32_t>(fields().num_class()); ++c) {
    if (number(5 + c) > number(5 + label)) label = c;
  }
  float sum = 0;
  for (int32_t c = 0; c < static_cast<int32_t>(fields().num_class()); ++c) {
    sum += std::exp(number(5 + c) - number(5 + label));
  }
  const float is_object = sigmoid(number(4)), probability = 1 / sum;
  const float score = fields().score_type() == Fields::OBJ    ? is_object
                      : fields().score_type() == Fields::PROB ? probability
                                                              : is_object * probability;
  return {label, score, {x - half_width, y - half_height, x + half_width, y + half_height}};
}

/// The boxes that stay, by class, then score.
std::vector<EvalDetectionLayer::Predicted> EvalDetectionLayer::predictions_of(const float* item) const {
  const int64_t objects = fields().num_object();
  std::vector<Predicted> all;
  for (int64_t box = 0; box < boxes(); ++box) all.push_back(predicted(item, box / objects, box % objects));
  const auto score_of = [&](int64_t i) { return all[static_cast<size_t>(i)].score; };
  std::vector<Predicted> best;
  for (const Scored& one : best_scores(boxes(), score_of, -HUGE_VALF, -1)) {
    best.push_back(all[static_cast<size_t>(one.index)]);
  }
  std::vector<Predicted> stay = best;
  if (fields().nms() >= 0) {
    std::vector<Box<float>> places;
    for (const Predicted& one : best) places.push_back(one.box);
    // An overlap of nms is one too many already.
    stay.clear();
    for (const int64_t i : suppress_overlaps(places, std::nextafter(fields().nms(), -1.0f), 1)) {
      const Predicted& one = best[static_cast<size_t>(i)];
      if (one.score >= kLeastScore) stay.push_back(one);
    }
  }
  std::stable_sort(stay.begin(), stay.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
  return stay;
}

void EvalDetectionLayer::judge_item(const float* item, std::span<const TrueBox> truths, float* top) const {
  std::fill_n(top, top_numbers(), 0.0f);
  for (const TrueBox& one : truths) ++top[one.label - 1];
  std::vector<char> taken(truths.size(), 0);
  float* row = top + fields().num_class();
  for (const Predicted& one : predictions_of(item)) {
    float most = -1;
    size_t nearest = 0;
    for (size_t i = 0; i < truths.size(); ++i) {
      const float common = overlap(one.box, truths[i].box);
      if (truths[i].label == one.label + 1 && common > most) most = common, nearest = i;
    }
    const bool right = most >= 0 && most >= fields().threshold() && !taken[nearest];
    if (right) taken[nearest] = 1;
    row[0] = static_cast<float>(one.label), row[1] = one.score;
    row[2] = right ? 1.0f : 0.0f, row[3] = right ? 0.0f : 1.0f;
    row += 4;
  }
}

void EvalDetectionLayer::judge(std::span<const float> predictions, std::span<const float> truth,
                               std::span<float> top) const {
  const int64_t classes = int64_t{fields().num_class()} + 1;
  std::vector<TrueBox> truths = read_true_boxes(truth, {.items = items_, .classes = classes, .background = 0}, 1);
  std::stable_sort(truths.begin(), truths.end(), [](const auto& a, const auto& b) { return a.item < b.item; });
  const auto first_of = [&](int64_t item) {
    return std::partition_point(truths.begin(), truths.end(), [&](const TrueBox& one) { return one.item < item; });
  };
  const int64_t of_item = boxes() * numbers();
  parallel_for(items_, 1, [&](int64_t item) {
    judge_item(predictions.data() + item * of_item, {first_of(item), first_of(item + 1)},
               top.data() + item * top_numbers());
  });
}

namespace {

template <typename T>
class EvalDetectionReference : public Kernel {
 public:
  explicit EvalDetectionReference(const KernelRequest& request) : layer_(request.layer<EvalDetectionLayer>()) {
    book_reads_nothing(request.bottoms.size(), booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    std::vector<float> top(static_cast<size_t>(run.tops[0].count()));
    layer_.judge(numbers(run.bottoms[0]), numbers(run.bottoms[1]), top);
    std::copy(top.begin(), top.end(), run.tops[0].as<T>());
  }

  void backward(const KernelRun&) override {}

 private:
  static std::vector<float> numbers(const Tensor& bottom) { return {bottom.as<T>(), bottom.as<T>() + bottom.count()}; }

  const EvalDetectionLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("EvalDetection", EvalDetectionLayer);
ROBUSTA_REGISTER_REFERENCE("EvalDetection", EvalDetectionReference);

}  // namespace robusta
