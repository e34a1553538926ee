// DetectionEvaluate: fields, shapes, what is right, and the reference kernel.

#include "layers/types/detection_evaluate/detection_evaluate.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/log.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/labels.h"

namespace robusta {
namespace {

int64_t classes_of_objects(const caffe::DetectionEvaluateParameter& p) {
  return int64_t{p.num_classes()} - (p.background_label_id() < p.num_classes() ? 1 : 0);
}

/// A row of class -1 says that nothing was found, one of item -1 nothing at all.
bool is_of_a_box(const float* row) { return to_label(row[0]) != -1 && to_label(row[1]) != -1; }

}  // namespace

DetectionEvaluateLayer::DetectionEvaluateLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = fields();
  if (p.num_classes() == 0) {
    throw wrong_setting("detection_evaluate_param.num_classes",
                        p.has_num_classes() ? "num_classes is 0" : "no num_classes is given",
                        "give the number of classes, the background among them");
  }
  if (classes_of_objects(p) == 0) {
    throw wrong_setting("detection_evaluate_param.num_classes", "num_classes is 1, which is the background",
                        "count the classes of objects, too");
  }
  if (!(require_finite(p.overlap_threshold(), "detection_evaluate_param.overlap_threshold") > 0)) {
    throw wrong_setting("detection_evaluate_param.overlap_threshold",
                        str("overlap_threshold is ", p.overlap_threshold()), "give 0 to 1, such as 0.5");
  }
  const auto& resize = p.resize_param();
  const bool pads = resize.resize_mode() == caffe::ResizeParameter::FIT_LARGE_SIZE_AND_PAD;
  if (p.has_resize_param() && pads && (resize.height() == 0 || resize.width() == 0)) {
    throw wrong_setting("detection_evaluate_param.resize_param",
                        str("height is ", resize.height(), " and width ", resize.width()),
                        "give the size that images were resized to");
  }
}

void DetectionEvaluateLayer::read_files(bool may_be_absent) {
  const auto& p = fields();
  reads_file_ = false;
  if (!p.has_name_size_file()) return;
  std::error_code unknown;
  if (may_be_absent && !std::filesystem::exists(p.name_size_file(), unknown)) {
    LOG_WARNING << "Layer " << name() << ": " << p.name_size_file()
                << " does not exist, and boxes are compared as parts of their images";
    return;
  }
  images_ = OriginalImages(p.name_size_file(), p);
}

std::vector<Shape> DetectionEvaluateLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (reads_file_) read_files(false);
  const Shape& found = bottoms[0];
  if (found.axes() < 2 || found[found.axes() - 1] != kFoundNumbers) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", found.str()),
                "it is the top of DetectionOutput: rows of item, class, score, xmin, ymin, xmax, ymax")
        .in_field("bottom");
  }
  true_box_rows(bottoms[1], 1);
  return {{1, 1, classes_of_objects(fields()) + found_, kJudgedNumbers}};
}

void DetectionEvaluateLayer::size_by(std::span<const float> found) {
  found_ = 0;
  for (size_t row = 0; row + kFoundNumbers <= found.size(); row += kFoundNumbers) found_ += is_of_a_box(&found[row]);
}

std::vector<DetectionEvaluateLayer::Found> DetectionEvaluateLayer::read_found(std::span<const float> numbers) const {
  const auto classes = static_cast<int64_t>(fields().num_classes()),
             background = int64_t{fields().background_label_id()};
  std::vector<Found> found;
  for (size_t row = 0; row < numbers.size() / kFoundNumbers; ++row) {
    const float* n = numbers.data() + row * kFoundNumbers;
    if (!is_of_a_box(n)) continue;
    const int item = to_label(n[0]), label = to_label(n[1]);
    if (item < 0 || label < 0 || label >= classes || label == background) {
      throw Error(
          ErrorKind::kData,
          str("row ", row, " of bottom 0 is of item ", n[0], " and class ", n[1], ", but there are ", classes,
              " classes, ", background < classes ? str("of which ", background, " is the background") : "all objects"),
          "give the layer that finds boxes the same num_classes and background_label_id");
    }
    found.push_back({item, label, n[2], Box<float>::at(n + 3)});
  }
  return found;
}

void DetectionEvaluateLayer::add_classes(std::span<const TrueBox> truths, std::vector<Judged>& rows) const {
  std::vector<int64_t> objects(fields().num_classes(), 0);
  for (const TrueBox& one : truths) {
    objects[static_cast<size_t>(one.label)] += fields().evaluate_difficult_gt() || !one.difficult;
  }
  for (uint32_t label = 0; label < fields().num_classes(); ++label) {
    if (label == fields().background_label_id()) continue;
    rows.push_back({-1, static_cast<float>(label), static_cast<float>(objects[label]), -1, -1});
  }
}

Box<float> DetectionEvaluateLayer::compared(const Box<float>& box, uint64_t sample) const {
  return images_.empty() ? box : images_.pixels_of(box, sample);
}

/// All of an item and class. `truths`: the same.
void DetectionEvaluateLayer::judge_class(std::span<Found> found, std::span<const TrueBox> truths, uint64_t sample,
                                         std::vector<Judged>& rows) const {
  // As they come where nothing is there to be found; a score that is no number is behind all others.
  const auto weight = [](const Found& one) { return one.score == one.score ? one.score : -HUGE_VALF; };
  if (!truths.empty()) {
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  }
  std::vector<Box<float>> boxes;
  for (const TrueBox& one : truths) boxes.push_back(compared(one.box, sample));
  std::vector<char> taken(truths.size(), 0);
  for (const Found& one : found) {
    const Box<float> box = compared(one.box, sample);
    float most = -1;
    size_t nearest = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const float common = overlap(box, boxes[i]);
      if (common > most) most = common, nearest = i;
    }
    const bool meets = most >= fields().overlap_threshold();
    const bool counts = !meets || fields().evaluate_difficult_gt() || !truths[nearest].difficult;
    const bool right = meets && counts && !taken[nearest];
    if (right) taken[nearest] = 1;
    rows.push_back({static_cast<float>(one.item), static_cast<float>(one.label), one.score, right ? 1.0f : 0.0f,
                    counts && !right ? 1.0f : 0.0f});
  }
}

std::vector<Judged> DetectionEvaluateLayer::judge(std::span<const float> found_numbers, std::span<const float> truth,
                                                  uint64_t first_sample) const {
  const auto by_class = [](const auto& a, const auto& b) {
    return a.item != b.item ? a.item < b.item : a.label < b.label;
  };
  std::vector<Found> found = read_found(found_numbers);
  std::vector<TrueBox> truths = read_true_boxes(
      truth, {.items = INT32_MAX, .classes = fields().num_classes(), .background = fields().background_label_id()}, 1);
  std::stable_sort(found.begin(), found.end(), by_class);
  std::stable_sort(truths.begin(), truths.end(), by_class);
  std::vector<Judged> rows;
  add_classes(truths, rows);
  for (auto begin = found.begin(); begin != found.end();) {
    const auto end = std::upper_bound(begin, found.end(), *begin, by_class);
    const TrueBox key{.row = 0, .item = begin->item, .label = begin->label, .difficult = false, .box = {}};
    const auto [first, last] = std::equal_range(truths.begin(), truths.end(), key, by_class);
    judge_class({begin, end}, {first, last}, first_sample + static_cast<uint64_t>(begin->item), rows);
    begin = end;
  }
  return rows;
}

namespace {

template <typename T>
class DetectionEvaluateReference : public Kernel {
 public:
  explicit DetectionEvaluateReference(const KernelRequest& request) : layer_(request.layer<DetectionEvaluateLayer>()) {
    book_reads_nothing(2, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const auto rows = layer_.judge(numbers(run.bottoms[0]), numbers(run.bottoms[1]), run.pass->first_sample);
    const size_t planned = std::min(rows.size(), static_cast<size_t>(run.tops[0].shape()[2]));
    for (size_t row = 0; row < planned; ++row) {
      std::copy(rows[row].begin(), rows[row].end(), run.tops[0].as<T>() + row * kJudgedNumbers);
    }
  }

  void backward(const KernelRun&) override {}

 private:
  static std::vector<float> numbers(const Tensor& bottom) { return {bottom.as<T>(), bottom.as<T>() + bottom.count()}; }

  const DetectionEvaluateLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("DetectionEvaluate", DetectionEvaluateLayer);
ROBUSTA_REGISTER_REFERENCE("DetectionEvaluate", DetectionEvaluateReference);

}  // namespace robusta
