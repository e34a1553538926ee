// Proposal: fields, shapes, what is found, and the reference kernel.

#include "layers/types/proposal/proposal.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/parallel.h"
#include "layers/kit/booking.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/regions.h"

namespace robusta {
namespace {

void require_above_zero(double value, const std::string& field) {
  if (std::isfinite(value) && value > 0) return;
  throw wrong_setting("proposal_param." + field, str(field, " is ", value), "give a positive number");
}

using Numbers = google::protobuf::RepeatedField<float>;

std::vector<float> numbers_or(const Numbers& given, std::vector<float> otherwise, const std::string& field) {
  for (const float number : given) require_above_zero(number, field);
  return given.empty() ? otherwise : std::vector<float>(given.begin(), given.end());
}

/// A square of base_size pixels in each ratio of height and width, its sides cut to whole pixels, in each scale
/// (Girshick's generate_anchors.py). Around the middle of the square.
std::vector<Box<float>> make_anchors(const caffe::ProposalParameter& p) {
  const std::vector<float> ratios = numbers_or(p.ratio(), {0.5f, 1, 2}, "ratio"),
                           scales = numbers_or(p.scale(), {8, 16, 32}, "scale");
  // Pixels are counted from 0, and the last one belongs to a box: a side of n pixels ends n - 1 behind its beginning.
  const double base = p.base_size(), middle = (base - 1) / 2;
  std::vector<Box<float>> anchors;
  for (const double ratio : ratios) {
    const double width = std::nearbyint(std::sqrt(base * base / ratio)), height = std::nearbyint(width * ratio);
    for (const double scale : scales) {
      const double w = (width * scale - 1) / 2, h = (height * scale - 1) / 2;
      anchors.push_back({static_cast<float>(middle - w), static_cast<float>(middle - h), static_cast<float>(middle + w),
                         static_cast<float>(middle + h)});
    }
  }
  return anchors;
}

void require_planes(const Shape& shape, int bottom, int64_t channels, const std::string& what) {
  if (shape.axes() == 4 && shape[1] == channels) return;
  throw Error(ErrorKind::kConfig, str("bottom ", bottom, " has shape ", shape.str(), ", but of each item ", channels,
                                      " channels of height and width are wanted: ", what))
      .in_field("bottom");
}

}  // namespace

ProposalLayer::ProposalLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.proposal_param();
  require_above_zero(p.feat_stride(), "feat_stride");
  require_above_zero(p.base_size(), "base_size");
  require_above_zero(p.pre_nms_topn(), "pre_nms_topn");
  require_above_zero(p.post_nms_topn(), "post_nms_topn");
  if (require_finite(p.nms_thresh(), "proposal_param.nms_thresh") < 0) {
    throw wrong_setting("proposal_param.nms_thresh", str("nms_thresh is ", p.nms_thresh()), "give 0 to 1, such as 0.7");
  }
  anchors_ = make_anchors(p);
}

std::vector<Shape> ProposalLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &scores = bottoms[0], &codes = bottoms[1], &images = bottoms[2];
  const auto anchors = static_cast<int64_t>(anchors_.size());
  require_planes(scores, 0, 2 * anchors, str("scores of background and object, for ", anchors, " anchors"));
  require_planes(codes, 1, 4 * anchors, str("codes of boxes, for ", anchors, " anchors"));
  if (codes[0] != scores[0] || codes[2] != scores[2] || codes[3] != scores[3]) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", scores.str(), ", bottom 1 ", codes.str()),
                "they differ in their channels alone")
        .in_field("bottom");
  }
  const int64_t items = scores[0], of_image = images.count() / items;
  if (images.count() % items != 0 || of_image < 3) {
    throw Error(ErrorKind::kConfig, str("bottom 2 has shape ", images.str(), ", and there are ", items, " items"),
                "it holds height, width and scale of the image of each item")
        .in_field("bottom");
  }
  if (coding_.items != items) {
    found_.clear();
    check_extents(Shape{items, kRegionNumbers});
    for (int64_t item = 0; item < items; ++item) found_.push_back({item, 0, -1});
  }
  coding_ = {items,     anchors,  scores[2],
             scores[3], of_image, static_cast<float>(param().proposal_param().feat_stride())};
  const auto rows = static_cast<int64_t>(found_.size());
  if (param().top_size() < 2) return {{rows, kRegionNumbers}};
  return {{rows, kRegionNumbers}, {rows}};
}

namespace {

/// Three zeros are an input that nobody has set, as when a net is timed: nothing is found then.
bool is_unset(const float* image) { return image[0] == 0 && image[1] == 0 && image[2] == 0; }

}  // namespace

void ProposalLayer::check_images(const std::vector<float>& images) {
  for (int64_t item = 0; item < coding_.items; ++item) {
    const float* image = images.data() + item * coding_.of_image;
    if (is_unset(image)) {
      if (!warned_) LOG_WARNING << "layer " << name() << ": images of zeros (bottom 2) have no regions";
      warned_ = true;
      continue;
    }
    const auto good = [](float number) { return std::isfinite(number) && number > 0; };
    if (good(image[0]) && good(image[1]) && good(image[2])) continue;
    throw Error(
        ErrorKind::kData,
        str("the image of item ", item, " has height ", image[0], ", width ", image[1], " and scale ", image[2]),
        "bottom 2 holds these three, all positive: correct what makes it");
  }
}

std::vector<Proposed> ProposalLayer::find_in_item(std::span<const std::vector<float>> values, int64_t item) const {
  const auto& p = param().proposal_param();
  if (is_unset(values[2].data() + item * coding_.of_image)) return {{item, 0, -1}};
  const float *scores = values[0].data(), *codes = values[1].data(), *images = values[2].data();
  const float rows = images[item * coding_.of_image], columns = images[item * coding_.of_image + 1];
  // min_size is meant in pixels of the image before it was scaled.
  const float least = static_cast<float>(p.min_size()) * images[item * coding_.of_image + 2];
  const int64_t anchors = coding_.anchors;
  const auto place_of = [&](int64_t i) { return Proposed{item, i / anchors, i % anchors}; };
  const auto box_of = [&](int64_t i) { return coding_.box(place_of(i), codes, images, anchors_.data()); };
  const auto score_of = [&](int64_t i) {
    const Box<float> box = box_of(i);
    const bool large = box.width() + 1 >= least && box.height() + 1 >= least;
    return large ? scores[coding_.score_at(item, i / anchors, i % anchors)] : std::nanf("");
  };
  const std::vector<Scored> best = best_scores(coding_.pixels() * anchors, score_of, -HUGE_VALF, p.pre_nms_topn());
  // A box of pixels reaches to the end of its last one. As parts of the image, which changes no overlap.
  std::vector<Box<float>> boxes;
  boxes.reserve(best.size());
  for (const Scored& one : best) {
    const Box<float> box = box_of(one.index);
    boxes.push_back({box.xmin / columns, box.ymin / rows, (box.xmax + 1) / columns, (box.ymax + 1) / rows});
  }
  std::vector<Proposed> found;
  for (const int64_t i : suppress_overlaps(boxes, p.nms_thresh(), 1)) {
    if (static_cast<int64_t>(found.size()) == p.post_nms_topn()) break;
    found.push_back(place_of(best[static_cast<size_t>(i)].index));
  }
  if (found.empty()) found.push_back({item, 0, -1});
  return found;
}

void ProposalLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  check_images(values[2]);
  std::vector<std::vector<Proposed>> of_item(static_cast<size_t>(coding_.items));
  parallel_for(coding_.items, 1,
               [&](int64_t item) { of_item[static_cast<size_t>(item)] = find_in_item(values, item); });
  found_.clear();
  for (const std::vector<Proposed>& more : of_item) found_.insert(found_.end(), more.begin(), more.end());
}

namespace {

template <typename T>
class ProposalReference : public Kernel {
 public:
  explicit ProposalReference(const KernelRequest& request) : layer_(request.layer<ProposalLayer>()) {
    book_reads_nothing(3, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(run.tops[0].shape()[0], static_cast<int64_t>(layer_.found().size()));
    T* scores = run.tops.size() > 1 ? run.tops[1].as<T>() : nullptr;
    for (int64_t row = 0; row < rows; ++row) {
      layer_.coding().write(layer_.found()[static_cast<size_t>(row)], run.bottoms[0].as<T>(), run.bottoms[1].as<T>(),
                            run.bottoms[2].as<T>(), layer_.anchors().data(), run.tops[0].as<T>() + row * kRegionNumbers,
                            scores ? scores + row : nullptr);
    }
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) fill_zero(gradient);
    }
  }

 private:
  const ProposalLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Proposal", ProposalLayer);
ROBUSTA_REGISTER_REFERENCE("Proposal", ProposalReference);

}  // namespace robusta
