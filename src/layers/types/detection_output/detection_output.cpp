// DetectionOutput: fields, shapes, what is found, and the reference kernel.

#include "layers/types/detection_output/detection_output.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

BoxCode code_of(caffe::PriorBoxParameter::CodeType type) {
  switch (type) {
    case caffe::PriorBoxParameter::CENTER_SIZE:
      return BoxCode::kCenterSize;
    case caffe::PriorBoxParameter::CORNER_SIZE:
      return BoxCode::kCornerSize;
    default:
      return BoxCode::kCorner;
  }
}

void require_count(const Shape& shape, int bottom, int64_t wanted, const std::string& what) {
  if (shape.count() == wanted) return;
  throw Error(ErrorKind::kConfig,
              str("bottom ", bottom, " has shape ", shape.str(), ", but ", wanted, " numbers are wanted: ", what))
      .in_field("bottom");
}

}  // namespace

DetectionOutputLayer::DetectionOutputLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.detection_output_param();
  if (p.num_classes() == 0) {
    throw wrong_setting("detection_output_param.num_classes",
                        p.has_num_classes() ? "num_classes is 0" : "no num_classes is given",
                        "give the number of classes, the background among them");
  }
  if (p.has_confidence_threshold() && std::isnan(p.confidence_threshold())) {
    throw wrong_setting("detection_output_param.confidence_threshold", "confidence_threshold is nan", "give a number");
  }
  const float threshold =
      require_finite(p.nms_param().nms_threshold(), "detection_output_param.nms_param.nms_threshold");
  if (threshold < 0) {
    throw wrong_setting("detection_output_param.nms_param.nms_threshold", str("nms_threshold is ", threshold),
                        "give 0 to 1, such as 0.45");
  }
  const float eta = p.nms_param().eta();
  if (!(eta > 0 && eta <= 1))
    throw wrong_setting("detection_output_param.nms_param.eta", str("eta is ", eta), "give 1, or less but above 0");
  found_ = {{0, 0, -1, 0}};
}

std::vector<Shape> DetectionOutputLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const auto& p = param().detection_output_param();
  const Shape &codes = bottoms[0], &scores = bottoms[1], &priors = bottoms[2];
  if (codes.axes() < 2 || scores.axes() < 2 || priors.axes() < 3) {
    throw Error(ErrorKind::kConfig,
                str("the bottoms have shapes ", codes.str(), ", ", scores.str(), " and ", priors.str()),
                "wanted are codes of boxes and scores, with a first axis of items, and the top of PriorBox, 1 x 2 x n")
        .in_field("bottom");
  }
  DetectionCoding coding;
  coding.items = codes[0];
  coding.priors = priors[2] / 4;
  coding.classes = p.num_classes();
  coding.shared = p.share_location();
  coding.has_variance = !p.variance_encoded_in_target();
  coding.code = code_of(p.code_type());
  const int64_t of_item = product_or_most(coding.priors, coding.classes), items = coding.items;
  require_count(priors, 2, product_or_most(coding.priors, 8), "4 of each prior box, and as many variances");
  require_count(codes, 0, product_or_most(items, product_or_most(coding.shared ? coding.priors : of_item, 4)),
                str(items, " items x ", coding.priors, " prior boxes", coding.shared ? "" : " x classes", " x 4"));
  require_count(scores, 1, product_or_most(items, of_item),
                str(items, " items x ", coding.priors, " prior boxes x ", coding.classes, " classes"));
  // What was found in a batch of another size says nothing about this one.
  if (coding_.items != coding.items || coding_.priors != coding.priors) found_ = {{0, 0, -1, 0}};
  coding_ = coding;
  return {{1, 1, static_cast<int64_t>(found_.size()), 7}};
}

void DetectionOutputLayer::check_priors(const std::vector<float>& prior_boxes) const {
  if (coding_.code == BoxCode::kCorner) return;
  for (int64_t prior = 0; prior < coding_.priors; ++prior) {
    const auto box = Box<float>::at(prior_boxes.data() + prior * 4);
    if (box.width() > 0 && box.height() > 0) continue;
    throw Error(ErrorKind::kData, str("prior box ", prior, " is ", box.width(), " wide and ", box.height(), " high"),
                "bottom 2 holds xmin, ymin, xmax, ymax of boxes that are not empty: correct what makes it");
  }
}

std::vector<Detection> DetectionOutputLayer::find_in_class(std::span<const std::vector<float>> values, int64_t item,
                                                           int32_t label) const {
  const auto& p = param().detection_output_param();
  const float *codes = values[0].data(), *scores = values[1].data(), *prior_boxes = values[2].data();
  const float least = p.has_confidence_threshold() ? p.confidence_threshold() : -FLT_MAX;
  const std::vector<Scored> best = best_scores(
      coding_.priors, [&](int64_t prior) { return scores[coding_.score_at(item, prior, label)]; }, least,
      p.nms_param().has_top_k() ? p.nms_param().top_k() : -1);
  std::vector<Box<float>> boxes;
  boxes.reserve(best.size());
  for (const Scored& one : best) boxes.push_back(coding_.box(codes, prior_boxes, item, one.index, label));
  std::vector<Detection> found;
  for (const int64_t i : suppress_overlaps(boxes, p.nms_param().nms_threshold(), p.nms_param().eta())) {
    const Scored& one = best[static_cast<size_t>(i)];
    found.push_back({item, one.index, label, one.score});
  }
  return found;
}

void DetectionOutputLayer::limit(std::vector<Detection>& of_item) const {
  const int64_t most = param().detection_output_param().keep_top_k();
  if (most < 0 || static_cast<int64_t>(of_item.size()) <= most) return;
  std::stable_sort(of_item.begin(), of_item.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  of_item.resize(static_cast<size_t>(most));
  std::stable_sort(of_item.begin(), of_item.end(),
                   [](const Detection& a, const Detection& b) { return a.label < b.label; });
}

void DetectionOutputLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  check_priors(values[2]);
  const int32_t background = param().detection_output_param().background_label_id();
  std::vector<std::vector<Detection>> of_class(static_cast<size_t>(coding_.items * coding_.classes));
  parallel_for(coding_.items * coding_.classes, 1, [&](int64_t task) {
    const auto label = static_cast<int32_t>(task % coding_.classes);
    if (label == background) return;
    of_class[static_cast<size_t>(task)] = find_in_class(values, task / coding_.classes, label);
  });
  found_.clear();
  for (int64_t item = 0; item < coding_.items; ++item) {
    std::vector<Detection> of_item;
    for (int64_t label = 0; label < coding_.classes; ++label) {
      const auto& more = of_class[static_cast<size_t>(item * coding_.classes + label)];
      of_item.insert(of_item.end(), more.begin(), more.end());
    }
    limit(of_item);
    found_.insert(found_.end(), of_item.begin(), of_item.end());
  }
  if (!found_.empty()) return;
  for (int64_t item = 0; item < coding_.items; ++item) found_.push_back({item, 0, -1, 0});
}

namespace {

template <typename T>
class DetectionOutputReference : public Kernel {
 public:
  explicit DetectionOutputReference(const KernelRequest& request) : layer_(request.layer<DetectionOutputLayer>()) {
    book_detection_output(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(run.tops[0].shape()[2], static_cast<int64_t>(layer_.found().size()));
    for (int64_t row = 0; row < rows; ++row) {
      layer_.coding().write(layer_.found()[static_cast<size_t>(row)], run.bottoms[0].as<T>(), run.bottoms[1].as<T>(),
                            run.bottoms[2].as<T>(), run.tops[0].as<T>() + row * 7);
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const DetectionOutputLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DetectionOutput", DetectionOutputLayer);
ROBUSTA_REGISTER_REFERENCE("DetectionOutput", DetectionOutputReference);

}  // namespace robusta
