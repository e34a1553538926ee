// BoxOutput.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::box_output_test {
namespace {

std::string layer_of(const std::string& param) { return "type: 'BoxOutput' box_output_param { " + param + " }"; }

/// Maps of one item with two classes: the scores of a class above the background, and codes of 0, for each cell.
Array map_of(const Array& scores, const Array& codes = {}) {
  Array values(scores.size(), 0.0);
  values.insert(values.end(), scores.begin(), scores.end());
  if (codes.empty())
    values.resize(6 * scores.size(), 0.0);
  else
    values.insert(values.end(), codes.begin(), codes.end());
  return values;
}

KernelCase boxes(const std::string& param, const std::vector<Shape>& shapes, const Arrays& bottoms, int tops = 2) {
  KernelCase what{{layer_of(param)}, shapes};
  what.tops = tops;
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

Arrays tops_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  Arrays bottoms;
  for (size_t i = 0; i < what.bottoms.size(); ++i) {
    bottoms.push_back(what.bottom_values(static_cast<int>(i), what.bottoms[i]));
  }
  harness.forward(bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops();
}

/// Rows of top 1.
void expect_rows(const KernelCase& what, const Arrays& rows) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, what);
    ASSERT_EQ(tops[0].size(), rows.size() * 5) << backend;
    ASSERT_EQ(tops[1].size(), rows.size() * 6) << backend;
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto at = static_cast<std::ptrdiff_t>(row);
      expect_near({tops[1].begin() + 6 * at, tops[1].begin() + 6 * at + 6}, rows[row], 1e-4, backend);
      expect_near({tops[0].begin() + 5 * at, tops[0].begin() + 5 * at + 5}, {rows[row].begin(), rows[row].begin() + 5},
                  1e-4, backend);
    }
  }
}

const std::string kField = "field_w: 16 field_h: 24 downsample_rate: 8 ", kAny = kField + "min_size: 1 ";

TEST(BoxOutputTest, FieldsAreAroundTheMiddleOfTheirCell) {
  // Cells of 8 pixels in an image of 32 x 16; the fields are cut to it, and what is before its beginning moves there.
  const Shape shape{1, 6, 2, 4};
  expect_rows(boxes(kAny, {shape}, {map_of({-1, -1, 3, -1, -1, -1, -1, 2})}),
              {{0, 12, 0, 28, 16, 3}, {0, 20, 0, 32, 16, 2}});
  expect_rows(boxes(kField + "min_size: 13", {shape}, {map_of({-1, -1, 3, -1, -1, -1, -1, 2})}),
              {{0, 12, 0, 28, 16, 3}});
  expect_rows(boxes(kAny + "fg_thr: 3", {shape}, {map_of({-1, -1, 3, -1, -1, -1, -1, 2})}), {{0, 12, 0, 28, 16, 3}});
}

TEST(BoxOutputTest, CodesShiftAndStretchWithinBounds) {
  const Shape shape{1, 6, 8, 8};
  const auto one = [&](const std::string& param, const Array& code) {
    Array scores(64, -1.0), codes(256, 0.0);
    scores[8 * 3 + 3] = 1;
    for (size_t k = 0; k < 4; ++k) codes[64 * k + 8 * 3 + 3] = code[k];
    return boxes(kAny + param, {shape}, {map_of(scores, codes)});
  };
  // The middle is (28, 28).
  const double two = std::log(2.0);
  expect_rows(one("", {0.25, -0.25, -two, two}), {{0, 32 - 4, 0, 32 + 4, 48, 1}});
  expect_rows(one("", {9, -9, -9, 9}), {{0, 36 - 4, 0, 36 + 4, 48, 1}});
  expect_rows(one("field_xyr: 4 field_whr: 1", {9, -9, -9, 9}), {{0, 24, 10, 40, 34, 1}});
}

TEST(BoxOutputTest, StatisticsUndoTheNormalisation) {
  Array scores(64, -1.0), codes(256, 0.0);
  scores[27] = 1;
  codes[27] = 2;
  KernelCase what = boxes(kAny, {{1, 6, 8, 8}}, {map_of(scores, codes)});
  what.layers = {layer_of(kAny) +
                 " bbox_reg_param { bbox_mean: 0.05 bbox_mean: 0.25 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.1 "
                 "bbox_std: 1 bbox_std: 1 bbox_std: 1 }"};
  expect_rows(what, {{0, 32 - 8, 34 - 12, 32 + 8, 34 + 12, 1}});
}

TEST(BoxOutputTest, TheBestOfAllMapsSurvive) {
  const std::string fields =
      "field_w: 16 field_w: 40 field_h: 16 field_h: 40 downsample_rate: 8 downsample_rate: 16 min_size: 1 ";
  const std::vector<Shape> shapes{{1, 6, 1, 6}, {1, 6, 1, 3}};
  // Images of 48 x 8 and 48 x 16: boxes from (x - 8, 0) of 16 x 8, cut, and larger ones.
  const Arrays bottoms{map_of({-1, 5, 4, -1, 6, -1}), map_of({-1, 3, -1})};
  const Array six{0, 28, 0, 44, 8, 6}, five{0, 4, 0, 20, 8, 5}, four{0, 12, 0, 28, 8, 4}, three{0, 4, 0, 44, 16, 3};
  expect_rows(boxes(fields + "iou_thr: 0.5", shapes, bottoms), {six, five, four, three});
  expect_rows(boxes(fields + "iou_thr: 0.3", shapes, bottoms), {six, five, three});
  expect_rows(boxes(fields + "iou_thr: 0.3 max_nms_num: 3", shapes, bottoms), {six, five});
  expect_rows(boxes(fields + "iou_thr: 0.5 max_post_nms_num: 2", shapes, bottoms), {six, five});
  // All of the better one is common to it and the larger one.
  expect_rows(boxes(fields + "iou_thr: 0.9 nms_type: 'IOFU'", shapes, bottoms), {six, five, four});
  expect_rows(boxes(fields + "iou_thr: 0.9 nms_type: 'IOMU'", shapes, bottoms), {six, five, four});
}

TEST(BoxOutputTest, ItemsFollowEachOtherAndTheLastOfEqualsIsFirst) {
  Array two;
  for (const Array& scores : {Array{1, 2, 2, -5}, Array{-1, -1, -1, 9}}) {
    const Array map = map_of(scores);
    two.insert(two.end(), map.begin(), map.end());
  }
  expect_rows(boxes("field_w: 8 field_h: 8 downsample_rate: 8 min_size: 1 ", {{2, 6, 1, 4}}, {two}),
              {{0, 16, 0, 24, 8, 2}, {0, 8, 0, 16, 8, 2}, {0, 0, 0, 8, 8, 1}, {1, 24, 0, 32, 8, 9}});
}

TEST(BoxOutputTest, NoBoxIsARowThatStandsForNone) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, boxes(kAny, {{2, 6, 1, 2}}, {Array(24, -1.0)}));
    // A score of -1 above one of -1 is 0, which is fg_thr; the boxes of an item's two cells are the same.
    EXPECT_EQ(tops[0].size(), 10u) << backend;
    const Arrays none = tops_of(backend, boxes(kAny + "fg_thr: 1", {{2, 6, 1, 2}}, {Array(24, -1.0)}));
    EXPECT_EQ(none[0], (Array{0, 1, 1, 10, 10})) << backend;
    EXPECT_EQ(none[1], Array(6, 0.0)) << backend;
    const Arrays nan = tops_of(backend, boxes(kAny, {{2, 6, 1, 2}}, {Array(24, NAN)}));
    EXPECT_EQ(nan[1], Array(6, 0.0)) << backend;
  }
}

TEST(BoxOutputTest, OneTopHasNoScores) {
  const KernelCase what = boxes(kAny, {{1, 6, 2, 4}}, {map_of({-1, -1, 3, -1, -1, -1, -1, -1})}, 1);
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, what);
    ASSERT_EQ(tops.size(), 1u);
    EXPECT_EQ(tops[0], (Array{0, 12, 0, 28, 16})) << backend;
  }
}

TEST(BoxOutputTest, Errors) {
  const auto bad = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(boxes(param, {{1, 6, 1, 1}}, {Array(6, 0.0)}), cause, field);
  };
  bad("field_w: 1 field_h: 1", "given 0 times", "box_output_param.downsample_rate");
  bad(kField + "field_w: 3", "given 2 times", "box_output_param.field_w");
  bad(kField + "nms_type: 'MAX'", "unknown nms_type", "box_output_param.nms_type");
  bad(kField + "iou_thr: -1", "iou_thr is -1", "box_output_param.iou_thr");
  bad(kField + "fg_thr: nan", "fg_thr is nan", "box_output_param.fg_thr");
  bad(kField + "min_size: -2", "min_size is -2", "box_output_param.min_size");
  bad(kField + "field_xyr: 0", "field_xyr is 0", "box_output_param.field_xyr");
  bad(kField + "field_whr: 0.5", "field_whr is 0.5", "box_output_param.field_whr");
  expect_config_error(boxes(kField, {{1, 5, 1, 1}}, {Array(5, 0.0)}), "bottom 0 has shape", "bottom");
  KernelCase means = boxes(kField, {{1, 6, 1, 1}}, {Array(6, 0.0)});
  means.layers = {layer_of(kField) + " bbox_reg_param { bbox_mean: 1 bbox_std: 1 }"};
  expect_config_error(means, "1 means and 1 deviations", "bbox_reg_param.bbox_mean");
}

}  // namespace
}  // namespace robusta::test::box_output_test
