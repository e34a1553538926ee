// Matching takes from all pairs of a box and one of the ground truth the one of the largest overlap, and leaves both
// out of the further pairs. What is the G-th of the ground truth can lose at most G - 1 boxes to the others, so that
// its G best boxes are enough: memory grows with the ground truth, not with all pairs.

#include "layers/types/multi_box_loss/multi_box_matching.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kMostTruths = 4096;  // of an item: what matching keeps grows with their square

using Loss = caffe::MultiBoxLossParameter;

constexpr float kLeastOverlap = 1e-6f;  // as in SSD: what has less in common with a box never matches it
constexpr float kLeastArea = 1e-5f;     ///< smaller boxes take no part in suppression

struct Pair {
  float overlap;
  int32_t box, truth;
};

bool is_better(const Pair& a, const Pair& b) {
  if (a.overlap != b.overlap) return a.overlap > b.overlap;
  return a.box != b.box ? a.box < b.box : a.truth < b.truth;
}

bool reaches_over_the_image(const Box<float>& box) {
  const auto outside = [](float place) { return place < 0 || place > 1; };
  return outside(box.xmin) || outside(box.ymin) || outside(box.xmax) || outside(box.ymax);
}

/// The class of places that nothing is matched with. Without mining LOGISTIC has none: the background is then what no
/// score speaks for, as in SSD's.
int32_t negative_label(const Loss& param) {
  const bool softmax = param.conf_loss_type() == Loss::SOFTMAX;
  if (!softmax && param.mining_type() == Loss::NONE) return kNoClass;
  return param.background_label_id() < param.num_classes() ? static_cast<int32_t>(param.background_label_id())
                                                           : kNoClass;
}

}  // namespace

BoxCode box_code(caffe::PriorBoxParameter::CodeType type) {
  if (type == caffe::PriorBoxParameter::CENTER_SIZE) return BoxCode::kCenterSize;
  return type == caffe::PriorBoxParameter::CORNER_SIZE ? BoxCode::kCornerSize : BoxCode::kCorner;
}

MultiBoxMatching::MultiBoxMatching(const Loss& param, const MultiBoxExtents& extents)
    : param_(param), e_(extents), code_(box_code(param.code_type())), negative_(negative_label(param)) {}

// --- What the bottoms hold ---

void MultiBoxMatching::read(std::span<const float> truth, const float* prior_boxes) {
  priors_.clear(), variances_.clear();
  for (int64_t prior = 0; prior < e_.priors; ++prior) {
    priors_.push_back(Box<float>::at(prior_boxes + prior * 4));
    variances_.push_back(Box<float>::at(prior_boxes + (e_.priors + prior) * 4));
  }
  check_priors();
  // An object of any class is one: labels then need not be less than num_classes.
  const bool agnostic = param_.map_object_to_agnostic();
  const int64_t background = param_.background_label_id(), classes = agnostic ? INT32_MAX : e_.classes;
  truths_ = read_true_boxes(truth, {.items = e_.items, .classes = classes, .background = background}, 3);
  std::erase_if(truths_, [&](const TrueBox& one) { return one.difficult && !param_.use_difficult_gt(); });
  std::stable_sort(truths_.begin(), truths_.end(), [](const auto& a, const auto& b) { return a.item < b.item; });
  label_of_.assign(static_cast<size_t>(e_.rows), kNoClass);
  begins_.assign(static_cast<size_t>(e_.items) + 1, 0);
  for (TrueBox& one : truths_) {
    if (agnostic) one.label = background == 0 ? 1 : 0;
    label_of_[static_cast<size_t>(one.row)] = one.label;
    ++begins_[static_cast<size_t>(one.item) + 1];
  }
  for (size_t item = 0; item + 1 < begins_.size(); ++item) {
    if (begins_[item + 1] > kMostTruths) {
      throw Error(ErrorKind::kData, str("item ", item, " has ", begins_[item + 1], " boxes of the ground truth"),
                  str("at most ", kMostTruths, " are matched: split the image, or leave boxes out"));
    }
    begins_[item + 1] += begins_[item];
  }
}

void MultiBoxMatching::check_priors() const {
  // An empty one overlaps nothing, so that nothing is encoded by it.
  const bool may_be_empty = code_ == BoxCode::kCorner || !reads_codes();
  for (size_t prior = 0; prior < priors_.size(); ++prior) {
    const Box<float>&box = priors_[prior], &variance = variances_[prior];
    const bool known = box.is_finite() && variance.is_finite();
    if (known && (may_be_empty || (box.width() > 0 && box.height() > 0)) && variance.xmin > 0 && variance.ymin > 0 &&
        variance.xmax > 0 && variance.ymax > 0) {
      continue;
    }
    throw Error(ErrorKind::kData,
                str("prior box ", prior, " is ", box.width(), " wide and ", box.height(), " high, with the variances ",
                    variance.xmin, " ", variance.ymin, " ", variance.xmax, " ", variance.ymax),
                "bottom 2 holds xmin, ymin, xmax, ymax of boxes that are not empty, then four positive variances of "
                "each: correct what makes it");
  }
}

std::span<const TrueBox> MultiBoxMatching::truths_of(int64_t item) const {
  const auto i = static_cast<size_t>(item);
  return {truths_.data() + begins_[i], begins_[i + 1] - begins_[i]};
}

/// As the codes say, of one item and class.
std::vector<Box<float>> MultiBoxMatching::boxes_of(const float* codes, int64_t item, int64_t box_class) const {
  std::vector<Box<float>> boxes;
  boxes.reserve(priors_.size());
  const Box<float> one{1, 1, 1, 1};
  for (size_t prior = 0; prior < priors_.size(); ++prior) {
    const int64_t place = item * e_.priors + static_cast<int64_t>(prior);
    boxes.push_back(decode_box(code_, priors_[prior], param_.encode_variance_in_target() ? one : variances_[prior],
                               Box<float>::at(codes + (place * e_.box_classes() + box_class) * 4)));
  }
  return boxes;
}

// --- Matching ---

/// The row of the ground truth that each box belongs to, or what stands in its place.
std::vector<int32_t> MultiBoxMatching::rows_of(std::span<const Box<float>> boxes,
                                               std::span<const TrueBox> truths) const {
  std::vector<int32_t> rows(boxes.size(), kNoRow);
  if (truths.empty()) return rows;
  const bool ignores = param_.ignore_cross_boundary_bbox();
  std::vector<Pair> pairs, of_truth, best(boxes.size(), {0, 0, -1});
  for (size_t truth = 0; truth < truths.size(); ++truth) {
    of_truth.clear();
    for (size_t box = 0; box < boxes.size(); ++box) {
      if (ignores && reaches_over_the_image(boxes[box])) continue;
      const Pair pair{overlap(boxes[box], truths[truth].box), static_cast<int32_t>(box), static_cast<int32_t>(truth)};
      if (!(pair.overlap > kLeastOverlap)) continue;
      of_truth.push_back(pair);
      if (pair.overlap > best[box].overlap) best[box] = pair;
    }
    // Each of the others can take at most one box from this one: beyond as many pairs as there are boxes of the ground
    // truth none can be chosen below. So what is sorted does not grow with all pairs.
    const size_t enough = std::min(of_truth.size(), truths.size());
    std::nth_element(of_truth.begin(), of_truth.begin() + static_cast<ptrdiff_t>(enough), of_truth.end(), is_better);
    pairs.insert(pairs.end(), of_truth.begin(), of_truth.begin() + static_cast<ptrdiff_t>(enough));
  }
  std::sort(pairs.begin(), pairs.end(), is_better);
  std::vector<char> taken(truths.size(), 0);
  // Bipartite, greedily: of all pairs the best, then the best whose box and truth are both free, and so on.
  for (const Pair& pair : pairs) {
    const auto box = static_cast<size_t>(pair.box), truth = static_cast<size_t>(pair.truth);
    if (rows[box] != kNoRow || taken[truth]) continue;
    rows[box] = truths[truth].row;
    taken[truth] = 1;
  }
  // What is left may belong to its best truth, however many others do.
  const bool each = param_.match_type() == Loss::PER_PREDICTION;
  const bool by_overlap = param_.mining_type() == Loss::MAX_NEGATIVE;
  for (size_t box = 0; box < boxes.size(); ++box) {
    if (ignores && reaches_over_the_image(boxes[box])) {
      rows[box] = kOutside;
    } else if (rows[box] == kNoRow) {
      if (each && best[box].truth >= 0 && best[box].overlap >= param_.overlap_threshold()) {
        rows[box] = truths[static_cast<size_t>(best[box].truth)].row;
      } else if (by_overlap && !(best[box].overlap < param_.neg_overlap())) {
        rows[box] = kNear;
      }
    }
  }
  return rows;
}

/// Prior boxes know no classes: what one belongs to is the box of the class of that.
void MultiBoxMatching::match_by_priors(int64_t item, int32_t* rows) const {
  const std::vector<int32_t> found = rows_of(priors_, truths_of(item));
  for (size_t prior = 0; prior < found.size(); ++prior) {
    if (e_.shared) {
      rows[prior] = found[prior];
    } else if (found[prior] >= 0) {
      rows[static_cast<int64_t>(prior) * e_.classes + label_of_[static_cast<size_t>(found[prior])]] = found[prior];
    }
  }
}

void MultiBoxMatching::match_by_codes(const float* codes, int64_t item, int32_t* rows) const {
  const std::span<const TrueBox> truths = truths_of(item);
  for (int64_t box_class = 0; box_class < e_.box_classes(); ++box_class) {
    if (!e_.shared && box_class == param_.background_label_id()) continue;
    std::vector<TrueBox> own;
    std::copy_if(truths.begin(), truths.end(), std::back_inserter(own),
                 [&](const TrueBox& one) { return e_.shared || one.label == box_class; });
    const std::vector<int32_t> found = rows_of(boxes_of(codes, item, box_class), own);
    for (size_t prior = 0; prior < found.size(); ++prior) {
      rows[static_cast<int64_t>(prior) * e_.box_classes() + box_class] = found[prior];
    }
  }
}

void MultiBoxMatching::match_item(const float* codes, int64_t item, const MultiBoxDecisions& decisions) const {
  int32_t* rows = decisions.rows + item * e_.priors * e_.box_classes();
  int32_t* labels = decisions.labels + item * e_.priors;
  const bool empty = truths_of(item).empty();
  std::fill_n(rows, e_.priors * e_.box_classes(), kNoRow);
  // An item without ground truth has no negatives, either, where these are counted by its positives.
  std::fill_n(labels, e_.priors, empty && mines() ? kNoExample : negative_);
  if (empty) return;
  param_.use_prior_for_matching() ? match_by_priors(item, rows) : match_by_codes(codes, item, rows);
  for (int64_t box = 0; box < e_.priors * e_.box_classes(); ++box) {
    if (rows[box] >= 0) labels[box / e_.box_classes()] = label_of_[static_cast<size_t>(rows[box])];
  }
}

void MultiBoxMatching::match(const float* codes, const MultiBoxDecisions& decisions) const {
  parallel_for(e_.items, 1, [&](int64_t item) { match_item(codes, item, decisions); });
}

// --- Mining ---

/// The places of an item with the largest losses among those that may be chosen, as many as are wanted.
std::vector<int64_t> MultiBoxMatching::hardest(const float* codes, const float* losses, int64_t item,
                                               const int32_t* rows) const {
  const auto may_be = [&](int64_t prior) { return mines_by_location() || rows[prior] == kNoRow; };
  const auto loss_of = [&](int64_t prior) {
    // best_scores passes over a NaN, which therefore marks what may not be chosen.
    const float loss = losses[item * e_.priors + prior];
    return !may_be(prior) ? std::nanf("") : std::isnan(loss) ? HUGE_VALF : loss;
  };
  int64_t wanted = param_.sample_size();
  if (!mines_by_location()) {
    // In float and cut, as there: ratios such as 3.3 would give another number in double.
    const auto positives =
        static_cast<float>(std::count_if(rows, rows + e_.priors, [](int32_t row) { return row >= 0; }));
    wanted = static_cast<int64_t>(std::min(positives * param_.neg_pos_ratio(), static_cast<float>(e_.priors)));
  }
  std::vector<int64_t> chosen;
  if (!suppresses()) {
    for (const Scored& one : best_scores(e_.priors, loss_of, -FLT_MAX, wanted)) chosen.push_back(one.index);
    return chosen;
  }
  const int64_t most = param_.nms_param().has_top_k() ? param_.nms_param().top_k() : -1;
  std::vector<Scored> best = best_scores(e_.priors, loss_of, -FLT_MAX, most);
  const std::vector<Box<float>> all = by_priors() ? priors_ : boxes_of(codes, item, 0);
  std::erase_if(best, [&](const Scored& one) { return all[static_cast<size_t>(one.index)].area() < kLeastArea; });
  std::vector<Box<float>> boxes;
  for (const Scored& one : best) boxes.push_back(all[static_cast<size_t>(one.index)]);
  for (const int64_t i : suppress_overlaps(boxes, param_.nms_param().nms_threshold(), 1)) {
    if (static_cast<int64_t>(chosen.size()) >= wanted) break;
    chosen.push_back(best[static_cast<size_t>(i)].index);
  }
  return chosen;
}

void MultiBoxMatching::mine_item(const float* codes, const float* losses, int64_t item,
                                 const MultiBoxDecisions& decisions) const {
  if (truths_of(item).empty()) return;
  int32_t *rows = decisions.rows + item * e_.priors, *labels = decisions.labels + item * e_.priors;
  std::vector<char> is_chosen(priors_.size(), 0);
  for (const int64_t prior : hardest(codes, losses, item, rows)) is_chosen[static_cast<size_t>(prior)] = 1;
  for (int64_t prior = 0; prior < e_.priors; ++prior) {
    const bool chosen = is_chosen[static_cast<size_t>(prior)] != 0, positive = rows[prior] >= 0;
    const bool stays = positive ? chosen || !mines_by_location() : chosen && rows[prior] == kNoRow;
    if (stays) continue;
    labels[prior] = kNoExample;
    if (positive) rows[prior] = kNoRow;
  }
}

void MultiBoxMatching::mine(const float* codes, const float* losses, const MultiBoxDecisions& decisions) const {
  parallel_for(e_.items, 1, [&](int64_t item) { mine_item(codes, losses, item, decisions); });
}

int64_t MultiBoxMatching::matches(const MultiBoxDecisions& decisions) const {
  return std::count_if(decisions.rows, decisions.rows + e_.boxes(), [](int32_t row) { return row >= 0; });
}

}  // namespace robusta
