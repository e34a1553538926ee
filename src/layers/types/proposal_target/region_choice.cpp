// All pairs of a region and a box of the truth are looked at: there are some thousands of the one, and a few of the
// other.

#include "layers/types/proposal_target/region_choice.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/labels.h"

namespace robusta {
namespace {

constexpr int64_t kLeastSide = 32;  // of boxes that are drawn, in pixels

/// Corners that belong to the box.
Box<float> box_at(const float* corners) { return {corners[0], corners[1], corners[2], corners[3]}; }

float common_pixels(const Box<float>& a, const Box<float>& b) {
  const auto with_last_pixel = [](const Box<float>& box) {
    return Box<float>{box.xmin, box.ymin, box.xmax + 1, box.ymax + 1};
  };
  return overlap(with_last_pixel(a), with_last_pixel(b));
}

/// Leaves `count` of the rows, drawn, in the order in which they were drawn. REQUIRES: no fewer are there.
void keep_some(std::vector<TargetRow>& rows, int64_t count, PhiloxStream& draws) {
  const auto all = static_cast<int64_t>(rows.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other = i + static_cast<int64_t>(draws.below(static_cast<uint64_t>(all - i)));
    std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(other)]);
  }
  rows.resize(static_cast<size_t>(count));
}

void check_size(const caffe::ProposalTargetParameter& param, const char* field, int64_t size) {
  if (param.batch_size() < 0 || size > kLeastSide) return;
  throw wrong_setting(
      str("proposal_target_param.", field), str(field, " is ", size),
      str("give the image's in pixels, more than ", kLeastSide, ": boxes are drawn in it where regions are too few"));
}

}  // namespace

RegionChoice::RegionChoice(const caffe::ProposalTargetParameter& param, std::string layer)
    : param_(param), layer_(std::move(layer)), batch_(param.batch_size()) {
  const auto path = [](const char* field) { return str("proposal_target_param.", field); };
  if (batch_ == 0 || batch_ < -1)
    throw wrong_setting(path("batch_size"), str("batch_size is ", batch_), "give 1 or more, or -1 for all regions");
  if (!(param.fg_fraction() >= 0 && param.fg_fraction() <= 1))
    throw wrong_setting(path("fg_fraction"), str("fg_fraction is ", param.fg_fraction()), "give 0 to 1");
  if (param.num_img_per_batch() == 0)
    throw wrong_setting(path("num_img_per_batch"), "num_img_per_batch is 0", "give the number of images in a batch");
  if (!(require_finite(param.fg_thr(), path("fg_thr")) > 0))
    throw wrong_setting(path("fg_thr"), str("fg_thr is ", param.fg_thr()), "give an overlap above 0");
  require_finite(param.bg_thr_lw(), path("bg_thr_lw"));
  if (require_finite(param.bg_thr_hg(), path("bg_thr_hg")) > param.fg_thr()) {
    throw wrong_setting(path("bg_thr_hg"), str("bg_thr_hg ", param.bg_thr_hg(), " is above fg_thr ", param.fg_thr()),
                        "give no more than fg_thr");
  }
  check_size(param, "img_width", param.img_width());
  check_size(param, "img_height", param.img_height());
}

int32_t RegionChoice::item_of(float number, const char* whose, int64_t row) const {
  const int item = to_label(number);
  if (item >= 0 && item < static_cast<int64_t>(param_.num_img_per_batch())) return item;
  throw Error(ErrorKind::kData,
              str(whose, " ", row, " is of item ", number, ", but num_img_per_batch is ", param_.num_img_per_batch()),
              "set num_img_per_batch to the images of a batch, or correct what makes the regions");
}

/// Regions with a corner that is no finite number, as a head that has not learned yet makes them, are left out.
void RegionChoice::read(std::span<const float> regions, std::span<const float> truth) {
  candidates_.clear();
  const auto count = static_cast<int64_t>(regions.size()) / kRegionWidth;
  for (int64_t row = 0; row < count; ++row) {
    const auto at = static_cast<size_t>(row * kRegionWidth);
    const TargetRow region{.region = row, .item = item_of(regions[at], "region", row), .box = box_at(&regions[at + 1])};
    if (region.box.is_finite()) candidates_.push_back(region);
  }
  truth_.clear();
  for (size_t at = 0; at < truth.size(); at += kTruthWidth) {
    const auto row = static_cast<int64_t>(truth_.size());
    const Truth box{item_of(truth[at], "box of the truth", row), to_label(truth[at + 5]), truth[at + 6] != 0,
                    box_at(&truth[at + 1])};
    const int64_t classes = param_.cls_num();
    if (box.label <= 0 || (classes > 0 && box.label >= classes)) {
      throw Error(ErrorKind::kData, str("box of the truth ", row, " is of class ", truth[at + 5]),
                  str("classes count from 1", classes > 0 ? str(" to ", classes - 1, ", below cls_num") : ""));
    }
    if (!box.box.is_finite()) {
      throw Error(ErrorKind::kData, str("a corner of box ", row, " of the truth is no finite number"),
                  "correct the data");
    }
    truth_.push_back(box);
    candidates_.push_back({.region = count + row, .item = box.item, .box = box.box});
  }
}

/// Sorts the candidates into objects, background and what is spare.
void RegionChoice::match() {
  for (std::vector<TargetRow>* rows : {&objects_, &background_, &spare_}) rows->clear();
  for (const TargetRow& candidate : candidates_) {
    TargetRow row = candidate;
    int64_t best = -1;
    for (size_t i = 0; i < truth_.size(); ++i) {
      if (truth_[i].item != row.item) continue;
      const float common = common_pixels(row.box, truth_[i].box);
      if (best >= 0 && !(common > row.overlap)) continue;
      row.overlap = common, best = static_cast<int64_t>(i);
    }
    if (row.overlap >= param_.fg_thr()) {
      const Truth& box = truth_[static_cast<size_t>(best)];
      row.truth = best, row.label = box.label;
      if (!box.ignored) objects_.push_back(row);
      continue;
    }
    const bool background = row.overlap >= param_.bg_thr_lw() && row.overlap < param_.bg_thr_hg();
    (background ? background_ : spare_).push_back(row);
  }
}

void RegionChoice::add_objects(PhiloxStream* draws) {
  if (draws) {
    const int64_t most = std::lround(param_.fg_fraction() * static_cast<float>(batch_));
    if (static_cast<int64_t>(objects_.size()) > most) keep_some(objects_, most, *draws);
  }
  rows_.insert(rows_.end(), objects_.begin(), objects_.end());
}

void RegionChoice::add_background(PhiloxStream* draws) {
  if (draws) {
    const int64_t wanted = batch_ - static_cast<int64_t>(rows_.size()),
                  there = static_cast<int64_t>(background_.size());
    if (there > wanted) keep_some(background_, wanted, *draws);
    const auto spare = std::min<int64_t>(std::max<int64_t>(0, wanted - there), static_cast<int64_t>(spare_.size()));
    background_.insert(background_.end(), spare_.begin(), spare_.begin() + spare);
  }
  rows_.insert(rows_.end(), background_.begin(), background_.end());
}

float RegionChoice::most_common(int32_t item, const Box<float>& box) const {
  float most = 0;
  for (const Truth& truth : truth_) {
    if (truth.item == item) most = std::max(most, common_pixels(box, truth.box));
  }
  return most;
}

/// Where the truth covers an image so that no draw misses it, the box that has least in common with it is taken.
void RegionChoice::add_drawn_boxes(PhiloxStream& draws, int64_t items) {
  constexpr int kAttempts = 1000;
  const int64_t width = param_.img_width(), height = param_.img_height();
  const auto below = [&](int64_t n) { return static_cast<int64_t>(draws.below(static_cast<uint64_t>(n))); };
  while (static_cast<int64_t>(rows_.size()) < batch_) {
    TargetRow row{.overlap = INFINITY};
    for (int attempt = 0; attempt < kAttempts && row.overlap >= param_.fg_thr(); ++attempt) {
      const auto item = static_cast<int32_t>(below(items));
      const int64_t x = below(width - kLeastSide), y = below(height - kLeastSide);
      const int64_t wide = std::max(below(width - x), kLeastSide), high = std::max(below(height - y), kLeastSide);
      const Box<float> box{static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + wide - 1),
                           static_cast<float>(y + high - 1)};
      const float common = most_common(item, box);
      if (common < row.overlap) row.item = item, row.box = box, row.overlap = common;
    }
    rows_.push_back(row);
  }
}

/// Objects have together fg_fraction of all weights, and the background the rest.
void RegionChoice::weigh() {
  const auto is_object = [](const TargetRow& row) { return row.label > 0; };
  float objects = 0, background = 0;
  for (TargetRow& row : rows_) {
    if (is_object(row) && param_.iou_weighted()) row.weight = row.overlap;
    (is_object(row) ? objects : background) += row.weight;
  }
  if (objects == 0) return;
  const auto all = static_cast<float>(rows_.size());
  for (TargetRow& row : rows_) {
    row.weight *= is_object(row) ? param_.fg_fraction() * all / objects : (1 - param_.fg_fraction()) * all / background;
  }
}

const std::vector<TargetRow>& RegionChoice::choose(std::span<const float> regions, std::span<const float> truth,
                                                   const Pass* pass) {
  read(regions, truth);
  match();
  rows_.clear();
  if (batch_ < 0) {
    add_objects(nullptr);
    add_background(nullptr);
    if (rows_.empty()) rows_.push_back({});
  } else {
    PhiloxStream draws(random_key(pass->seed, layer_, "regions"), pass->first_sample);
    add_objects(&draws);
    add_background(&draws);
    add_drawn_boxes(draws, std::min<int64_t>(param_.num_img_per_batch(), std::max<int64_t>(1, pass->batch)));
  }
  weigh();
  return rows_;
}

}  // namespace robusta
