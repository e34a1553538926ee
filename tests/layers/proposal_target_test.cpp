// ProposalTarget: which regions are chosen, and what they should become.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "layers/types/proposal_target/region_choice.h"
#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::proposal_target_test {
namespace {

const std::string kSize = "img_width: 100 img_height: 80 num_img_per_batch: 2 cls_num: 3 ";

std::vector<TargetRow> chosen_by(const std::string& param, const std::vector<float>& regions,
                                 const std::vector<float>& truth, const Pass& pass = {.seed = 1, .batch = 2}) {
  const caffe::LayerParameter layer = parse_layer("proposal_target_param { " + kSize + param + " }");
  RegionChoice choice(layer.proposal_target_param(), "targets");
  return choice.choose(regions, truth, &pass);
}

std::vector<int64_t> regions_of(const std::vector<TargetRow>& rows) {
  std::vector<int64_t> regions;
  for (const TargetRow& row : rows) regions.push_back(row.region);
  return regions;
}

/// Of the first item a box of class 2, 10 x 10 at (10, 10), and an ignored one at (60, 10); none of the second.
const std::vector<float> kTruth{0, 10, 10, 19, 19, 2, 0, /**/ 0, 60, 10, 69, 19, 1, 1};
/// Overlaps: 0.8, of the ignored one, 0.3, none, none.
const std::vector<float> kRegions{0,      10, 10, 19, 17, /**/ 0, 60, 10, 69, 19, /**/ 0, 10, 10, 19, 12,
                                  /**/ 0, 40, 40, 60, 60, /**/ 1, 10, 10, 19, 19};

TEST(RegionChoiceTest, ObjectsThenTheBackgroundWithoutWhatIsIgnored) {
  const std::vector<TargetRow> rows = chosen_by("batch_size: -1", kRegions, kTruth);
  EXPECT_EQ(regions_of(rows), (std::vector<int64_t>{0, 5, 2}));
  EXPECT_EQ(rows[0].label, 2);
  EXPECT_EQ(rows[0].truth, 0);
  EXPECT_FLOAT_EQ(rows[0].overlap, 0.8f);
  EXPECT_FLOAT_EQ(rows[1].overlap, 1);
  EXPECT_EQ(rows[2].label, 0);
  EXPECT_EQ(regions_of(chosen_by("batch_size: -1 bg_thr_lw: 0", kRegions, kTruth)),
            (std::vector<int64_t>{0, 5, 2, 3, 4}));
  EXPECT_EQ(regions_of(chosen_by("batch_size: -1 fg_thr: 0.9 bg_thr_hg: 0.9 bg_thr_lw: 0.4", kRegions, kTruth)),
            (std::vector<int64_t>{5, 0}));
  EXPECT_EQ(regions_of(chosen_by("batch_size: -1 fg_thr: 0.9 bg_thr_hg: 0.7 bg_thr_lw: 0.4", kRegions, kTruth)),
            (std::vector<int64_t>{5}));
}

TEST(RegionChoiceTest, NothingIsOneRowOfTheBackground) {
  const std::vector<float> region{0, 60, 10, 69, 19}, truth{0, 60, 10, 69, 19, 1, 1};
  const std::vector<TargetRow> rows = chosen_by("batch_size: -1", region, truth);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].region, -1);
  EXPECT_EQ(rows[0].label, 0);
}

TEST(RegionChoiceTest, SpareRegionsAndDrawnBoxesFillABatch) {
  // A quarter of 8 may be objects; of the background there is one; two are spare; three are drawn.
  const std::vector<TargetRow> rows = chosen_by("batch_size: 8", kRegions, kTruth);
  EXPECT_EQ(regions_of(rows), (std::vector<int64_t>{0, 5, 2, 3, 4, -1, -1, -1}));
  std::set<int32_t> items;
  for (uint64_t first = 0; first < 30; ++first) {
    for (const TargetRow& row :
         chosen_by("batch_size: 8", kRegions, kTruth, {.seed = 1, .first_sample = first, .batch = 2})) {
      if (row.region >= 0) continue;
      items.insert(row.item);
      EXPECT_GE(row.box.xmin, 0);
      EXPECT_GE(row.box.width(), 31);
      EXPECT_LE(row.box.xmax, 99);
      EXPECT_LE(row.box.ymax, 79);
    }
  }
  EXPECT_EQ(items, (std::set<int32_t>{0, 1}));
  // A rank whose batch is smaller draws in its own images alone.
  for (const TargetRow& row : chosen_by("batch_size: 50", kRegions, kTruth, {.seed = 1, .batch = 1})) {
    EXPECT_TRUE(row.region >= 0 || row.item == 0);
  }
  // Where the truth covers all images, too.
  const std::vector<float> all{0, 0, 0, 99, 79, 1, 0, /**/ 1, 0, 0, 99, 79, 1, 0};
  EXPECT_EQ(chosen_by("batch_size: 6 fg_thr: 0.01 bg_thr_hg: 0.01", kRegions, all).size(), 6u);
}

TEST(RegionChoiceTest, OfTooManySomeAreDrawn) {
  std::vector<float> regions;
  for (int i = 0; i < 20; ++i) {
    regions.insert(regions.end(), {0, 10, 10, 19, 19});  // an object
    regions.insert(regions.end(), {0, 10, 10, 19, 12});  // background
  }
  std::map<int64_t, int> times;
  for (uint64_t first = 0; first < 200; ++first) {
    const std::vector<TargetRow> rows =
        chosen_by("batch_size: 8 fg_fraction: 0.5", regions, kTruth, {.seed = 3, .first_sample = first, .batch = 2});
    std::set<int64_t> different;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].label, i < 4 ? 2 : 0);
      different.insert(rows[i].region);
      ++times[rows[i].region];
    }
    EXPECT_EQ(different.size(), 8u);
  }
  EXPECT_EQ(times.size(), 41u);  // all of both, and the box of the truth
  for (const auto& [region, count] : times) {
    EXPECT_GT(count, 15) << region;
    EXPECT_LT(count, 75) << region;
  }
  const auto again = [&](uint64_t seed, uint64_t first) {
    return regions_of(chosen_by("batch_size: 8", regions, kTruth, {.seed = seed, .first_sample = first, .batch = 2}));
  };
  EXPECT_EQ(again(3, 4), again(3, 4));
  EXPECT_NE(again(3, 4), again(3, 5));
  EXPECT_NE(again(3, 4), again(4, 4));
}

TEST(RegionChoiceTest, WeightsOfObjectsAndOfTheBackground) {
  const auto weights_of = [](const std::string& param) {
    std::vector<float> weights;
    for (const TargetRow& row : chosen_by("batch_size: -1 bg_thr_lw: 0 fg_fraction: 0.25 " + param, kRegions, kTruth))
      weights.push_back(row.weight);
    return weights;
  };
  const std::vector<float> plain = weights_of(""), by_overlap = weights_of("iou_weighted: true");
  ASSERT_EQ(plain.size(), 5u);
  EXPECT_FLOAT_EQ(plain[0], 0.25f * 5 / 2);
  EXPECT_FLOAT_EQ(plain[4], 0.75f * 5 / 3);
  EXPECT_FLOAT_EQ(by_overlap[0], 0.8f * 0.25f * 5 / 1.8f);
  EXPECT_FLOAT_EQ(by_overlap[1], 0.25f * 5 / 1.8f);
}

TEST(RegionChoiceTest, WhatCannotBeIsAnError) {
  const auto cause_of = [](std::vector<float> regions, std::vector<float> truth) {
    return error_of([&] { chosen_by("batch_size: -1", regions, truth); }).cause();
  };
  EXPECT_EQ(cause_of({2, 0, 0, 5, 5}, kTruth), "region 0 is of item 2, but num_img_per_batch is 2");
  EXPECT_EQ(cause_of({NAN, 0, 0, 5, 5}, kTruth), "region 0 is of item nan, but num_img_per_batch is 2");
  EXPECT_EQ(cause_of(kRegions, {0, 1, 1, 2, 2, 0, 0}), "box of the truth 0 is of class 0");
  EXPECT_EQ(cause_of(kRegions, {0, 1, 1, 2, 2, 3, 0}), "box of the truth 0 is of class 3");
  EXPECT_EQ(cause_of(kRegions, {0, 1, INFINITY, 2, 2, 1, 0}), "a corner of box 0 of the truth is no finite number");
  // A region that went astray is left out.
  std::vector<float> astray = kRegions;
  astray[11] = -INFINITY;
  EXPECT_EQ(regions_of(chosen_by("batch_size: -1 bg_thr_lw: 0", astray, kTruth)), (std::vector<int64_t>{0, 5, 3, 4}));
}

// --- The layer ---

KernelCase targets(const std::string& param, const std::string& more = "", int tops = 7) {
  KernelCase what{
      {"name: 'targets' type: 'ProposalTarget' " + more + " proposal_target_param { " + kSize + param + " }"},
      {{5, 5, 1, 1}, {2, 7, 1, 1}}};
  what.tops = tops;
  what.bottom_values = [](int bottom, const Shape&) {
    const std::vector<float>& values = bottom == 0 ? kRegions : kTruth;
    return Array(values.begin(), values.end());
  };
  return what;
}

Arrays tops_of(const std::string& backend, const KernelCase& what) {
  const bool exact = backend == "reference";
  KernelHarness harness(what, {.backend = backend, .dtype = exact ? DType::kF64 : DType::kF32, .backward = false});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {})});
  EXPECT_EQ(harness.damage(), "");
  return harness.tops();
}

/// The elements of a row of a top.
Array row_of(const Array& top, size_t row, size_t width) {
  const auto at = top.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {at, at + static_cast<std::ptrdiff_t>(width)};
}

TEST(ProposalTargetTest, TopsOfObjectsAndOfTheBackground) {
  const std::string statistics =
      "bbox_reg_param { bbox_mean: 0 bbox_mean: 0.1 bbox_mean: 0 bbox_mean: 0 bbox_std: 1 bbox_std: 0.5 bbox_std: 1 "
      "bbox_std: 0.2 }";
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops = tops_of(backend, targets("batch_size: 8", statistics));
    EXPECT_EQ(row_of(tops[0], 0, 5), (Array{0, 10, 10, 19, 17}));
    EXPECT_EQ(row_of(tops[0], 1, 5), (Array{0, 10, 10, 19, 19})) << "a box of the truth is a region";
    EXPECT_EQ(row_of(tops[0], 4, 5), (Array{1, 10, 10, 19, 19}));
    EXPECT_EQ(tops[1], (Array{2, 2, 0, 0, 0, 0, 0, 0}));
    // From a region of 10 x 8 around (15, 14) to a box of 10 x 10 around (15, 15).
    const Array code{0, 0, 0, 0, 0, 0, 0, 0, 0, (1.0 / 8 - 0.1) / 0.5, 0, std::log(10.0 / 8) / 0.2};
    expect_near(row_of(tops[2], 0, 12), code, 1e-5, backend);
    EXPECT_EQ(row_of(tops[2], 2, 12), Array(12, 0.0));
    for (const size_t weights : {size_t{3}, size_t{4}}) {
      EXPECT_EQ(row_of(tops[weights], 0, 12), (Array{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
      EXPECT_EQ(row_of(tops[weights], 5, 12), Array(12, 0.0));
    }
    expect_near(row_of(tops[5], 0, 6), {2, 10, 10, 19, 19, 0.8}, 1e-5, backend);
    EXPECT_EQ(row_of(tops[5], 2, 6), Array(6, 0.0));
    expect_near(row_of(tops[6], 7, 1), {0.75 * 8 / 6}, 1e-5, backend);
  }
}

TEST(ProposalTargetTest, OneCodeForAllClassesAndFewerTops) {
  for (const char* backend : {"reference", "gpu"}) {
    const Arrays tops =
        tops_of(backend, targets("batch_size: 2 fg_fraction: 1", "bbox_reg_param { cls_aware: false }", 5));
    ASSERT_EQ(tops.size(), 5u);
    EXPECT_EQ(row_of(tops[3], 0, 8), (Array{0, 0, 0, 0, 1, 1, 1, 1}));
    expect_near(row_of(tops[2], 0, 8),
                {0, 0, 0, 0, 0, tops[0][4] == 17 ? 0.125 : 0, 0, tops[0][4] == 17 ? std::log(1.25) : 0}, 1e-5, backend);
  }
}

TEST(ProposalTargetTest, SinglePrecisionAndGpu) {
  for (const int tops : {5, 6, 7}) {
    const KernelCase what = targets("batch_size: 16 iou_weighted: true", "", tops);
    compare_with_reference("reference", what);
    compare_gpu_with_reference(what, 1e-5, {.dtype = DType::kF32});
  }
}

TEST(ProposalTargetTest, SettingsAndShapesThatCannotBe) {
  const auto refused = [](const std::string& param, const std::string& field,
                          const std::vector<Shape>& shapes = {{3, 5}, {2, 7}}) {
    KernelCase what{{"type: 'ProposalTarget' proposal_target_param { " + param + " }"}, shapes};
    what.tops = 6;
    expect_config_error(what, "", field);
  };
  const std::string path = "proposal_target_param.", size = "img_width: 64 img_height: 64 ", all = size + "cls_num: 2 ";
  refused(size, path + "cls_num");
  refused(all + "batch_size: 0", path + "batch_size");
  refused(all + "batch_size: -2", path + "batch_size");
  refused(all + "fg_fraction: 1.5", path + "fg_fraction");
  refused(all + "fg_fraction: nan", path + "fg_fraction");
  refused(all + "num_img_per_batch: 0", path + "num_img_per_batch");
  refused(all + "fg_thr: 0", path + "fg_thr");
  refused(all + "bg_thr_hg: 0.7", path + "bg_thr_hg");
  refused("cls_num: 2 img_height: 64", path + "img_width");
  refused("cls_num: 2 img_width: 64 img_height: 32", path + "img_height");
  refused(all, "bottom", {{3, 4}, {2, 7}});
  refused(all, "bottom", {{3, 5}, {2, 6}});
}

}  // namespace
}  // namespace robusta::test::proposal_target_test
