// MultiBoxLoss. In a net: tests/net/multi_box_loss_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/boxes.h"
#include "support/errors.h"
#include "support/kernel_checks.h"
#include "support/two_ranks.h"

namespace robusta::test::multi_box_loss_test {
namespace {

using Loss = caffe::MultiBoxLossParameter;

std::string layer_of(const std::string& param, const std::string& more = "") {
  return "type: 'MultiBoxLoss' " + more + " multibox_loss_param { " + param + " }";
}

/// What the layer reads.
struct Scene {
  int64_t items = 1, priors = 1, classes = 2;
  Arrays bottoms = Arrays(4);

  KernelCase with(const std::string& param, const std::string& more = "") const {
    const auto count = [&](size_t bottom) { return static_cast<int64_t>(bottoms[bottom].size()); };
    KernelCase what{
        {layer_of(param, more)},
        {{items, count(0) / items}, {items, count(1) / items}, {1, 2, priors * 4}, {1, 1, count(3) / 8, 8}}};
    what.bottom_values = [values = bottoms](int bottom, const Shape&) { return values[static_cast<size_t>(bottom)]; };
    return what;
  }
};

double loss_of(const Scene& scene, const std::string& backend, const std::string& param, const std::string& more = "",
               const Pass& pass = {.batch = 0}) {
  const DType type = backend == "reference" ? DType::kF64 : DType::kF32;
  KernelHarness harness(scene.with(param, more), {.backend = backend, .dtype = type, .pass = pass});
  harness.forward(scene.bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0][0];
}

// --- The same, loop by loop, of all pairs ---

struct Truth {
  int label;
  Box<double> box;
};

class Plainly {
 public:
  Plainly(const Scene& scene, const Loss& param) : s_(scene), p_(param) {}

  double loss() {
    for (int64_t item = 0; item < s_.items; ++item) add_item(item);
    return p_.loc_weight() * locations_ + scores_;
  }
  int64_t matches() const { return matches_; }

 private:
  Box<double> prior(int64_t i) const { return Box<double>::at(s_.bottoms[2].data() + i * 4); }
  Box<double> variance(int64_t i) const { return Box<double>::at(s_.bottoms[2].data() + (s_.priors + i) * 4); }
  Box<double> coded(int64_t i) const { return p_.encode_variance_in_target() ? Box<double>{1, 1, 1, 1} : variance(i); }
  int64_t box_classes() const { return p_.share_location() ? 1 : s_.classes; }
  const double* code(int64_t item, int64_t i, int64_t c) const {
    return s_.bottoms[0].data() + ((item * s_.priors + i) * box_classes() + c) * 4;
  }
  BoxCode kind() const {
    return p_.code_type() == caffe::PriorBoxParameter::CORNER        ? BoxCode::kCorner
           : p_.code_type() == caffe::PriorBoxParameter::CENTER_SIZE ? BoxCode::kCenterSize
                                                                     : BoxCode::kCornerSize;
  }
  Box<double> decoded(int64_t item, int64_t i, int64_t c) const {
    return decode_box(kind(), prior(i), coded(i), Box<double>::at(code(item, i, c)));
  }

  std::vector<Truth> truths_of(int64_t item) const {
    std::vector<Truth> truths;
    for (size_t at = 0; at < s_.bottoms[3].size(); at += 8) {
      const double* n = s_.bottoms[3].data() + at;
      if (n[0] != static_cast<double>(item) || (n[7] != 0 && !p_.use_difficult_gt())) continue;
      truths.push_back({p_.map_object_to_agnostic() ? 1 : static_cast<int>(n[1]), Box<double>::at(n + 3)});
    }
    return truths;
  }

  /// -1: none; -2: over the edge. `most`: the largest overlap of each box.
  std::vector<int> matched(const std::vector<Box<double>>& boxes, const std::vector<Truth>& truths, int label,
                           std::vector<double>& most) const {
    std::vector<int> match(boxes.size(), -1);
    most.assign(boxes.size(), 0);
    std::vector<bool> open(truths.size());
    for (size_t t = 0; t < truths.size(); ++t) open[t] = label < 0 || truths[t].label == label;
    const std::vector<bool> wanted = open;
    const auto common = [&](size_t b, size_t t) { return overlap(boxes[b], truths[t].box); };
    for (size_t b = 0; b < boxes.size(); ++b) {
      const auto beyond = [](double v) { return v < 0 || v > 1; };
      const Box<double>& box = boxes[b];
      const bool over = beyond(box.xmin) || beyond(box.ymin) || beyond(box.xmax) || beyond(box.ymax);
      if (over && p_.ignore_cross_boundary_bbox()) match[b] = -2;
      for (size_t t = 0; t < truths.size(); ++t) {
        if (wanted[t] && match[b] == -1) most[b] = std::max(most[b], common(b, t));
      }
    }
    for (bool found = true; found;) {
      found = false;
      double best = 1e-6;
      size_t best_box = 0, best_truth = 0;
      for (size_t b = 0; b < boxes.size(); ++b) {
        for (size_t t = 0; t < truths.size(); ++t) {
          if (match[b] != -1 || !open[t] || common(b, t) <= best) continue;
          found = true, best = common(b, t), best_box = b, best_truth = t;
        }
      }
      if (found) match[best_box] = static_cast<int>(best_truth), open[best_truth] = false;
    }
    if (p_.match_type() == Loss::BIPARTITE) return match;
    for (size_t b = 0; b < boxes.size(); ++b) {
      if (match[b] != -1) continue;
      double best = 1e-6;
      for (size_t t = 0; t < truths.size(); ++t) {
        const double o = common(b, t);
        if (wanted[t] && o >= static_cast<double>(p_.overlap_threshold()) && o > best)
          best = o, match[b] = static_cast<int>(t);
      }
    }
    return match;
  }

  double location_loss(int64_t item, int64_t i, int64_t c, const Truth& truth) const {
    const Box<double> wanted = encode_box(kind(), prior(i), coded(i), truth.box), v = variance(i);
    const Box<double> where = p_.use_prior_for_matching() ? prior(i) : decoded(item, i, c);
    const double want[] = {wanted.xmin, wanted.ymin, wanted.xmax, wanted.ymax}, by[] = {v.xmin, v.ymin, v.xmax, v.ymax},
                 at[] = {where.xmin, where.ymin, where.xmax, where.ymax};
    double sum = 0;
    for (int k = 0; k < 4; ++k) {
      double d = code(item, i, c)[k] - want[k];
      if (p_.encode_variance_in_target()) d /= by[k];
      if (p_.bp_inside() && (at[k] < 0 || at[k] > 1)) d = 0;
      const bool parabola = p_.loc_loss_type() == Loss::L2 || std::abs(d) < 1;
      sum += parabola ? d * d / 2 : std::abs(d) - 0.5;
    }
    return sum;
  }

  /// `labels`: all that are true; a softmax takes the last.
  double score_loss(int64_t item, int64_t i, const std::vector<int>& labels) const {
    const double* x = s_.bottoms[1].data() + (item * s_.priors + i) * s_.classes;
    double sum = 0;
    if (p_.conf_loss_type() == Loss::SOFTMAX) {
      for (int64_t c = 0; c < s_.classes; ++c) sum += std::exp(x[c]);
      return std::log(sum) - x[labels.back()];
    }
    for (int64_t c = 0; c < s_.classes; ++c) {
      const double p = 1 / (1 + std::exp(-x[c]));
      const bool own = std::find(labels.begin(), labels.end(), c) != labels.end();
      sum -= own ? std::log(p) : std::log(1 - p);
    }
    return sum;
  }

  void add_item(int64_t item) {
    const std::vector<Truth> truths = truths_of(item);
    const bool mines = p_.mining_type() != Loss::NONE;
    if (truths.empty() && mines) return;
    std::vector<std::vector<int>> labels(static_cast<size_t>(s_.priors));
    std::vector<double> most, losses;
    std::vector<int> match;
    std::vector<Box<double>> priors;
    for (int64_t i = 0; i < s_.priors; ++i) priors.push_back(prior(i));
    std::vector<double> of_location(static_cast<size_t>(s_.priors), 0);
    for (int64_t c = 0; c < box_classes(); ++c) {
      const bool all = p_.share_location();
      if (!all && c == p_.background_label_id()) continue;
      std::vector<Box<double>> boxes = priors;
      for (int64_t i = 0; i < s_.priors && !p_.use_prior_for_matching(); ++i) {
        boxes[static_cast<size_t>(i)] = decoded(item, i, c);
      }
      match = matched(boxes, truths, all || p_.use_prior_for_matching() ? -1 : static_cast<int>(c), most);
      for (size_t i = 0; i < match.size(); ++i) {
        if (match[i] < 0) continue;
        const Truth& truth = truths[static_cast<size_t>(match[i])];
        if (!all && truth.label != c) continue;
        labels[i].push_back(truth.label);
        of_location[i] += location_loss(item, static_cast<int64_t>(i), c, truth);
        ++matches_;
      }
    }
    const bool silent = !mines && p_.conf_loss_type() == Loss::LOGISTIC;
    for (int64_t i = 0; i < s_.priors; ++i) {
      std::vector<int> own = labels[static_cast<size_t>(i)];
      if (own.empty() && !silent) own = {static_cast<int>(p_.background_label_id())};
      losses.push_back(score_loss(item, i, own));
    }
    std::vector<bool> is_example(losses.size(), true);
    if (mines) is_example = mined(item, match, most, losses, of_location, priors);
    for (size_t i = 0; i < losses.size(); ++i) {
      if (is_example[i]) scores_ += losses[i], locations_ += of_location[i];
      if (!is_example[i] && !labels[i].empty()) --matches_;
    }
  }

  std::vector<bool> mined(int64_t item, const std::vector<int>& match, const std::vector<double>& most,
                          const std::vector<double>& losses, const std::vector<double>& of_location,
                          const std::vector<Box<double>>& priors) const {
    const bool hard = p_.mining_type() == Loss::HARD_EXAMPLE;
    std::vector<size_t> order;
    int64_t positives = 0;
    for (size_t i = 0; i < match.size(); ++i) {
      positives += match[i] >= 0;
      if (hard || (match[i] == -1 && most[i] < static_cast<double>(p_.neg_overlap()))) order.push_back(i);
    }
    const auto weight = [&](size_t i) { return losses[i] + (hard ? of_location[i] : 0); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight(a) > weight(b); });
    const auto limit = static_cast<size_t>(
        hard ? p_.sample_size() : static_cast<int64_t>(static_cast<float>(positives) * p_.neg_pos_ratio()));
    if (p_.has_nms_param()) {
      if (p_.nms_param().has_top_k()) order.resize(std::min(order.size(), static_cast<size_t>(p_.nms_param().top_k())));
      std::vector<size_t> stay;
      const auto box = [&](size_t i) {
        return p_.use_prior_for_nms() ? priors[i] : decoded(item, static_cast<int64_t>(i), 0);
      };
      for (const size_t i : order) {
        if (box(i).area() < 1e-5) continue;
        if (std::none_of(stay.begin(), stay.end(), [&](size_t s) {
              return overlap(box(s), box(i)) > static_cast<double>(p_.nms_param().nms_threshold());
            })) {
          stay.push_back(i);
        }
      }
      order = stay;
    }
    order.resize(std::min(order.size(), limit));
    std::vector<bool> is_example(match.size(), false);
    for (const size_t i : order) is_example[i] = match[i] != -2;
    for (size_t i = 0; i < match.size() && !hard; ++i) {
      if (match[i] >= 0) is_example[i] = true;
    }
    return is_example;
  }

  const Scene& s_;
  const Loss& p_;
  double locations_ = 0, scores_ = 0;
  int64_t matches_ = 0;
};

/// Three items, the last without ground truth; boxes near those of the ground truth among others, some over the edge.
Scene make_scene(int64_t classes, bool shared, unsigned seed = 1) {
  Scene scene;
  scene.items = 3, scene.priors = 40, scene.classes = classes;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  std::normal_distribution<double> normal;
  const auto number = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  std::vector<Box<double>> truths;
  for (int i = 0; i < 7; ++i) {
    const double x = 0.1 + 0.8 * part(random), y = 0.1 + 0.8 * part(random), w = 0.1 + 0.2 * part(random), h = 0.2;
    truths.push_back({x - w / 2, y - h / 2, x + w / 2, y + h / 2});
  }
  for (int64_t i = 0; i < scene.priors; ++i) {
    const Box<double>& near = truths[static_cast<size_t>(i) % truths.size()];
    const double far = i % 3 == 0 ? 0.1 : 0.03, x = far * normal(random), y = far * normal(random);
    const double wider = 0.1 * part(random);
    for (const double v : {near.xmin + x, near.ymin + y, near.xmax + x + wider, near.ymax + y}) {
      scene.bottoms[2].push_back(number(v));
    }
  }
  for (int64_t i = 0; i < scene.priors * 4; ++i) scene.bottoms[2].push_back(number(i % 4 < 2 ? 0.1 : 0.2));
  for (int64_t i = 0; i < scene.items * scene.priors * (shared ? 1 : classes) * 4; ++i) {
    scene.bottoms[0].push_back(number(0.8 * normal(random)));
  }
  for (int64_t i = 0; i < scene.items * scene.priors * classes; ++i) {
    scene.bottoms[1].push_back(number(2 * normal(random)));
  }
  for (size_t i = 0; i < truths.size(); ++i) {
    const auto item = static_cast<double>(i % 2), label = static_cast<double>(1 + i % 3);
    const Box<double>& b = truths[i];
    for (const double v : {i == 3 ? -1 : item, label, 0.0, b.xmin, b.ymin, b.xmax, b.ymax, i % 4 == 2 ? 1.0 : 0.0}) {
      scene.bottoms[3].push_back(number(v));
    }
  }
  return scene;
}

const char* const kSettings[] = {
    "num_classes: 4",
    "num_classes: 4 code_type: CENTER_SIZE",
    "num_classes: 4 code_type: CORNER_SIZE loc_loss_type: L2 loc_weight: 2.5",
    "num_classes: 4 conf_loss_type: LOGISTIC code_type: CENTER_SIZE",
    "num_classes: 4 conf_loss_type: LOGISTIC background_label_id: 9",
    "num_classes: 4 match_type: BIPARTITE neg_overlap: 0.3 neg_pos_ratio: 1.5",
    "num_classes: 4 overlap_threshold: 0.2 neg_overlap: 0.1",
    "num_classes: 4 mining_type: NONE",
    "num_classes: 4 mining_type: NONE conf_loss_type: LOGISTIC",
    "num_classes: 4 mining_type: HARD_EXAMPLE sample_size: 12",
    "num_classes: 4 mining_type: HARD_EXAMPLE sample_size: 9 nms_param { nms_threshold: 0.3 top_k: 20 }",
    "num_classes: 4 mining_type: HARD_EXAMPLE ignore_cross_boundary_bbox: true",
    "num_classes: 4 nms_param { nms_threshold: 0.4 } use_prior_for_nms: true",
    "num_classes: 4 nms_param { nms_threshold: 0.4 top_k: 15 } code_type: CENTER_SIZE",
    "num_classes: 4 use_prior_for_matching: false code_type: CENTER_SIZE",
    "num_classes: 4 use_prior_for_matching: false bp_inside: true overlap_threshold: 0.3",
    "num_classes: 4 encode_variance_in_target: true code_type: CENTER_SIZE",
    "num_classes: 4 encode_variance_in_target: true code_type: CORNER_SIZE use_prior_for_matching: false",
    "num_classes: 4 use_difficult_gt: false",
    "num_classes: 4 ignore_cross_boundary_bbox: true",
    "num_classes: 4 bp_inside: true",
    "num_classes: 4 mining_type: NONE share_location: false",
    "num_classes: 4 mining_type: NONE share_location: false use_prior_for_matching: false conf_loss_type: LOGISTIC",
    "num_classes: 4 mining_type: NONE share_location: false use_prior_for_matching: false overlap_threshold: 0.1",
    "num_classes: 2 map_object_to_agnostic: true",
};

Scene scene_of(const std::string& setting) {
  const bool shared = setting.find("share_location: false") == std::string::npos;
  return make_scene(setting.starts_with("num_classes: 2") ? 2 : 4, shared);
}

TEST(MultiBoxLossTest, IsWhatPlainLoopsFind) {
  for (const char* setting : kSettings) {
    const Scene scene = scene_of(setting);
    const Loss param = parse_layer(layer_of(setting)).multibox_loss_param();
    Plainly plainly(scene, param);
    const double want = plainly.loss();
    ASSERT_GT(plainly.matches(), 3) << setting;
    const auto divided = [&](double by) { return want / by; };
    for (const char* backend : {"reference", "gpu"}) {
      const double bound = 1e-5 * want;
      const auto matches = static_cast<double>(plainly.matches());
      EXPECT_NEAR(loss_of(scene, backend, setting), divided(matches), bound / matches) << backend << " " << setting;
      EXPECT_NEAR(loss_of(scene, backend, setting, "loss_param { normalization: NONE }"), want, bound) << setting;
      EXPECT_NEAR(loss_of(scene, backend, setting, "loss_param { normalization: BATCH_SIZE }"), divided(3), bound / 3);
      EXPECT_NEAR(loss_of(scene, backend, setting, "loss_param { normalization: FULL }"), divided(120), bound / 120);
    }
  }
}

TEST(MultiBoxLossTest, Gradients) {
  for (const char* setting : kSettings) check_gradients(scene_of(setting).with(setting));
  check_gradients(make_scene(4, true).with(kSettings[0], "propagate_down: [true, false, false, false]"));
}

TEST(MultiBoxLossTest, SinglePrecision) {
  for (const char* setting : kSettings) compare_with_reference("reference", scene_of(setting).with(setting), 1e-4);
}

TEST(MultiBoxLossTest, Gpu) {
  for (const char* setting : kSettings) {
    compare_gpu_with_reference(scene_of(setting).with(setting), 1e-4, {.dtype = DType::kF32});
  }
}

/// Two prior boxes, of which the first is where the only object is.
const Scene kSmall{1,
                   2,
                   2,
                   {{0.5, 0, 0, 2, 0, 0, 0, 0},
                    {0, 0, 1, 1},
                    {0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
                    {0, 1, 0, 0, 0, 0.5, 0.5, 0}}};

TEST(MultiBoxLossTest, ByHand) {
  const double scores = 2 * std::log(2.0);
  for (const char* backend : {"reference", "gpu"}) {
    // 0.5^2 / 2 and 2 - 1/2.
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2"), 1.625 + scores, 1e-6);
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2 neg_pos_ratio: 0"), 1.625 + scores / 2, 1e-6);
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2 loc_weight: 2"), 3.25 + scores, 1e-6);
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2", "propagate_down: [true, false, false, false]"), 1.625, 1e-6);
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2", "propagate_down: [false, true, false, false]"), scores,
                1e-6);
  }
}

TEST(MultiBoxLossTest, NothingMatched) {
  Scene empty = kSmall;
  empty.bottoms[3][0] = -1;
  for (const char* backend : {"reference", "gpu"}) {
    EXPECT_EQ(loss_of(empty, backend, "num_classes: 2"), 0);
    EXPECT_NEAR(loss_of(empty, backend, "num_classes: 2 mining_type: NONE"), 2 * std::log(2.0), 1e-6);
  }
  // A box upside down overlaps nothing, whatever its code would be.
  Scene flat = kSmall;
  std::swap(flat.bottoms[3][3], flat.bottoms[3][5]);
  EXPECT_EQ(loss_of(flat, "reference", "num_classes: 2 code_type: CENTER_SIZE"), 0);
}

/// As PriorBox clips them at the edge of an image.
TEST(MultiBoxLossTest, EmptyPriorBoxesAreNegatives) {
  Scene clipped = kSmall;
  clipped.bottoms[2][4] = 1;
  for (const char* backend : {"reference", "gpu"}) {
    for (const std::string code : {"CORNER", "CENTER_SIZE", "CORNER_SIZE"}) {
      const double all = loss_of(clipped, backend, "num_classes: 2 code_type: " + code);
      EXPECT_NEAR(all, loss_of(kSmall, backend, "num_classes: 2 code_type: " + code), 1e-6) << backend << " " << code;
    }
  }
}

/// One box is matched here and five by the other rank: both divide by 3, and their mean is the loss of all six.
TEST(MultiBoxLossTest, RanksShareTheNumberOfMatches) {
  for (const char* backend : {"reference", "gpu"}) {
    TwoRanks ranks;
    Pass pass;
    pass.ranks = &ranks;
    EXPECT_NEAR(loss_of(kSmall, backend, "num_classes: 2", "", pass), (1.625 + 2 * std::log(2.0)) / 3, 1e-6);
    EXPECT_EQ(ranks.sums, 1);
  }
}

TEST(MultiBoxLossTest, ScoresThatAreNoNumbersShow) {
  Scene broken = make_scene(4, true);
  broken.bottoms[1][20] = std::nan("");
  for (const char* backend : {"reference", "gpu"}) {
    EXPECT_TRUE(std::isnan(loss_of(broken, backend, "num_classes: 4"))) << backend;
  }
}

TEST(MultiBoxLossTest, BadData) {
  const auto expect_bad = [](size_t bottom, size_t at, double value, const std::string& cause,
                             const std::string& param = "num_classes: 2") {
    for (const char* backend : {"reference", "gpu"}) {
      Scene bad = kSmall;
      bad.bottoms[bottom][at] = value;
      const Error error = error_of([&] { loss_of(bad, backend, param); });
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_TRUE(contains(error.cause(), cause)) << backend;
    }
  };
  expect_bad(3, 0, 1, "row 0 of bottom 3 is of item 1, but items are 0..0");
  expect_bad(3, 0, std::nan(""), "row 0 of bottom 3 is of item nan");
  expect_bad(3, 1, 2, "row 0 of bottom 3 is of class 2, but classes are 0..1");
  expect_bad(3, 1, -3, "row 0 of bottom 3 is of class -3");
  expect_bad(3, 1, 0, "row 0 of bottom 3 is of class 0, which is the background");
  expect_bad(3, 5, std::nan(""), "row 0 of bottom 3 has the corners 0 0 nan 0.5");
  expect_bad(3, 6, HUGE_VAL, "row 0 of bottom 3 has the corners 0 0 0.5 inf");
  expect_bad(2, 4, 1, "prior box 1 is 0 wide and 0.5 high",
             "num_classes: 2 code_type: CENTER_SIZE use_prior_for_matching: false");
  expect_bad(2, 0, std::nan(""), "prior box 0 is nan wide");
  expect_bad(2, 15, 0, "with the variances 0.1 0.1 0.1 0");
}

TEST(MultiBoxLossTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(kSmall.with(param), cause, "multibox_loss_param." + field);
  };
  expect_refused("", "no num_classes is given", "num_classes");
  expect_refused("num_classes: 0", "num_classes is 0", "num_classes");
  expect_refused("num_classes: 2 background_label_id: 2", "background_label_id is 2 of 2 classes",
                 "background_label_id");
  expect_refused("num_classes: 3 map_object_to_agnostic: true", "num_classes is 3 with map_object_to_agnostic",
                 "num_classes");
  expect_refused("num_classes: 2 share_location: false", "MAX_NEGATIVE without share_location", "mining_type");
  expect_refused("num_classes: 2 do_neg_mining: false", "do_neg_mining is false, but mining_type is MAX_NEGATIVE",
                 "do_neg_mining");
  expect_refused("num_classes: 2 neg_pos_ratio: -1", "neg_pos_ratio is -1", "neg_pos_ratio");
  expect_refused("num_classes: 2 neg_pos_ratio: nan", "neg_pos_ratio is nan", "neg_pos_ratio");
  expect_refused("num_classes: 2 mining_type: HARD_EXAMPLE sample_size: 0", "sample_size is 0", "sample_size");
  expect_refused("num_classes: 2 loc_weight: nan", "loc_weight is nan", "loc_weight");
  expect_refused("num_classes: 2 overlap_threshold: nan", "overlap_threshold is nan", "overlap_threshold");
  expect_refused("num_classes: 2 neg_overlap: inf", "neg_overlap is inf", "neg_overlap");
  expect_refused("num_classes: 2 nms_param { nms_threshold: nan }", "nms_threshold is nan", "nms_param.nms_threshold");
  const auto expect_misfit = [](const std::vector<Shape>& bottoms, const std::string& cause) {
    expect_config_error({{layer_of("num_classes: 2")}, bottoms}, cause, "bottom");
  };
  expect_misfit({{1, 8}, {1, 4}, {1, 16}, {1, 1, 1, 8}}, "the bottoms have shapes 1 8 (8), 1 4 (4) and 1 16 (16)");
  expect_misfit({{1, 8}, {1, 4}, {1, 1, 8}, {1, 1, 1, 8}}, "bottom 2 has shape 1 1 8 (8), but 16 numbers are wanted");
  expect_misfit({{1, 9}, {1, 4}, {1, 2, 8}, {1, 1, 1, 8}}, "bottom 0 has shape 1 9 (9), but 8 numbers are wanted");
  expect_misfit({{1, 8}, {1, 6}, {1, 2, 8}, {1, 1, 1, 8}}, "bottom 1 has shape 1 6 (6), but 4 numbers are wanted");
  expect_misfit({{1, 8}, {1, 4}, {1, 2, 8}, {1, 1, 8, 1}}, "bottom 3 has shape 1 1 8 1 (8), but rows of 8 numbers");
}

}  // namespace
}  // namespace robusta::test::multi_box_loss_test
