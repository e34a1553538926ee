// Distortions and noise, one by one, against numbers worked out by hand.

#include "data/transform/noise.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "data/transform/distortion.h"
#include "data/transform/draws.h"
#include "robusta/error.h"
#include "sample_db.h"

namespace robusta::noise_test {
namespace {

template <typename Message>
Message parse(const std::string& text) {
  Message param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

Noise noise(const std::string& text) { return Noise(parse<caffe::NoiseParameter>(text)); }
Distortion distortion(const std::string& text) { return Distortion(parse<caffe::DistortionParameter>(text)); }

Image gray(int64_t height, int64_t width, std::vector<uint8_t> pixels) {
  Image image;
  image.extent = {1, height, width};
  image.planes = std::move(pixels);
  return image;
}

Image pixel(std::vector<uint8_t> channels) {
  Image image;
  image.extent = {static_cast<int64_t>(channels.size()), 1, 1};
  image.planes = std::move(channels);
  return image;
}

template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInternal, "");
}

using Bytes = std::vector<uint8_t>;

using Color = std::array<int, 3>;

Color color_of(const Image& image) { return {image.planes[0], image.planes[1], image.planes[2]}; }

TEST(DistortionTest, Brightness) {
  Image image = gray(1, 4, {0, 100, 200, 255});
  adjust_brightness(image, 20.6f);
  EXPECT_EQ(image.planes, (Bytes{21, 121, 221, 255}));
  adjust_brightness(image, -50);
  EXPECT_EQ(image.planes, (Bytes{0, 71, 171, 205}));
}

TEST(DistortionTest, Contrast) {
  Image image = gray(1, 4, {0, 101, 200, 3});
  adjust_contrast(image, 0.5f);
  EXPECT_EQ(image.planes, (Bytes{0, 50, 100, 2})) << "50.5 and 1.5 go to the even one";
  adjust_contrast(image, 3);
  EXPECT_EQ(image.planes, (Bytes{0, 150, 255, 6}));
}

TEST(DistortionTest, SaturationAndHue) {
  Image image = pixel({100, 150, 200});  // hue 15, saturation 128, value 200
  adjust_saturation(image, 0);
  EXPECT_EQ(image.planes, (Bytes{200, 200, 200}));
  image = pixel({0, 0, 255});
  adjust_hue(image, 60);
  EXPECT_EQ(image.planes, (Bytes{0, 255, 0}));
  adjust_hue(image, -70);
  EXPECT_EQ(image.planes, (Bytes{0, 0, 255})) << "stops at 0, as in SSD";
  image = pixel({255, 0, 0});
  adjust_hue(image, 60);
  EXPECT_EQ(image.planes, (Bytes{0, 0, 255})) << "goes round at 180";
}

TEST(DistortionTest, EachChangeComesAsOftenAsItsProbabilitySays) {
  const Distortion changes = distortion("brightness_prob: 0.25 brightness_delta: 32");
  int changed = 0;
  double sum = 0;
  for (uint64_t p = 0; p < 4000; ++p) {
    Image image = gray(1, 1, {100});
    PhiloxStream draws = draws_of(7, p, DrawnFor::kDistortion);
    changes.apply(image, draws);
    const int value = image.planes[0];
    changed += value != 100;
    sum += value;
    EXPECT_GE(value, 68);
    EXPECT_LE(value, 132);
  }
  EXPECT_NEAR(changed, 985, 110);
  EXPECT_NEAR(sum / 4000, 100, 1);
}

TEST(DistortionTest, ColorsInEveryOrder) {
  const Distortion changes = distortion("random_order_prob: 1");
  std::map<Color, int> orders;
  for (uint64_t p = 0; p < 3000; ++p) {
    Image image = pixel({1, 2, 3});
    PhiloxStream draws = draws_of(7, p, DrawnFor::kDistortion);
    changes.apply(image, draws);
    ++orders[color_of(image)];
  }
  ASSERT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 500, 110);
}

TEST(DistortionTest, ContrastComesBeforeOrAfterTheColors) {
  const Distortion changes = distortion(
      "contrast_prob: 1 contrast_lower: 3 contrast_upper: 3 saturation_prob: 1 saturation_lower: 2 saturation_upper: "
      "2");
  std::map<Color, int> results;
  for (uint64_t p = 0; p < 400; ++p) {
    Image image = pixel({100, 50, 50});
    PhiloxStream draws = draws_of(7, p, DrawnFor::kDistortion);
    changes.apply(image, draws);
    ++results[color_of(image)];
  }
  ASSERT_EQ(results.size(), 2u);
  // First: 255, 150, 150, whose saturation of 105 becomes 210. Last: the saturation is 255, of a value of 100.
  EXPECT_NEAR((results[{255, 45, 45}]), 200, 50);
  EXPECT_NEAR((results[{255, 0, 0}]), 200, 50);
}

TEST(DistortionTest, GreyImagesHaveNoHue) {
  const Distortion changes = distortion("hue_prob: 1 hue_delta: 18");
  Image image = gray(1, 1, {3});
  PhiloxStream draws(1);
  EXPECT_EQ(error_of([&] { changes.apply(image, draws); }).kind(), ErrorKind::kData);
}

TEST(DistortionTest, SettingsThatCannotBe) {
  const auto field = [](const std::string& text) { return error_of([&] { distortion(text); }).field(); };
  const std::string path = "transform_param.distort_param.";
  EXPECT_EQ(field("brightness_prob: 1.5"), path + "brightness_prob");
  EXPECT_EQ(field("hue_prob: nan"), path + "hue_prob");
  EXPECT_EQ(field("brightness_delta: -3"), path + "brightness_delta");
  EXPECT_EQ(field("contrast_lower: 1.5 contrast_upper: 0.5"), path + "contrast_upper");
  EXPECT_EQ(field("saturation_upper: inf"), path + "saturation_upper");
}

TEST(NoiseTest, ErodesByTheLeastOfTheNeighbours) {
  Image image = gray(3, 3, {9, 9, 9, 9, 5, 9, 9, 9, 7});
  erode(image);
  EXPECT_EQ(image.planes, (Bytes{9, 5, 9, 5, 5, 5, 9, 5, 7}));
}

TEST(NoiseTest, PosterisesAndInverts) {
  Image image = gray(1, 5, {0, 63, 64, 200, 255});
  posterise(image);
  EXPECT_EQ(image.planes, (Bytes{32, 32, 96, 224, 224}));
  invert(image);
  EXPECT_EQ(image.planes, (Bytes{223, 223, 159, 31, 31}));
}

TEST(NoiseTest, BlursByAGaussian) {
  // A single bright column; its weights are exp(-d^2 / 4.5) / 3.6943 for distances 0 to 3: 0.2707, 0.2167, 0.1112,
  // 0.0366.
  Image image = gray(1, 9, {0, 0, 0, 0, 200, 0, 0, 0, 0});
  blur(image);
  EXPECT_EQ(image.planes, (Bytes{0, 7, 22, 43, 54, 43, 22, 7, 0}));
}

TEST(NoiseTest, EqualisesByTheFrequencies) {
  // Frequencies 2, 1, 1: the darkest becomes 0, the others 255 * 1 / 2 and 255 * 2 / 2.
  Image image = gray(1, 4, {10, 10, 12, 90});
  equalise(image);
  EXPECT_EQ(image.planes, (Bytes{0, 0, 128, 255}));
  image = gray(1, 3, {7, 7, 7});
  equalise(image);
  EXPECT_EQ(image.planes, (Bytes{7, 7, 7}));
}

TEST(NoiseTest, EqualisesTilesOfAnySize) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{16, 16}, {1, 1}, {3, 50}, {17, 9}}) {
    Image image = test::random_image({1, height, width}, 3);
    equalise_tiles(image);
    EXPECT_EQ(image.planes.size(), static_cast<size_t>(height * width));
  }
  // One shade in a tile of 2 x 2: the limit is 1, the 3 cut off are spread over the bins 0, 85 and 170; up to bin 100
  // there are 3 of 4.
  Image even = gray(16, 16, Bytes(256, 100));
  equalise_tiles(even);
  EXPECT_EQ(even.planes, Bytes(256, 191));
}

TEST(NoiseTest, Dots) {
  Image image = gray(20, 10, Bytes(200, 50));
  PhiloxStream draws(3);
  noise("saltpepper: true saltpepper_param { fraction: 0.1 value: 255 }").apply(image, draws);
  const auto dots = std::ranges::count(image.planes, 255);
  EXPECT_GT(dots, 12);
  EXPECT_LE(dots, 20) << "20 dots, some on each other";
  EXPECT_EQ(dots + std::ranges::count(image.planes, 50), 200);
}

TEST(NoiseTest, PartsInTheOrderOfSsd) {
  Image image = pixel({100, 150, 200});
  PhiloxStream draws(3);
  noise("decolorize: true posterize: true inverse: true").apply(image, draws);
  EXPECT_EQ(image.planes, (Bytes{95, 95, 95}));  // 159, then 160, then 255 - 160
  image = pixel({255, 0, 0});
  noise("convert_to_hsv: true inverse: true").apply(image, draws);
  EXPECT_EQ(image.planes, (Bytes{30, 255, 255})) << "the negative of blue is yellow, of hue 30";
}

TEST(NoiseTest, CompressesAndComesBack) {
  const Image before = test::random_image({3, 16, 24}, 5);
  Image image = before;
  PhiloxStream draws(3);
  noise("jpeg: 10").apply(image, draws);
  EXPECT_EQ(image.extent, before.extent);
  EXPECT_NE(image.planes, before.planes);
}

TEST(NoiseTest, ComesAsOftenAsItsProbabilitySays) {
  const auto times = [](const std::string& text) {
    int count = 0;
    for (uint64_t p = 0; p < 1000; ++p) {
      Image image = gray(1, 1, {10});
      PhiloxStream draws = draws_of(1, p, DrawnFor::kNoise);
      noise(text).apply(image, draws);
      count += image.planes[0] == 245;
    }
    return count;
  };
  EXPECT_EQ(times("inverse: true"), 1000) << "SSD does not look at prob";
  EXPECT_NEAR(times("inverse: true prob: 0.3"), 300, 60);
  EXPECT_EQ(times("inverse: true prob: 0"), 0);
}

TEST(NoiseTest, SettingsThatCannotBe) {
  const auto field = [](const std::string& text) { return error_of([&] { noise(text); }).field(); };
  const std::string path = "transform_param.noise_param.";
  EXPECT_EQ(field("prob: 2"), path + "prob");
  EXPECT_EQ(field("jpeg: 101"), path + "jpeg");
  EXPECT_EQ(field("saltpepper: true saltpepper_param { fraction: 0.1 }"), path + "saltpepper_param.value");
  EXPECT_EQ(field("saltpepper: true saltpepper_param { fraction: 1e9 value: 1 }"), path + "saltpepper_param.fraction");
  EXPECT_EQ(error_of([] { noise("convert_to_lab: true"); }).kind(), ErrorKind::kUnsupported);
  Image image = pixel({1, 2});
  PhiloxStream draws(1);
  EXPECT_EQ(error_of([&] { noise("hist_eq: true").apply(image, draws); }).kind(), ErrorKind::kData);
}

}  // namespace
}  // namespace robusta::noise_test
