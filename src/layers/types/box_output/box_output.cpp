// BoxOutput: fields, shapes, what is found, and the reference kernel.

#include "layers/types/box_output/box_output.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

constexpr ProposedBox kNothing{.item = 0, .cell = 0, .map = -1, .score = 0};

void require_at_least(float value, float least, const std::string& field) {
  if (require_finite(value, field) >= least) return;
  throw wrong_setting(field, str(last_part(field), " is ", value), str("give ", least, " or more"));
}

/// The part of two boxes that both have: of either (IOU), of the smaller one (IOMU), of the better one (IOFU).
float common_part(const std::string& type, const Box<float>& better, const Box<float>& box) {
  if (type == "IOU") return overlap(better, box);
  const float wide = std::min(better.xmax, box.xmax) - std::max(better.xmin, box.xmin);
  const float high = std::min(better.ymax, box.ymax) - std::max(better.ymin, box.ymin);
  if (!(wide > 0 && high > 0)) return 0;
  return wide * high / (type == "IOFU" ? better.area() : std::min(better.area(), box.area()));
}

/// Boxes are handed over as parts of the largest image, which leaves their overlaps as they are.
std::vector<int64_t> suppress(const std::string& type, const std::vector<Box<float>>& boxes, float threshold) {
  if (type == "IOU") {
    float wide = 1, high = 1;
    for (const Box<float>& box : boxes) wide = std::max(wide, box.xmax), high = std::max(high, box.ymax);
    std::vector<Box<float>> parts;
    for (const Box<float>& b : boxes) parts.push_back({b.xmin / wide, b.ymin / high, b.xmax / wide, b.ymax / high});
    return suppress_overlaps(parts, threshold, 1);
  }
  std::vector<int64_t> stay;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const bool goes = std::any_of(stay.begin(), stay.end(), [&](int64_t better) {
      return common_part(type, boxes[static_cast<size_t>(better)], boxes[i]) > threshold;
    });
    if (!goes) stay.push_back(static_cast<int64_t>(i));
  }
  return stay;
}

}  // namespace

BoxOutputLayer::BoxOutputLayer(const caffe::LayerParameter& param) : Layer(param), found_{kNothing} {
  const caffe::BoxOutputParameter& p = param.box_output_param();
  require_finite(p.fg_thr(), "box_output_param.fg_thr");
  require_at_least(p.iou_thr(), 0, "box_output_param.iou_thr");
  require_at_least(p.min_size(), 0, "box_output_param.min_size");
  require_at_least(p.field_whr(), 1, "box_output_param.field_whr");
  if (!(require_finite(p.field_xyr(), "box_output_param.field_xyr") > 0))
    throw wrong_setting("box_output_param.field_xyr", str("field_xyr is ", p.field_xyr()), "give a number above 0");
  if (p.nms_type() != "IOU" && p.nms_type() != "IOMU" && p.nms_type() != "IOFU")
    throw wrong_setting("box_output_param.nms_type", "unknown nms_type \"" + p.nms_type() + "\"",
                        "say IOU, IOMU or IOFU");
  // The middle moves by at most 1 / field_xyr of the field's extents, and a side becomes at most field_whr times, and
  // at least 1 / field_whr of, the field's: a code beyond that is one that was never trained.
  common_.least_shift = -1 / p.field_xyr();
  common_.most_shift = 1 / p.field_xyr();
  common_.least_log = std::log(1 / p.field_whr());
  common_.most_log = std::log(p.field_whr());
  common_.statistics = read_box_statistics(param.bbox_reg_param());
}

std::vector<int> BoxOutputLayer::sizing_bottoms() const {
  std::vector<int> all(static_cast<size_t>(param().bottom_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Shape> BoxOutputLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const caffe::BoxOutputParameter& p = param().box_output_param();
  const auto require_each = [&](int given, const char* field) {
    if (given == static_cast<int>(bottoms.size())) return;
    throw wrong_setting(str("box_output_param.", field),
                        str(field, " is given ", given, " times for ", bottoms.size(), " bottoms"),
                        "give it once for each bottom");
  };
  require_each(p.field_h_size(), "field_h");
  require_each(p.field_w_size(), "field_w");
  require_each(p.downsample_rate_size(), "downsample_rate");
  std::vector<BoxMap> maps;
  for (size_t i = 0; i < bottoms.size(); ++i) {
    const Shape& bottom = bottoms[i];
    if (bottom.axes() != 4 || bottom[1] < 6 || bottom[0] != bottoms[0][0]) {
      throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottom.str()),
                  "wanted are as many items in all, and channels for the scores of two classes or more and 4 numbers")
          .in_field("bottom");
    }
    BoxMap map = common_;
    map.channels = bottom[1], map.height = bottom[2], map.width = bottom[3];
    map.field_w = static_cast<float>(p.field_w(static_cast<int>(i)));
    map.field_h = static_cast<float>(p.field_h(static_cast<int>(i)));
    map.rate = static_cast<float>(p.downsample_rate(static_cast<int>(i)));
    maps.push_back(map);
  }
  // What was found in a batch of another size says nothing about this one.
  const auto same_size = [](const BoxMap& a, const BoxMap& b) {
    return a.channels == b.channels && a.height == b.height && a.width == b.width;
  };
  if (items_ != bottoms[0][0] || !std::equal(maps.begin(), maps.end(), maps_.begin(), maps_.end(), same_size))
    found_ = {kNothing};
  items_ = bottoms[0][0];
  maps_ = std::move(maps);
  const auto rows = static_cast<int64_t>(found_.size());
  std::vector<Shape> tops{{rows, 5, 1, 1}, {rows, 6, 1, 1}};
  tops.resize(static_cast<size_t>(std::max(param().top_size(), 1)));
  return tops;
}

std::vector<ProposedBox> BoxOutputLayer::candidates(std::span<const std::vector<float>> values, int64_t item) const {
  const caffe::BoxOutputParameter& p = param().box_output_param();
  std::vector<ProposedBox> all;
  for (size_t i = 0; i < maps_.size(); ++i) {
    const BoxMap& map = maps_[i];
    const float* x = values[i].data() + item * map.channels * map.cells();
    for (int64_t cell = 0; cell < map.cells(); ++cell) {
      const float score = map.score(x, cell);
      if (!(score >= p.fg_thr())) continue;
      const Box<float> box = map.box(x, cell);
      const bool large = box.width() >= p.min_size() && box.height() >= p.min_size();
      if (large) all.push_back({item, cell, static_cast<int32_t>(i), score});
    }
  }
  std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const ProposedBox& a, const ProposedBox& b) { return a.score > b.score; });
  if (p.max_nms_num() > 0 && all.size() > p.max_nms_num()) all.resize(p.max_nms_num());
  return all;
}

std::vector<ProposedBox> BoxOutputLayer::suppressed(std::span<const std::vector<float>> values,
                                                    const std::vector<ProposedBox>& best) const {
  const caffe::BoxOutputParameter& p = param().box_output_param();
  std::vector<Box<float>> boxes;
  for (const ProposedBox& one : best) {
    const auto at = static_cast<size_t>(one.map);
    boxes.push_back(maps_[at].box(values[at].data() + one.item * maps_[at].channels * maps_[at].cells(), one.cell));
  }
  std::vector<ProposedBox> stay;
  for (const int64_t i : suppress(p.nms_type(), boxes, p.iou_thr())) stay.push_back(best[static_cast<size_t>(i)]);
  if (p.max_post_nms_num() > 0 && stay.size() > p.max_post_nms_num()) stay.resize(p.max_post_nms_num());
  return stay;
}

void BoxOutputLayer::size_by_bottoms(std::span<const std::vector<float>> values) {
  std::vector<std::vector<ProposedBox>> of_item(static_cast<size_t>(items_));
  parallel_for(items_, 1, [&](int64_t item) {
    of_item[static_cast<size_t>(item)] = suppressed(values, candidates(values, item));
  });
  found_.clear();
  for (const std::vector<ProposedBox>& boxes : of_item) found_.insert(found_.end(), boxes.begin(), boxes.end());
  if (found_.empty()) found_ = {kNothing};
}

namespace {

template <typename T>
class BoxOutputReference : public Kernel {
 public:
  explicit BoxOutputReference(const KernelRequest& request) : layer_(request.layer<BoxOutputLayer>()) {
    book_box_output(request, booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(run.tops[0].shape()[0], static_cast<int64_t>(layer_.found().size()));
    T* scores = run.tops.size() > 1 ? run.tops[1].as<T>() : nullptr;
    for (int64_t row = 0; row < rows; ++row) {
      const ProposedBox& box = layer_.found()[static_cast<size_t>(row)];
      const auto map = static_cast<size_t>(std::max(box.map, 0));
      box.write(layer_.maps()[map], run.bottoms[map].as<T>(), row, run.tops[0].as<T>(), scores);
    }
  }

  void backward(const KernelRun&) override {}

 private:
  const BoxOutputLayer& layer_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("BoxOutput", BoxOutputLayer);
ROBUSTA_REGISTER_REFERENCE("BoxOutput", BoxOutputReference);

}  // namespace robusta
