// DetectionEvaluate. What tests make of it: tests/solver/detection_score_test.cpp.

#include <gtest/gtest.h>

#include <cmath>

#include "layers/kit/reads_files.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/kernel_checks.h"

namespace robusta::test::detection_evaluate_test {
namespace {

std::string layer_of(const std::string& param) {
  return "type: 'DetectionEvaluate' detection_evaluate_param { " + param + " }";
}

KernelCase evaluation(const std::string& param, const Array& found, const Array& truth) {
  KernelCase what{
      {layer_of(param)},
      {{1, 1, static_cast<int64_t>(found.size()) / 7, 7}, {1, 1, static_cast<int64_t>(truth.size()) / 8, 8}}};
  what.bottom_values = [=](int bottom, const Shape&) { return bottom == 0 ? found : truth; };
  return what;
}

Array rows_of(const std::string& backend, const KernelCase& what, uint64_t first_sample = 0) {
  const DType type = backend == "reference" ? DType::kF64 : DType::kF32;
  Pass pass;
  pass.first_sample = first_sample;
  KernelHarness harness(what, {.backend = backend, .dtype = type, .backward = false, .pass = pass});
  harness.forward({what.bottom_values(0, {}), what.bottom_values(1, {})});
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

void expect_rows(const std::string& param, const Array& found, const Array& truth, const Array& want,
                 uint64_t first_sample = 0) {
  for (const char* backend : {"reference", "gpu"}) {
    const Array got = rows_of(backend, evaluation(param, found, truth), first_sample);
    ASSERT_EQ(got.size(), want.size()) << backend;
    expect_near(got, want, 1e-6, backend);
  }
}

/// Item 0: two boxes of class 1, of which the second is difficult; item 1: one of class 2.
const Array kTruth{0, 1, 0, 0,   0,   0.4, 0.4, 0,  //
                   0, 1, 1, 0.5, 0.5, 0.9, 0.9, 1,  //
                   1, 2, 0, 0.1, 0.1, 0.5, 0.5, 0};

TEST(DetectionEvaluateTest, RowsByHand) {
  const Array found{0, 1, 0.6, 0,   0,   0.4, 0.4,   // second, of a box that is taken then
                    0, 1, 0.9, 0,   0,   0.4, 0.35,  // the best: right
                    0, 1, 0.5, 0.5, 0.5, 0.9, 0.8,   // on the difficult one
                    0, 2, 0.8, 0,   0,   0.4, 0.4,   // nothing of class 2 is in item 0
                    1, 2, 0.7, 0.3, 0.3, 0.7, 0.7};  // overlaps by 1/7
  const std::string three = "num_classes: 3 ";
  expect_rows(three, found, kTruth, {-1, 1, 2,   -1, -1,  //
                                     -1, 2, 1,   -1, -1,  //
                                     0,  1, 0.9, 1,  0,   //
                                     0,  1, 0.6, 0,  1,   //
                                     0,  1, 0.5, 1,  0,   //
                                     0,  2, 0.8, 0,  1,   //
                                     1,  2, 0.7, 0,  1});
  expect_rows(three + "evaluate_difficult_gt: false overlap_threshold: 0.1", found, kTruth, {-1, 1, 1,   -1, -1,  //
                                                                                             -1, 2, 1,   -1, -1,  //
                                                                                             0,  1, 0.9, 1,  0,   //
                                                                                             0,  1, 0.6, 0,  1,   //
                                                                                             0,  1, 0.5, 0,  0,   //
                                                                                             0,  2, 0.8, 0,  1,   //
                                                                                             1,  2, 0.7, 1,  0});
  expect_rows("num_classes: 3 background_label_id: 9", {1, 2, 0.7, 0.1, 0.1, 0.5, 0.5}, kTruth,
              {-1, 0, 0, -1, -1, -1, 1, 2, -1, -1, -1, 2, 1, -1, -1, 1, 2, 0.7, 1, 0});
}

TEST(DetectionEvaluateTest, NothingFound) {
  const Array nothing{0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1};
  expect_rows("num_classes: 3", nothing, kTruth, {-1, 1, 2, -1, -1, -1, 2, 1, -1, -1});
  // Rows of item -1 fill up what has no truth.
  expect_rows("num_classes: 3", nothing, {-1, -1, -1, -1, -1, -1, -1, -1}, {-1, 1, 0, -1, -1, -1, 2, 0, -1, -1});
}

TEST(DetectionEvaluateTest, NumbersThatAreNone) {
  expect_rows("num_classes: 2", {0, 1, std::nan(""), 0, 0, 0.4, 0.4, 0, 1, 0.5, 0, 0, 0.4, 0.4},
              {0, 1, 0, 0, 0, 0.4, 0.4, 0}, {-1, 1, 1, -1, -1, 0, 1, 0.5, 1, 0, 0, 1, std::nan(""), 0, 1});
  expect_rows("num_classes: 2", {0, 1, 0.5, std::nan(""), 0, 0.4, 0.4}, {0, 1, 0, 0, 0, 0.4, 0.4, 0},
              {-1, 1, 1, -1, -1, 0, 1, 0.5, 0, 1});
}

/// In pixels a box of parts 0 .. 0.5 of 4 pixels reaches from 0 to the end of pixel 2; what is beyond the image goes.
TEST(DetectionEvaluateTest, PixelsOfTheOriginalImages) {
  const TempDir folder;
  write_file(folder / "sizes.txt", "a 100 50\nb 4 4\n\n");
  const std::string files = "num_classes: 2 name_size_file: '" + (folder / "sizes.txt") + "' ";
  const Array truth{0, 1, 0, 0, 0, 0.5, 0.5, 0};
  const auto expect_right = [&](const std::string& param, const Array& box, bool right, uint64_t sample) {
    Array found{0, 1, 0.5};
    found.insert(found.end(), box.begin(), box.end());
    const double yes = right ? 1 : 0;
    expect_rows(param, found, truth, {-1, 1, 1, -1, -1, 0, 1, 0.5, yes, 1 - yes}, sample);
  };
  // 3 x 3 pixels of 3 x 2: 2/3; of 50 x 26 they are half only.
  const Array half{0, 0, 0.5, 0.25};
  expect_right(files + "overlap_threshold: 0.6", half, true, 1);
  expect_right(files + "overlap_threshold: 0.6", half, false, 0);
  expect_right(files + "overlap_threshold: 0.6", half, true, 3);
  expect_right("num_classes: 2 overlap_threshold: 0.6", half, false, 1);
  // Image a lies in the middle of 100 x 100: parts 0.25 .. 0.75 of the width are all of it.
  const std::string pads =
      "resize_param { resize_mode: FIT_LARGE_SIZE_AND_PAD height: 100 width: 100 } overlap_threshold: 0.9";
  expect_right(files + pads, {0.25, 0, 0.5, 0.5}, true, 0);
  expect_right(files + pads, {0, 0, 0.4, 0.5}, false, 0);
  // Parts are of 40 x 40 then, and image b has 4 x 4.
  const std::string small =
      "resize_param { resize_mode: FIT_SMALL_SIZE height_scale: 40 width_scale: 40 } overlap_threshold: 0.9";
  expect_right(files + small, {0, 0, 0.2, 0.2}, true, 1);
  expect_right(files + small, {0, 0, 0.05, 0.05}, false, 1);
}

TEST(DetectionEvaluateTest, BadFilesOfSizes) {
  const TempDir folder;
  const auto error_with = [&](const std::string& text) {
    write_file(folder / "sizes.txt", text);
    const std::string param = "num_classes: 2 name_size_file: '" + (folder / "sizes.txt") + "'";
    return error_of([&] { KernelHarness(evaluation(param, Array(7), Array(8)), {.backward = false}); });
  };
  for (const char* line : {"b 3", "b 3 x", "b 3 -4", "b 3 4 5", "b 99999999999 4"}) {
    const Error error = error_with("a 3 4\n" + std::string(line) + "\n");
    EXPECT_EQ(error.kind(), ErrorKind::kData) << line;
    EXPECT_TRUE(error.location().ends_with("sizes.txt:2")) << error.location();
  }
  EXPECT_TRUE(contains(error_with("\n").what(), "it has no lines"));
  const Error absent = error_of([&] {
    KernelHarness(evaluation("num_classes: 2 name_size_file: 'nope'", Array(7), Array(8)), {.backward = false});
  });
  EXPECT_EQ(absent.kind(), ErrorKind::kData);
}

/// Where a net is planned or timed alone, sizes may be absent: then boxes are compared as without them.
TEST(DetectionEvaluateTest, SizesMayBeAbsentWhereNothingIsScored) {
  const std::string param = "num_classes: 2 name_size_file: 'nope'";
  const auto layer = make_layer(parse_layer(evaluation(param, Array(7), Array(8)).layers[0]));
  auto& reader = dynamic_cast<ReadsFiles&>(*layer);
  EXPECT_THROW(reader.read_files(false), Error);
  reader.read_files(true);
  EXPECT_NO_THROW(layer->infer_tops({Shape{1, 1, 1, 7}, Shape{1, 1, 1, 8}}));
}

TEST(DetectionEvaluateTest, BadRows) {
  const auto expect_bad = [](const Array& found, const Array& truth, const std::string& cause) {
    for (const char* backend : {"reference", "gpu"}) {
      const Error error = error_of([&] { rows_of(backend, evaluation("num_classes: 3", found, truth)); });
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_TRUE(contains(error.cause(), cause)) << backend;
    }
  };
  const Array good{0, 1, 0.5, 0, 0, 1, 1};
  expect_bad({0, 3, 0.5, 0, 0, 1, 1}, kTruth, "row 0 of bottom 0 is of item 0 and class 3, but there are 3 classes");
  expect_bad({0, 0, 0.5, 0, 0, 1, 1}, kTruth, "is of item 0 and class 0, but there are 3 classes, of which 0 is");
  expect_bad({-2, 1, 0.5, 0, 0, 1, 1}, kTruth, "row 0 of bottom 0 is of item -2");
  expect_bad({std::nan(""), 1, 0.5, 0, 0, 1, 1}, kTruth, "row 0 of bottom 0 is of item nan");
  expect_bad(good, {0, 3, 0, 0, 0, 1, 1, 0}, "row 0 of bottom 1 is of class 3, but classes are 0..2");
  expect_bad(good, {0, 1, 0, 0, 0, 1, std::nan(""), 0}, "row 0 of bottom 1 has the corners 0 0 1 nan");
}

TEST(DetectionEvaluateTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(evaluation(param, Array(7), Array(8)), cause, "detection_evaluate_param." + field);
  };
  expect_refused("", "no num_classes is given", "num_classes");
  expect_refused("num_classes: 1", "num_classes is 1, which is the background", "num_classes");
  expect_refused("num_classes: 2 overlap_threshold: 0", "overlap_threshold is 0", "overlap_threshold");
  expect_refused("num_classes: 2 overlap_threshold: nan", "overlap_threshold is nan", "overlap_threshold");
  expect_refused("num_classes: 2 resize_param { resize_mode: FIT_LARGE_SIZE_AND_PAD }", "height is 0 and width 0",
                 "resize_param");
  expect_config_error({{layer_of("num_classes: 2")}, {{1, 1, 7, 1}, {1, 1, 1, 8}}}, "bottom 0 has shape 1 1 7 1 (7)",
                      "bottom");
  expect_config_error({{layer_of("num_classes: 2")}, {{1, 1, 1, 7}, {1, 1, 1, 7}}}, "bottom 1 has shape 1 1 1 7 (7)",
                      "bottom");
}

}  // namespace
}  // namespace robusta::test::detection_evaluate_test
