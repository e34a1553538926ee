// Proposal.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::proposal_test {
namespace {

std::string layer_of(const std::string& param) { return "type: 'Proposal' proposal_param { " + param + " }"; }

/// What a network says about `anchors` anchors at each of rows x columns pixels, of images of one size.
struct Rpn {
  int64_t items, anchors, rows, columns;
  Arrays bottoms;

  Rpn(int64_t n, int64_t a, int64_t h, int64_t w, const Array& image) : items(n), anchors(a), rows(h), columns(w) {
    bottoms = {Array(static_cast<size_t>(n * 2 * a * h * w)), Array(static_cast<size_t>(n * 4 * a * h * w)), {}};
    for (int64_t item = 0; item < n; ++item) bottoms[2].insert(bottoms[2].end(), image.begin(), image.end());
  }
  double& score(int64_t item, int64_t anchor, int64_t row, int64_t column) {
    return bottoms[0][static_cast<size_t>((((item * 2 + 1) * anchors + anchor) * rows + row) * columns + column)];
  }
  double& code(int64_t item, int64_t anchor, int64_t which, int64_t row, int64_t column) {
    return bottoms[1][static_cast<size_t>((((item * anchors + anchor) * 4 + which) * rows + row) * columns + column)];
  }
  KernelCase with(const std::string& param, int tops = 2) const {
    KernelCase what{{layer_of(param)},
                    {{items, 2 * anchors, rows, columns},
                     {items, 4 * anchors, rows, columns},
                     {items, static_cast<int64_t>(bottoms[2].size()) / items}}};
    what.tops = tops;
    what.bottom_values = [values = bottoms](int bottom, const Shape&) { return values[static_cast<size_t>(bottom)]; };
    return what;
  }
};

void expect_tops(const Rpn& rpn, const std::string& param, const Array& regions, const Array& scores) {
  for (const char* backend : {"reference", "gpu"}) {
    const bool exact = std::string(backend) == "reference";
    KernelHarness harness(rpn.with(param), {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32});
    harness.forward(rpn.bottoms);
    EXPECT_EQ(harness.damage(), "");
    const Arrays tops = harness.tops();
    ASSERT_EQ(tops[0].size(), regions.size()) << backend;
    expect_near(tops[0], regions, 1e-6, backend);
    expect_near(tops[1], scores, 1e-6, backend);
  }
}

/// The nine anchors that generate_anchors.py shows, 480 pixels right and down.
TEST(ProposalTest, AnchorsOfFasterRcnn) {
  Rpn rpn(1, 9, 31, 31, {2000, 2000, 1});
  std::fill(rpn.bottoms[0].begin(), rpn.bottoms[0].end(), -1.0);
  Array scores;
  for (int64_t a = 0; a < 9; ++a) scores.push_back(rpn.score(0, a, 30, 30) = 1 - 0.125 * static_cast<double>(a));
  const double anchors[9][4] = {{-84, -40, 99, 55}, {-176, -88, 191, 103},  {-360, -184, 375, 199},
                                {-56, -56, 71, 71}, {-120, -120, 135, 135}, {-248, -248, 263, 263},
                                {-36, -80, 51, 95}, {-80, -168, 95, 183},   {-168, -344, 183, 359}};
  Array regions;
  for (const auto& anchor : anchors) {
    regions.push_back(0);
    // Without a code a box ends where its last pixel does: x + w / 2.
    regions.insert(regions.end(), {anchor[0] + 480, anchor[1] + 480, anchor[2] + 481, anchor[3] + 481});
  }
  expect_tops(rpn, "pre_nms_topn: 9 nms_thresh: 1", regions, scores);
}

TEST(ProposalTest, CodesByHand) {
  // One anchor of 16 x 16 pixels: from (0, 0) to (15, 15), in the middle (8, 8); the second 16 pixels to the right.
  Rpn rpn(1, 1, 1, 2, {40, 30, 1});
  const std::string one = "ratio: 1 scale: 1 ";
  rpn.score(0, 0, 0, 0) = 0.5, rpn.score(0, 0, 0, 1) = 0.75;
  expect_tops(rpn, one + "min_size: 1", {0, 16, 0, 29, 16, 0, 0, 0, 16, 16}, {0.75, 0.5});
  expect_tops(rpn, one + "min_size: 1 post_nms_topn: 1", {0, 16, 0, 29, 16}, {0.75});
  expect_tops(rpn, one + "min_size: 1 pre_nms_topn: 1", {0, 16, 0, 29, 16}, {0.75});
  // The second is 14 pixels wide, within the image.
  expect_tops(rpn, one + "min_size: 15", {0, 0, 0, 16, 16}, {0.5});
  Rpn scaled = rpn;
  scaled.bottoms[2] = {40, 30, 2};
  expect_tops(scaled, one + "min_size: 8", {0, 0, 0, 16, 16}, {0.5});
  // Nothing is large enough: the whole image.
  expect_tops(rpn, one + "min_size: 100", {0, 0, 0, 29, 39}, {0});
  // Moved by a quarter and a half, twice as wide and half as high.
  rpn.code(0, 0, 0, 0, 0) = 0.25, rpn.code(0, 0, 1, 0, 0) = 0.5;
  rpn.code(0, 0, 2, 0, 0) = std::log(2.0), rpn.code(0, 0, 3, 0, 0) = -std::log(2.0);
  rpn.score(0, 0, 0, 0) = 1;
  expect_tops(rpn, one + "min_size: 1 post_nms_topn: 1", {0, 0, 12, 28, 20}, {1});
}

/// The same, loop by loop, in double precision. Anchors: of base 16, ratio 1, scales 1 and 2.
TEST(ProposalTest, IsWhatPlainLoopsFind) {
  Rpn rpn(2, 2, 9, 12, {144, 192, 1});
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (double& score : rpn.bottoms[0]) score = static_cast<float>(normal(random));
  for (double& code : rpn.bottoms[1]) code = static_cast<float>(0.3 * normal(random));
  struct Candidate {
    double score, x1, y1, x2, y2;
  };
  Array regions, scores;
  for (int64_t item = 0; item < 2; ++item) {
    std::vector<Candidate> all, stay;
    for (int64_t row = 0; row < 9; ++row) {
      for (int64_t column = 0; column < 12; ++column) {
        for (int64_t a = 0; a < 2; ++a) {
          const auto code = [&](int64_t which) { return rpn.code(item, a, which, row, column); };
          const double size = a == 0 ? 16 : 32;
          const double x = 16.0 * static_cast<double>(column) + 8 + code(0) * size,
                       y = 16.0 * static_cast<double>(row) + 8 + code(1) * size;
          const double w = size * std::exp(code(2)), h = size * std::exp(code(3));
          const Candidate c{rpn.score(item, a, row, column), std::clamp(x - w / 2, 0.0, 191.0),
                            std::clamp(y - h / 2, 0.0, 143.0), std::clamp(x + w / 2, 0.0, 191.0),
                            std::clamp(y + h / 2, 0.0, 143.0)};
          if (c.x2 - c.x1 + 1 >= 14 && c.y2 - c.y1 + 1 >= 14) all.push_back(c);
        }
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    if (all.size() > 120) all.resize(120);
    const auto area = [](const Candidate& c) { return (c.x2 - c.x1 + 1) * (c.y2 - c.y1 + 1); };
    for (const Candidate& c : all) {
      const bool goes = std::any_of(stay.begin(), stay.end(), [&](const Candidate& s) {
        const double w = std::max(0.0, std::min(c.x2, s.x2) - std::max(c.x1, s.x1) + 1),
                     h = std::max(0.0, std::min(c.y2, s.y2) - std::max(c.y1, s.y1) + 1);
        return w * h / (area(c) + area(s) - w * h) > 0.3;
      });
      if (!goes) stay.push_back(c);
    }
    if (stay.size() > 30) stay.resize(30);
    for (const Candidate& c : stay) {
      regions.insert(regions.end(), {static_cast<double>(item), c.x1, c.y1, c.x2, c.y2});
      scores.push_back(c.score);
    }
  }
  EXPECT_EQ(scores.size(), 60u);
  expect_tops(rpn, "ratio: 1 scale: 1 scale: 2 min_size: 14 pre_nms_topn: 120 post_nms_topn: 30 nms_thresh: 0.3",
              regions, scores);
}

TEST(ProposalTest, ScoresAndCodesThatAreNoNumbersAreNotFound) {
  Rpn rpn(1, 1, 1, 2, {40, 40, 1});
  rpn.score(0, 0, 0, 0) = std::nan("");
  expect_tops(rpn, "ratio: 1 scale: 1", {0, 16, 0, 32, 16}, {0});
  rpn.code(0, 0, 2, 0, 1) = std::nan("");
  expect_tops(rpn, "ratio: 1 scale: 1", {0, 0, 0, 39, 39}, {0});
}

TEST(ProposalTest, BeforeTheFirstPassThereIsARowForEachItem) {
  KernelCase unknown = Rpn(3, 9, 2, 2, {40, 40, 1}).with("");
  unknown.bottom_values = nullptr;
  EXPECT_EQ(KernelHarness(unknown, {}).top_shapes()[0], (Shape{3, 5}));
  EXPECT_EQ(KernelHarness(unknown, {}).top_shapes()[1], (Shape{3}));
  unknown.tops = 1;
  EXPECT_EQ(KernelHarness(unknown, {}).top_shapes().size(), 1u);
}

/// As `caffe time` gives them.
TEST(ProposalTest, ImagesOfZerosHaveNoRegions) {
  expect_tops(Rpn(1, 1, 1, 2, {0, 0, 0}), "ratio: 1 scale: 1", {0, 0, 0, 0, 0}, {0});
}

TEST(ProposalTest, BadImages) {
  for (const Array& image : {Array{0, 40, 1}, Array{40, std::nan(""), 1}, Array{40, 40, -1}}) {
    const Error error = error_of([&] { KernelHarness(Rpn(1, 9, 2, 2, image).with(""), {}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_TRUE(contains(error.cause(), "the image of item 0 has height ")) << error.cause();
  }
}

TEST(ProposalTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(Rpn(1, 9, 2, 2, {40, 40, 1}).with(param), cause, "proposal_param." + field);
  };
  expect_refused("feat_stride: 0", "feat_stride is 0", "feat_stride");
  expect_refused("base_size: 0", "base_size is 0", "base_size");
  expect_refused("pre_nms_topn: 0", "pre_nms_topn is 0", "pre_nms_topn");
  expect_refused("post_nms_topn: 0", "post_nms_topn is 0", "post_nms_topn");
  expect_refused("nms_thresh: -1", "nms_thresh is -1", "nms_thresh");
  expect_refused("ratio: 0", "ratio is 0", "ratio");
  expect_refused("scale: nan", "scale is nan", "scale");
  const auto expect_misfit = [](const std::vector<Shape>& bottoms, const std::string& cause) {
    expect_config_error({{layer_of("")}, bottoms}, cause, "bottom");
  };
  expect_misfit({{1, 9, 2, 2}, {1, 36, 2, 2}, {1, 3}}, "bottom 0 has shape 1 9 2 2 (36), but of each item 18 channels");
  expect_misfit({{1, 18, 2, 2}, {1, 18, 2, 2}, {1, 3}},
                "bottom 1 has shape 1 18 2 2 (72), but of each item 36 channels");
  expect_misfit({{1, 18, 2, 2}, {1, 36, 2, 3}, {1, 3}}, "bottom 0 has shape 1 18 2 2 (72), bottom 1 1 36 2 3 (216)");
  expect_misfit({{2, 18, 2, 2}, {2, 36, 2, 2}, {1, 3}}, "bottom 2 has shape 1 3 (3), and there are 2 items");
}

}  // namespace
}  // namespace robusta::test::proposal_test
