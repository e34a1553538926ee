// DecodeBBox.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::decode_bbox_test {
namespace {

KernelCase decode(const Arrays& bottoms, caffe::Phase phase = caffe::TRAIN, const std::string& param = "") {
  const auto n = static_cast<int64_t>(bottoms[0].size()) / 8;
  KernelCase what{{"type: 'DecodeBBox' " + param}, {{n, 8}, {n, 5, 1, 1}}, phase};
  if (bottoms.size() > 2) what.bottoms.push_back({n, static_cast<int64_t>(bottoms[2].size()) / n});
  what.bottom_values = [bottoms](int bottom, const Shape&) { return bottoms[static_cast<size_t>(bottom)]; };
  return what;
}

Array top_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  Arrays bottoms;
  for (size_t i = 0; i < what.bottoms.size(); ++i) {
    bottoms.push_back(what.bottom_values(static_cast<int>(i), what.bottoms[i]));
  }
  harness.forward(bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

void expect_top(const KernelCase& what, const Array& want) {
  for (const char* backend : {"reference", "gpu"}) {
    const Array got = top_of(backend, what);
    ASSERT_EQ(got.size(), want.size()) << backend;
    expect_near(got, want, 1e-4, backend);
  }
}

/// Three regions of 10 x 20 pixels and their codes; the background's are never looked at.
const Array kRegions{0, 10, 10, 19, 29, 1, 0, 0, 9, 19, 1, 5, 5, 14, 24};
Array codes(const Array& first, const Array& second, const Array& third) {
  Array all;
  for (const Array& own : {first, second, third}) {
    all.insert(all.end(), {9, 9, 9, 9});
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}
const Array kStay{0, 0, 0, 0};

TEST(DecodeBboxTest, MovesAndStretchesByPartsOfTheRegion) {
  const double two = std::log(2.0);
  const Arrays bottoms{codes(kStay, {0.5, -0.25, 0, 0}, {0, 0, two, -two}), kRegions};
  const Array want{0, 10, 10, 19, 29, 1, 5, -5, 14, 14, 1, 0, 10, 19, 19};
  expect_top(decode(bottoms), want);
  expect_top(decode(bottoms, caffe::TEST), want);
}

TEST(DecodeBboxTest, StatisticsUndoTheNormalisation) {
  expect_top(decode({codes(kStay, {5, 0, 0, 0}, kStay), kRegions}, caffe::TEST,
                    "bbox_reg_param { bbox_mean: 0.1 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.1 bbox_std: 1 "
                    "bbox_std: 1 bbox_std: 1 }"),
             {0, 11, 10, 20, 29, 1, 6, 0, 15, 19, 1, 6, 5, 15, 24});
}

TEST(DecodeBboxTest, TrainingKeepsWhatIsOfUse) {
  const Array last{1, 5, 5, 14, 24};
  Array regions = kRegions;
  regions[3] = 5;  // upside down: 4 pixels less than none
  expect_top(decode({codes(kStay, {0, 0, NAN, 0}, kStay), regions}), last);
  EXPECT_EQ(top_of("reference", decode({codes(kStay, kStay, kStay), regions}, caffe::TEST)).size(), 15u);
  // The last number of a row is how much is common.
  const Arrays matched{codes(kStay, kStay, kStay), kRegions, {1, 0.95, 0, 0.96, 1, 0.94}};
  expect_top(decode(matched), last);
  expect_top(decode(matched, caffe::TRAIN, "decode_bbox_param { gt_iou_thr: 0.96 }"),
             {0, 10, 10, 19, 29, 1, 5, 5, 14, 24});
}

TEST(DecodeBboxTest, Errors) {
  const KernelCase none = decode({codes(kStay, kStay, kStay), kRegions, {1, 1, 1}});
  const Error error = error_of([&] { top_of("reference", none); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(error.cause(), "of 3 regions none is left"));
  expect_config_error(decode({codes(kStay, kStay, kStay), kRegions, {1, 1, 1}}, caffe::TEST), "third bottom", "bottom");
  expect_config_error({{"type: 'DecodeBBox'"}, {{3, 4}, {3, 5}}}, "bottom 0", "bottom");
  expect_config_error({{"type: 'DecodeBBox'"}, {{3, 8}, {2, 5}}}, "bottom 1", "bottom");
  expect_config_error({{"type: 'DecodeBBox' bbox_reg_param { bbox_mean: 1 bbox_mean: 1 bbox_mean: 1 bbox_mean: 1 "
                        "bbox_std: 0 bbox_std: 1 bbox_std: 1 bbox_std: 1 }"},
                       {{3, 8}, {3, 5}}},
                      "deviation is 0", "bbox_reg_param.bbox_std");
}

}  // namespace
}  // namespace robusta::test::decode_bbox_test
