/// The pixels of DetectNetTransformation: colours first, each pixel by itself; then each pixel of the top is looked up
/// where mirror, scale, rotation and crop have taken it from. For hosts and GPUs.
///
/// Scaling is cubic (Keys 1981 with a = -0.75, pixel centres at half-integers, edges repeated) and rotation linear, as
/// OpenCV's are. What comes from outside of the image is 0, and so the mean; a rotated pixel is, where one of the four
/// that it is mixed of lies outside.
#pragma once

#include "layers/types/detectnet_transformation/augmentation.h"

namespace robusta {

/// For each sample: draws.
struct DrawEach {
  Augmentation augmentation;
  const uint64_t* first_sample;
  DrawnAugmentation* drawn;
  ROBUSTA_HOST_DEVICE void operator()(int64_t sample) const {
    drawn[sample] = augmentation(*first_sample + static_cast<uint64_t>(sample));
  }
};

/// Means of the three planes, or of each pixel of them.
struct PixelMeans {
  float values[3] = {0, 0, 0};
  const float* image = nullptr;  ///< 3 x height x width; null: `values` count

  ROBUSTA_HOST_DEVICE float at(int64_t plane, int64_t pixel, int64_t pixels) const {
    return image ? image[plane * pixels + pixel] : values[plane];
  }
};

/// For each pixel of the batch: hue and saturation are changed, the means subtracted. Planes are B, G, R.
template <typename T>
struct ColorEach {
  const DrawnAugmentation* drawn;
  int64_t pixels;  ///< of an image
  PixelMeans means;
  const T* x;
  T* colored;

  ROBUSTA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t sample = i / pixels, pixel = i % pixels, first = 3 * sample * pixels + pixel;
    const T b = x[first], g = x[first + pixels], r = x[first + 2 * pixels];
    T planes[3] = {b, g, r};
    const DrawnAugmentation& change = drawn[sample];
    if (change.hue != 0 || change.saturation != 1) {
      const T value = larger(r, larger(g, b)), difference = value + larger(-r, larger(-g, -b));
      if (difference > 0) {
        const T sixth = value == r   ? (g - b) / difference
                        : value == g ? 2 + (b - r) / difference
                                     : 4 + (r - g) / difference;
        const T hue = sixth + static_cast<T>(change.hue) / 60, chroma = difference * static_cast<T>(change.saturation);
        planes[0] = value - chroma * lacking(hue + 1);
        planes[1] = value - chroma * lacking(hue + 3);
        planes[2] = value - chroma * lacking(hue + 5);
      }
    }
    for (int64_t c = 0; c < 3; ++c) {
      colored[first + c * pixels] = planes[c] - static_cast<T>(means.at(c, pixel, pixels));
    }
  }

 private:
  ROBUSTA_HOST_DEVICE static T larger(T a, T b) { return a > b ? a : b; }
  /// How much of the chroma a plane lacks, `place` being the hue in sixths of the circle after the one where it has
  /// none: 0, up to 1 from 0 to 1, 1 up to 3, down to 0 at 4. Goes round at 6.
  ROBUSTA_HOST_DEVICE static T lacking(T place) {
    if (!(place > -60 && place < 60)) return 0;  // no number
    const T round = place - 6 * static_cast<T>(whole_below(place / 6));
    const T least = round < 4 - round ? round : 4 - round;
    return least < 0 ? T{0} : least > 1 ? T{1} : least;
  }
};

/// Four pixels of an axis, and their shares in a pixel of the scaled axis.
template <typename T>
struct CubicTap {
  int64_t first;
  T shares[4];

  /// Pixel `i` of `in` pixels that became `out`.
  ROBUSTA_HOST_DEVICE CubicTap(int64_t i, int64_t in, int64_t out) {
    const double place = (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    const int64_t below = whole_below(place);
    const T t = static_cast<T>(place - static_cast<double>(below)), u = 1 - t;
    first = below - 1;
    shares[0] = kA * t * u * u;
    shares[1] = ((kA + 2) * t - (kA + 3)) * t * t + 1;
    shares[3] = kA * u * t * t;
    shares[2] = 1 - shares[0] - shares[1] - shares[3];
  }

 private:
  static constexpr T kA = T{-0.75};  ///< as in OpenCV
};

/// One plane of an image, in another size.
template <typename T>
struct ScaledPlane {
  const T* plane;
  ImageSize in, out;
  bool mirrored;

  ROBUSTA_HOST_DEVICE T operator()(int64_t x, int64_t y) const {
    if (in.width == out.width && in.height == out.height) return pixel(x, y);
    const CubicTap<T> columns(x, in.width, out.width), rows(y, in.height, out.height);
    T sum = 0;
    for (int64_t row = 0; row < 4; ++row) {
      T mixed = 0;
      for (int64_t column = 0; column < 4; ++column) {
        mixed += columns.shares[column] * pixel(columns.first + column, rows.first + row);
      }
      sum += rows.shares[row] * mixed;
    }
    return sum;
  }

 private:
  ROBUSTA_HOST_DEVICE static int64_t within(int64_t i, int64_t extent) {
    return i < 0 ? 0 : i < extent ? i : extent - 1;
  }
  ROBUSTA_HOST_DEVICE T pixel(int64_t x, int64_t y) const {
    const int64_t column = within(x, in.width);
    return plane[within(y, in.height) * in.width + (mirrored ? in.width - 1 - column : column)];
  }
};

/// For each number of top 0.
template <typename T>
struct PlaceEach {
  const DrawnAugmentation* drawn;
  ImageSize in, out;
  const T* colored;
  T* y;

  ROBUSTA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t pixels = out.width * out.height, plane = i / pixels, pixel = i % pixels;
    const DrawnAugmentation& change = drawn[plane / 3];
    const ScaledPlane<T> scaled{colored + plane * in.width * in.height, in, change.scaled, change.mirrored};
    y[i] = at(scaled, change, pixel % out.width + change.crop_x, pixel / out.width + change.crop_y);
  }

 private:
  /// The pixel of what is cropped.
  ROBUSTA_HOST_DEVICE static T at(const ScaledPlane<T>& scaled, const DrawnAugmentation& change, int64_t x, int64_t y) {
    const ImageSize whole = change.whole();
    if (x < 0 || y < 0 || x >= whole.width || y >= whole.height) return 0;
    if (!change.rotated) return scaled(x, y);
    const ImagePoint<double> from = change.rotation.turned_back(x, y);
    const int64_t column = whole_below(from.x), row = whole_below(from.y);
    if (column < 0 || row < 0 || column + 1 >= scaled.out.width || row + 1 >= scaled.out.height) return 0;
    const T right = static_cast<T>(from.x - static_cast<double>(column)),
            lower = static_cast<T>(from.y - static_cast<double>(row));
    return (1 - lower) * ((1 - right) * scaled(column, row) + right * scaled(column + 1, row)) +
           lower * ((1 - right) * scaled(column, row + 1) + right * scaled(column + 1, row + 1));
  }
};

}  // namespace robusta
