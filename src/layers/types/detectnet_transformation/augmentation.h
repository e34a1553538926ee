/// What DetectNetTransformation draws for an image, and where each pixel and each box goes by it. For hosts and GPUs.
///
/// The order is colours, mirror, scale, rotation, crop. Coordinates are those of the pixels' indices. All that is drawn
/// is a pure function of the key and of the sample's position in the training: twelve words of Philox, each with one
/// meaning, so that a setting changes nothing of what the others draw.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "base/philox.h"

namespace robusta {

/// The nearest whole number; of halves that further from 0.
ROBUSTA_HOST_DEVICE inline int64_t rounded(double x) {
  return x < 0 ? -static_cast<int64_t>(0.5 - x) : static_cast<int64_t>(x + 0.5);
}

/// The whole number at or below x. REQUIRES: |x| < 2^62.
template <typename T>
ROBUSTA_HOST_DEVICE int64_t whole_below(T x) {
  const auto whole = static_cast<int64_t>(x);
  return static_cast<T>(whole) > x ? whole - 1 : whole;
}

struct ImageSize {
  int64_t width = 0, height = 0;
};

template <typename T>
struct ImagePoint {
  T x, y;
};

/// A rotation about the middle of an image, and the upright box that then holds all of it, which is the new image.
struct Rotation {
  double cosine = 1, sine = 0;
  double middle_x = 0, middle_y = 0;
  int64_t left = 0, top = 0;  ///< of the box, in the image's coordinates
  ImageSize box;              ///< that holds the rotated image

  Rotation() = default;
  /// Clockwise for positive angles, as rows count downwards. The box's sides are those of OpenCV's RotatedRect: from
  /// the whole number below the least corner up to and with the one above the greatest.
  ROBUSTA_HOST_DEVICE Rotation(const ImageSize& image, double degrees) {
    constexpr double kRadian = 3.14159265358979323846 / 180;
    cosine = ::cos(degrees * kRadian);
    sine = ::sin(degrees * kRadian);
    const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
    middle_x = width / 2;
    middle_y = height / 2;
    const double reach_x = (::fabs(cosine) * width + ::fabs(sine) * height) / 2,
                 reach_y = (::fabs(sine) * width + ::fabs(cosine) * height) / 2;
    left = whole_below(middle_x - reach_x);
    top = whole_below(middle_y - reach_y);
    box = {1 - left - whole_below(-middle_x - reach_x), 1 - top - whole_below(-middle_y - reach_y)};
  }

  /// Where a point of the image lies in the new one.
  template <typename T>
  ROBUSTA_HOST_DEVICE ImagePoint<T> turned(T x, T y) const {
    const double dx = static_cast<double>(x) - middle_x, dy = static_cast<double>(y) - middle_y;
    return {static_cast<T>(middle_x + cosine * dx - sine * dy - static_cast<double>(left)),
            static_cast<T>(middle_y + sine * dx + cosine * dy - static_cast<double>(top))};
  }
  /// The point of the image that lies there in the new one.
  ROBUSTA_HOST_DEVICE ImagePoint<double> turned_back(int64_t x, int64_t y) const {
    const double dx = static_cast<double>(x + left) - middle_x, dy = static_cast<double>(y + top) - middle_y;
    return {middle_x + cosine * dx + sine * dy, middle_y - sine * dx + cosine * dy};
  }
};

/// What was drawn for one sample.
struct DrawnAugmentation {
  float hue = 0;         ///< degrees that are added
  float saturation = 1;  ///< a factor
  bool mirrored = false, rotated = false;
  ImageSize scaled;                ///< what the image is scaled to
  Rotation rotation;               ///< where `rotated`
  int64_t crop_x = 0, crop_y = 0;  ///< of the top's first pixel in what was scaled and rotated

  /// What is cropped.
  ROBUSTA_HOST_DEVICE ImageSize whole() const { return rotated ? rotation.box : scaled; }
};

/// The settings; called with the position of a sample, it draws.
struct Augmentation {
  bool draws = false;  ///< false (TEST): images are scaled to the top's size, and no more
  uint64_t key = 0;
  ImageSize in, out;
  float hue_probability = 0, hue = 0;                    ///< degrees, the most in either direction
  float desaturation_probability = 0, desaturation = 0;  ///< the share of colour that goes at most
  float mirror_probability = 0;
  float scale_probability = 0, scale_least = 1, scale_most = 1;  ///< factors of both sides
  float rotation_probability = 0, degrees = 0;                   ///< the most in either direction
  float crop_probability = 0;
  int64_t shift_x = 0, shift_y = 0;  ///< pixels: half of them beyond either end of the image

  ROBUSTA_HOST_DEVICE DrawnAugmentation operator()(uint64_t position) const {
    DrawnAugmentation drawn;
    drawn.scaled = draws ? in : out;
    if (!draws) return drawn;
    const PhiloxBlock colors = philox(key, position, 0), places = philox(key, position, 1),
                      crops = philox(key, position, 2);
    if (happens(colors[0], hue_probability)) drawn.hue = static_cast<float>(2 * uniform(colors[1]) - 1) * hue;
    if (happens(colors[2], desaturation_probability)) {
      drawn.saturation = 1 - static_cast<float>(uniform(colors[3])) * desaturation;
    }
    if (happens(places[0], scale_probability)) {
      const double scale = scale_least + (static_cast<double>(scale_most) - scale_least) * uniform(places[1]);
      drawn.scaled = {at_least_one(rounded(static_cast<double>(in.width) * scale)),
                      at_least_one(rounded(static_cast<double>(in.height) * scale))};
    }
    drawn.rotated = degrees != 0 && happens(places[2], rotation_probability);
    if (drawn.rotated) drawn.rotation = Rotation(drawn.scaled, (2 * uniform(places[3]) - 1) * degrees);
    drawn.mirrored = happens(crops[0], mirror_probability);
    const bool anywhere = happens(crops[1], crop_probability);
    const ImageSize whole = drawn.whole();
    drawn.crop_x = crop(whole.width - out.width, anywhere, uniform(crops[2]), shift_x);
    drawn.crop_y = crop(whole.height - out.height, anywhere, uniform(crops[3]), shift_y);
    return drawn;
  }

 private:
  /// In [0, 1).
  ROBUSTA_HOST_DEVICE static double uniform(uint32_t word) { return word * 0x1.0p-32; }
  ROBUSTA_HOST_DEVICE static bool happens(uint32_t word, float probability) {
    return uniform(word) < static_cast<double>(probability);
  }
  ROBUSTA_HOST_DEVICE static int64_t at_least_one(int64_t x) { return x < 1 ? 1 : x; }
  /// Where a crop begins that leaves `spare` pixels out (negative: adds them): anywhere, up to half of `shift` beyond
  /// both ends, or in the middle.
  ROBUSTA_HOST_DEVICE static int64_t crop(int64_t spare, bool anywhere, double share, int64_t shift) {
    if (!anywhere) return rounded(0.5 * static_cast<double>(spare));
    return rounded(share * static_cast<double>(spare + shift) - static_cast<double>(shift / 2));
  }
};

/// Left and upper edge, width and height.
template <typename T>
struct ObjectBox {
  T x, y, width, height;
};

/// Where a box of the image lies in the crop. A rotated box keeps its size about its middle. The pixel by which a
/// mirrored one is moved too far is in NVIDIA's Caffe, too.
template <typename T>
ROBUSTA_HOST_DEVICE ObjectBox<T> moved(ObjectBox<T> box, const ImageSize& in, const DrawnAugmentation& drawn) {
  if (drawn.mirrored) box.x = static_cast<T>(in.width) - box.x - box.width - 1;
  const T scale_x = static_cast<T>(drawn.scaled.width) / static_cast<T>(in.width),
          scale_y = static_cast<T>(drawn.scaled.height) / static_cast<T>(in.height);
  box = {box.x * scale_x, box.y * scale_y, box.width * scale_x, box.height * scale_y};
  if (drawn.rotated) {
    const ImagePoint<T> middle = drawn.rotation.turned(box.x + box.width / 2, box.y + box.height / 2);
    box.x = middle.x - box.width / 2;
    box.y = middle.y - box.height / 2;
  }
  box.x -= static_cast<T>(drawn.crop_x);
  box.y -= static_cast<T>(drawn.crop_y);
  return box;
}

}  // namespace robusta
