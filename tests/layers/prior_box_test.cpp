// PriorBox.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "support/errors.h"
#include "support/kernel_checks.h"

namespace robusta::test::prior_box_test {
namespace {

KernelCase prior_box(const std::string& param, const Shape& features, const Shape& image = {1, 3, 300, 300}) {
  return {{"type: 'PriorBox' prior_box_param { " + param + " }"}, {features, image}};
}

Array boxes_of(const std::string& backend, const KernelCase& what) {
  KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
  Arrays bottoms;
  for (const Shape& shape : what.bottoms) bottoms.push_back(Array(static_cast<size_t>(shape.count()), 0.0));
  harness.forward(bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops()[0];
}

TEST(PriorBoxTest, ShapesAndOrderOfBoxes) {
  const auto boxes_at_a_pixel = [](const std::string& param) {
    return KernelHarness(prior_box(param, {1, 8, 1, 1}), {}).top_shapes()[0][2] / 4;
  };
  EXPECT_EQ(KernelHarness(prior_box("min_size: 30", {2, 8, 5, 7}), {}).top_shapes()[0], (Shape{1, 2, 5 * 7 * 4}));
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30"), 1);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 max_size: 60"), 2);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 max_size: 60 aspect_ratio: 2"), 4);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 max_size: 60 aspect_ratio: 2 aspect_ratio: 3"), 6);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 max_size: 60 aspect_ratio: 2 aspect_ratio: 3 flip: false"), 4);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 min_size: 40 aspect_ratio: 2"), 6);
  EXPECT_EQ(boxes_at_a_pixel("min_size: 30 aspect_ratio: 1 aspect_ratio: 2 aspect_ratio: 2 aspect_ratio: 0.5"), 3);
  for (const char* backend : {"reference", "gpu"}) {
    // Around (50, 50) of 100 x 100 pixels: a square of 40, one of sqrt(40 x 90) = 60, 80 x 20, 20 x 80.
    const Array got =
        boxes_of(backend, prior_box("min_size: 40 max_size: 90 aspect_ratio: 4", {1, 1, 1, 1}, {1, 3, 100, 100}));
    const Array want{0.3, 0.3, 0.7, 0.7, 0.2, 0.2, 0.8, 0.8, 0.1, 0.4, 0.9, 0.6, 0.4, 0.1, 0.6, 0.9};
    ASSERT_EQ(got.size(), 32u);
    expect_near(Array(got.begin(), got.begin() + 16), want, 1e-6, backend);
    expect_near(Array(got.begin() + 16, got.end()), Array(16, 0.1), 1e-6, backend);
  }
}

TEST(PriorBoxTest, PlacesOfBoxes) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto first_of = [&](const std::string& param, size_t box) {
      // 2 rows and 4 columns over an image of 100 rows and 200 columns.
      const Array all = boxes_of(backend, prior_box(param, {1, 1, 2, 4}, {1, 3, 100, 200}));
      return Array(all.begin() + static_cast<int64_t>(box) * 4, all.begin() + static_cast<int64_t>(box) * 4 + 4);
    };
    // Middles at 25, 75, 125, 175 and at 25, 75.
    expect_near(first_of("min_size: 20", 0), {0.075, 0.15, 0.175, 0.35}, 1e-6, backend);
    expect_near(first_of("min_size: 20", 7), {0.825, 0.65, 0.925, 0.85}, 1e-6, backend);
    expect_near(first_of("min_size: 20.9", 0), {0.075, 0.15, 0.175, 0.35}, 1e-6, backend);
    expect_near(first_of("min_size: 20 offset: 0", 0), {-0.05, -0.1, 0.05, 0.1}, 1e-6, backend);
    expect_near(first_of("min_size: 20 offset: 0 clip: true", 0), {0, 0, 0.05, 0.1}, 1e-6, backend);
    expect_near(first_of("min_size: 20 step: 16", 5), {0.07, 0.14, 0.17, 0.34}, 1e-6, backend);
    expect_near(first_of("min_size: 20 step_h: 16 step_w: 32", 5), {0.19, 0.14, 0.29, 0.34}, 1e-6, backend);
    expect_near(first_of("min_size: 20 img_size: 400", 0), {0.1, 0.225, 0.15, 0.275}, 1e-6, backend);
    expect_near(first_of("min_size: 20 img_h: 400 img_w: 200", 0), {0.075, 0.225, 0.175, 0.275}, 1e-6, backend);
  }
}

TEST(PriorBoxTest, AsTensorFlowHasThem) {
  const auto boxes = [](const std::string& backend, const std::string& param) {
    const Array all = boxes_of(backend, prior_box(param, {1, 1, 1, 1}, {1, 3, 100, 200}));
    return Array(all.begin(), all.begin() + static_cast<int64_t>(all.size() / 2));
  };
  for (const char* backend : {"reference", "gpu"}) {
    // Around (100, 50): a square of 40, 80 x 20, 20 x 80, and then one of sqrt(40 x 90) = 60.
    const std::string four = "min_size: 40 max_size: 90 aspect_ratio: 4 ";
    const Array want{0.4, 0.3, 0.6, 0.7, 0.3, 0.4, 0.7, 0.6, 0.45, 0.1, 0.55, 0.9, 0.35, 0.2, 0.65, 0.8};
    expect_near(boxes(backend, four + "tf: true"), want, 1e-6, backend);
    Array rows_first;
    for (size_t i = 0; i < want.size(); i += 2) rows_first.insert(rows_first.end(), {want[i + 1], want[i]});
    expect_near(boxes(backend, four + "tf: true yx_order: true"), rows_first, 1e-6, backend);
    expect_near(boxes(backend, "min_size: 60 aspect_ratio: 4 flip: false tf: true"),
                {0.4, 0.25, 0.6, 0.75, 0.2, 0.35, 0.8, 0.65}, 1e-6, backend);
    expect_near(boxes(backend, "min_size: 60"), {0.35, 0.2, 0.65, 0.8}, 1e-6, backend);
  }
}

TEST(PriorBoxTest, Variances) {
  for (const char* backend : {"reference", "gpu"}) {
    const auto of = [&](const std::string& param) {
      const Array all = boxes_of(backend, prior_box("min_size: 30 " + param, {1, 1, 1, 2}));
      return Array(all.begin() + 8, all.end());
    };
    expect_near(of(""), Array(8, 0.1), 1e-6, backend);
    expect_near(of("variance: 0.5"), Array(8, 0.5), 1e-6, backend);
    const std::string four = "variance: 0.1 variance: 0.2 variance: 0.3 variance: 0.4";
    expect_near(of(four), {0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.4}, 1e-6, backend);
  }
}

TEST(PriorBoxTest, KernelsAgree) {
  const std::string all =
      "min_size: 30 min_size: 45 max_size: 60 max_size: 99 aspect_ratio: 2 aspect_ratio: 3 clip: true";
  for (const KernelCase& c :
       {prior_box(all, {2, 8, 38, 50}), prior_box("min_size: 7 step: 8", {1, 1, 3, 5}, {1, 1, 24, 40})}) {
    compare_with_reference("reference", c);
    compare_gpu_with_reference(c);
  }
}

TEST(PriorBoxTest, OneBottomIsEnoughWithASize) {
  KernelCase what = prior_box("min_size: 30 img_size: 300", {1, 8, 5, 7});
  what.bottoms.pop_back();
  EXPECT_EQ(KernelHarness(what, {}).top_shapes()[0], (Shape{1, 2, 5 * 7 * 4}));
  what.layers = {"type: 'PriorBox' prior_box_param { min_size: 30 }"};
  expect_config_error(what, "there is no second bottom and no img_size", "prior_box_param.img_size");
}

TEST(PriorBoxTest, HasNoGradient) {
  const KernelHarness harness(prior_box("min_size: 30", {1, 8, 5, 7}), {});
  EXPECT_FALSE(harness.wants_bottom(0));
  EXPECT_FALSE(harness.wants_bottom(1));
}

/// A set of all ratios, not each compared with each.
TEST(PriorBoxTest, ManyRatiosTakeLittleTime) {
  caffe::LayerParameter layer = parse_layer("type: 'PriorBox' prior_box_param { min_size: 30 img_size: 300 }");
  for (int i = 0; i < 100000; ++i) layer.mutable_prior_box_param()->add_aspect_ratio(2 + static_cast<float>(i) / 1000);
  const auto begin = std::chrono::steady_clock::now();
  const auto made = make_layer(layer);
  EXPECT_EQ(made->infer_tops({{1, 1, 1, 1}})[0], (Shape{1, 2, 200001 * 4}));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 10);
}

TEST(PriorBoxTest, Errors) {
  const auto expect_refused = [](const std::string& param, const std::string& cause, const std::string& field) {
    expect_config_error(prior_box(param, {1, 8, 5, 7}), cause, "prior_box_param." + field);
  };
  expect_refused("", "no min_size is given", "min_size");
  expect_refused("min_size: 0", "min_size is 0", "min_size");
  expect_refused("min_size: 0.9", "min_size is 0.9", "min_size");
  expect_refused("min_size: nan", "min_size is nan", "min_size");
  expect_refused("min_size: 1e20", "min_size is 1e+20", "min_size");
  expect_refused("min_size: 30 max_size: 30", "max_size 30 is not above min_size 30", "max_size");
  expect_refused("min_size: 30 max_size: inf", "max_size is inf", "max_size");
  expect_refused("min_size: 30 min_size: 40 max_size: 60", "there are 1 max_size and 2 min_size", "max_size");
  expect_refused("min_size: 30 aspect_ratio: -2", "aspect_ratio is -2", "aspect_ratio");
  expect_refused("min_size: 30 variance: 0.1 variance: 0.2", "there are 2 values of variance", "variance");
  expect_refused("min_size: 30 variance: 0", "variance is 0", "variance");
  expect_refused("min_size: 30 img_size: 0", "img_size is 0", "img_size");
  expect_refused("min_size: 30 img_h: 300", "img_w is 0", "img_w");
  expect_refused("min_size: 30 img_size: 300 img_w: 300", "both img_size and img_w are given", "img_size");
  expect_refused("min_size: 30 step: 8 step_h: 8", "both step and step_h are given", "step");
  expect_refused("min_size: 30 step_w: 8", "step_h is 0", "step_h");
  expect_refused("min_size: 30 step: -8", "step is -8", "step");
  expect_refused("min_size: 30 offset: nan", "offset is nan", "offset");
  expect_config_error(prior_box("min_size: 30", {1, 8, 5}), "bottom 0 has shape 1 8 5", "bottom");
  expect_config_error(prior_box("min_size: 30", {1, 8, 5, 5}, {1, 3}), "bottom 1 has shape 1 3", "bottom");
  expect_config_error(prior_box("min_size: 30", {1, 1, 2147483647, 2147483647}), "impossible shape");
}

}  // namespace
}  // namespace robusta::test::prior_box_test
