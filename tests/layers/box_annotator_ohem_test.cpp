// BoxAnnotatorOHEM.

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::box_annotator_ohem_test {
namespace {

std::string layer_of(const std::string& param) {
  return "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { " + param + " }";
}

/// Regions of these items, with their losses, labels and two weights each.
struct Examples {
  Array items, losses, labels, weights;

  KernelCase with(const std::string& param) const {
    const auto n = static_cast<int64_t>(items.size());
    KernelCase what{{layer_of(param)}, {{n, 5}, {n}, {n, 1}, {n, 2}}};
    what.tops = 2;
    what.bottom_values = [bottoms = bottoms()](int bottom, const Shape&) {
      return bottoms[static_cast<size_t>(bottom)];
    };
    return what;
  }
  Arrays bottoms() const {
    Array regions;
    for (const double item : items) regions.insert(regions.end(), {item, 0, 0, 9, 9});
    return {regions, losses, labels, weights};
  }
};

const Examples kExamples{
    {0, 0, 1, 0, 1, 0}, {0.5, 2, 3, 2, 0.1, 1}, {1, 2, 3, 4, 5, 6}, {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5}};

TEST(BoxAnnotatorOhemTest, KeepsTheHardestOfEachImage) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto tops_of = [&](const Examples& examples, const std::string& param) {
      KernelHarness harness(examples.with(param), {.backend = backend, .dtype = DType::kF32});
      harness.forward(examples.bottoms());
      EXPECT_EQ(harness.damage(), "");
      return harness.tops();
    };
    const Arrays two = tops_of(kExamples, "roi_per_img: 2");
    EXPECT_EQ(two[0], (Array{-1, 2, 3, 4, 5, -1})) << backend;
    EXPECT_EQ(two[1], (Array{0, 0, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 0, 0})) << backend;
    EXPECT_EQ(tops_of(kExamples, "roi_per_img: 1 ignore_label: 255")[0], (Array{255, 2, 3, 255, 255, 255})) << backend;
    EXPECT_EQ(tops_of(kExamples, "roi_per_img: 9")[0], kExamples.labels) << backend;
    Examples broken = kExamples;
    broken.losses[0] = std::nan("");
    EXPECT_EQ(tops_of(broken, "roi_per_img: 1")[0], (Array{1, -1, 3, -1, -1, -1})) << backend;
  }
}

/// Regions [2, 5, 1, 2]: each number of a region for both places.
TEST(BoxAnnotatorOhemTest, PlacesOfRegions) {
  for (const char* backend : {"reference", "gpu"}) {
    KernelCase what{{layer_of("roi_per_img: 1")}, {{2, 5, 1, 2}, {2, 1, 1, 2}, {2, 1, 1, 2}, {2, 2, 1, 2}}};
    what.tops = 2;
    KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
    const Array regions{0, 1, 7, 7, 7, 7, 7, 7, 7, 7, 0, 1, 7, 7, 7, 7, 7, 7, 7, 7};
    harness.forward({regions, {1, 2, 3, 1}, {11, 12, 13, 14}, {1, 2, 3, 4, 5, 6, 7, 8}});
    EXPECT_EQ(harness.top_shapes()[0], (Shape{2, 1, 1, 2}));
    EXPECT_EQ(harness.tops()[0], (Array{-1, 12, 13, -1})) << backend;
    EXPECT_EQ(harness.tops()[1], (Array{0, 2, 0, 4, 5, 0, 7, 0})) << backend;
  }
}

TEST(BoxAnnotatorOhemTest, KernelsAgree) {
  Examples many;
  for (int i = 0; i < 700; ++i) {
    many.items.push_back(i * 7 % 3);
    many.losses.push_back(static_cast<float>(i * 37 % 101));
    many.labels.push_back(i % 21);
    many.weights.insert(many.weights.end(), {1, 0});
  }
  const KernelCase what = many.with("roi_per_img: 128");
  compare_with_reference("reference", what);
  compare_gpu_with_reference(what);
}

TEST(BoxAnnotatorOhemTest, HasNoGradient) {
  const KernelHarness harness(kExamples.with("roi_per_img: 1"), {});
  for (size_t bottom = 0; bottom < 4; ++bottom) EXPECT_FALSE(harness.wants_bottom(bottom));
}

TEST(BoxAnnotatorOhemTest, BadItems) {
  for (const char* backend : {"reference", "gpu"}) {
    for (const double item : {-1.0, 1e30, std::nan("")}) {
      Examples bad = kExamples;
      bad.items[4] = item, bad.items[5] = -7;
      KernelHarness harness(bad.with("roi_per_img: 1"), {.backend = backend, .dtype = DType::kF32});
      const Error error = error_of([&] { harness.forward(bad.bottoms()); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
      EXPECT_TRUE(contains(error.cause(), "region 4 lies in item ")) << error.cause();
    }
  }
}

TEST(BoxAnnotatorOhemTest, Errors) {
  const auto expect_refused = [](const std::vector<Shape>& bottoms, const std::string& cause) {
    KernelCase what{{layer_of("roi_per_img: 2")}, bottoms};
    what.tops = 2;
    expect_config_error(what, cause, "bottom");
  };
  expect_refused({{6, 4}, {6}, {6}, {6, 2}}, "bottom 0 has shape 6 4 (24)");
  expect_refused({{6, 5}, {5}, {6}, {6, 2}},
                 "bottom 1 has shape 5 (5), but there are 6 regions, each of which has a loss");
  expect_refused({{6, 5}, {6}, {6, 2}, {6, 2}}, "bottom 2 has shape 6 2 (12)");
  expect_refused({{6, 5}, {6}, {6}, {12}}, "bottom 3 has shape 12 (12)");
  expect_refused({{6, 5}, {6}, {6}, {5, 2}}, "bottom 3 has shape 5 2 (10)");
  const std::string field = "box_annotator_ohem_param.roi_per_img";
  KernelCase what = kExamples.with("");
  expect_config_error(what, "no roi_per_img is given", field);
  expect_config_error(kExamples.with("roi_per_img: 0"), "roi_per_img is 0", field);
}

}  // namespace
}  // namespace robusta::test::box_annotator_ohem_test
