// Interpolations, canvases and colours, against numbers worked out by hand.

#include "data/transform/resample.h"

#include <gtest/gtest.h>

#include "data/transform/color.h"
#include "data/transform/image_step.h"

namespace robusta::resample_test {
namespace {

/// One plane.
Image gray_image(int64_t height, int64_t width, const std::vector<int>& pixels) {
  Image image;
  image.reset({1, height, width});
  for (size_t i = 0; i < pixels.size(); ++i) image.planes[i] = static_cast<uint8_t>(pixels[i]);
  return image;
}

std::vector<int> resized(const Image& image, int64_t height, int64_t width, Interpolation interpolation) {
  Image to;
  resize_image(image.pixels(), height, width, interpolation, to);
  return {to.planes.begin(), to.planes.end()};
}

using Bytes = std::vector<int>;

TEST(ResampleTest, NearestTakesThatAtOrBefore) {
  const Image row = gray_image(1, 5, {10, 20, 30, 40, 50});
  EXPECT_EQ(resized(row, 1, 2, Interpolation::kNearest), (Bytes{10, 30}));  // 0 and 2.5
  EXPECT_EQ(resized(row, 1, 10, Interpolation::kNearest), (Bytes{10, 10, 20, 20, 30, 30, 40, 40, 50, 50}));
}

TEST(ResampleTest, AreaIsTheMeanOfWhatIsCovered) {
  EXPECT_EQ(resized(gray_image(2, 4, {0, 10, 20, 30, 40, 50, 60, 71}), 1, 2, Interpolation::kArea),
            (Bytes{25, 45}));  // of four each: 25 and 45.25
  // 5 to 2: the middle pixel is half in each.
  EXPECT_EQ(resized(gray_image(1, 5, {10, 20, 30, 40, 50}), 1, 2, Interpolation::kArea), (Bytes{18, 42}));
}

TEST(ResampleTest, AreaMadeLargerMixesAcrossSeamsAlone) {
  // 2 to 3: the middle of three has half of both.
  EXPECT_EQ(resized(gray_image(1, 2, {10, 30}), 1, 3, Interpolation::kArea), (Bytes{10, 20, 30}));
  EXPECT_EQ(resized(gray_image(1, 2, {10, 30}), 1, 4, Interpolation::kArea), (Bytes{10, 10, 30, 30}));
}

TEST(ResampleTest, CubicOvershootsAtAnEdge) {
  // Twice as wide: places -0.25, 0.25, ... The weights at t = 0.25 are -0.10546875, 0.87890625, 0.26171875,
  // -0.03515625.
  const Bytes got = resized(gray_image(1, 4, {100, 100, 200, 200}), 1, 8, Interpolation::kCubic);
  EXPECT_EQ(got, (Bytes{100, 96, 89, 123, 177, 211, 204, 200}));
  // 96.48 = 103.515625 - 7.03125; 89.45 = 110.546875 - 21.09375; 122.66 = 77.34375 + 45.3125; and so on from the right.
}

TEST(ResampleTest, EvenPlanesStayEven) {
  for (const auto interpolation : {Interpolation::kLinear, Interpolation::kNearest, Interpolation::kArea,
                                   Interpolation::kCubic, Interpolation::kLanczos}) {
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{3, 4}, {1, 1}, {9, 11}, {2, 17}, {7, 5}}) {
      EXPECT_EQ(resized(gray_image(7, 5, Bytes(35, 77)), height, width, interpolation),
                Bytes(static_cast<size_t>(height * width), 77));
    }
  }
}

TEST(ResampleTest, LanczosKeepsPixelsWherePlacesFallOnThem) {
  // 9 to 3: places 1, 4, 7.
  EXPECT_EQ(resized(gray_image(1, 9, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 1, 3, Interpolation::kLanczos), (Bytes{2, 5, 8}));
}

ImageStep padded_step(Surroundings around) {
  return {.rect = {1, 2, 2, 3}, .height = 4, .width = 6, .around = around, .fill = {9}};
}

Bytes on_canvas(Surroundings around) {
  Image memory, to;
  take_step(padded_step(around), gray_image(2, 3, {1, 2, 3, 4, 5, 6}).pixels(), memory, to);
  return {to.planes.begin(), to.planes.end()};
}

TEST(ImageStepTest, Surroundings) {
  EXPECT_EQ(on_canvas(Surroundings::kConstant),
            (Bytes{9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(on_canvas(Surroundings::kRepeated),
            (Bytes{1, 1, 1, 2, 3, 3, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6, 4, 4, 4, 5, 6, 6}));
  EXPECT_EQ(on_canvas(Surroundings::kMirrored),
            (Bytes{6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2}));
}

TEST(ImageStepTest, Cuts) {
  Image memory, to;
  take_step({.kind = ImageStep::Kind::kCut, .rect = {1, 1, 1, 2}, .height = 1, .width = 2},
            gray_image(2, 3, {1, 2, 3, 4, 5, 6}).pixels(), memory, to);
  EXPECT_EQ(to.planes, (std::vector<uint8_t>{5, 6}));
}

/// One pixel.
Image color(int b, int g, int r) {
  Image image;
  image.reset({3, 1, 1});
  image.planes = {static_cast<uint8_t>(b), static_cast<uint8_t>(g), static_cast<uint8_t>(r)};
  return image;
}

Bytes through(void (*change)(Image&), Image image) {
  change(image);
  return {image.planes.begin(), image.planes.end()};
}

TEST(ColorTest, Hsv) {
  EXPECT_EQ(through(to_hsv, color(255, 0, 0)), (Bytes{120, 255, 255}));
  EXPECT_EQ(through(to_hsv, color(0, 255, 0)), (Bytes{60, 255, 255}));
  EXPECT_EQ(through(to_hsv, color(0, 0, 255)), (Bytes{0, 255, 255}));
  EXPECT_EQ(through(to_hsv, color(50, 50, 50)), (Bytes{0, 0, 50}));
  EXPECT_EQ(through(to_hsv, color(100, 150, 200)), (Bytes{15, 127, 200}));  // 30 degrees; 100 / 200
  EXPECT_EQ(through(from_hsv, color(15, 128, 200)), (Bytes{100, 150, 200}));
  EXPECT_EQ(through(from_hsv, color(195, 128, 200)), (Bytes{100, 150, 200})) << "a hue goes round";
}

TEST(ColorTest, EveryColorComesBackThroughHsvNearly) {
  for (int b = 0; b < 256; b += 15) {
    for (int g = 0; g < 256; g += 15) {
      for (int r = 0; r < 256; r += 15) {
        Image image = color(b, g, r);
        to_hsv(image);
        ASSERT_LT(image.planes[0], 180);
        from_hsv(image);
        // Two degrees of hue are up to 8.5 of 255 shades, rounded to half of it; saturation adds to that.
        ASSERT_NEAR(image.planes[0], b, 6);
        ASSERT_NEAR(image.planes[1], g, 6);
        ASSERT_NEAR(image.planes[2], r, 6);
      }
    }
  }
}

TEST(ColorTest, BrightnessAndDifferences) {
  // Y = 0.114 * 100 + 0.587 * 150 + 0.299 * 200 = 159.25; Cr = 0.713 * (200 - 159) + 128; Cb = 0.564 * (100 - 159) +
  // 128.
  EXPECT_EQ(through(to_ycrcb, color(100, 150, 200)), (Bytes{159, 157, 95}));
  EXPECT_EQ(through(from_ycrcb, color(159, 157, 95)), (Bytes{100, 150, 200}));
  EXPECT_EQ(through(take_colors_away, color(100, 150, 200)), (Bytes{159, 159, 159}));
}

}  // namespace
}  // namespace robusta::resample_test
