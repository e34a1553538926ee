// The arithmetic is OpenCV's, which SSD calls; blurred and tiled pixels may differ from its by 1.

#include "data/transform/noise.h"

#include <algorithm>
#include <string>

#include "data/image.h"
#include "data/image_codec.h"
#include "data/transform/color.h"
#include "data/transform/draws.h"
#include "data/transform/equaliser.h"
#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

constexpr char kNoisePath[] = "transform_param.noise_param.";

void require_colors(const Image& image, const char* what) {
  if (image.extent.channels == 3) return;
  throw Error(ErrorKind::kData, str(what, " is for 3 colours, the image has ", image.extent.channels, " channels"),
              "set force_color, or leave it out");
}

/// Of an index that lies beyond an end of 0..size-1, the one that a mirror there shows; the end itself comes once.
/// OpenCV's BORDER_REFLECT_101, which its filters have unless told otherwise.
int64_t mirrored(int64_t at, int64_t size) {
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t in_period = ((at % period) + period) % period;
  return std::min(in_period, period - in_period);
}

/// SSD's cv::GaussianBlur of 7 x 7 pixels with a deviation of 1.5.
constexpr int64_t kBlurRadius = 3;

/// Weights of the distances 0..3, all seven adding up to 1.
std::array<float, kBlurRadius + 1> blur_weights() {
  constexpr double kDeviation = 1.5;
  std::array<double, kBlurRadius + 1> weights;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double distance = static_cast<double>(i) / kDeviation;
    weights[i] = std::exp(-distance * distance / 2);
    sum += i == 0 ? weights[i] : 2 * weights[i];
  }
  std::array<float, kBlurRadius + 1> scaled;
  for (size_t i = 0; i < weights.size(); ++i) scaled[i] = static_cast<float>(weights[i] / sum);
  return scaled;
}

/// value(y, x) of every byte of every plane, from a copy of the plane.
template <typename Value>
void replace_planes(Image& image, const Value& value) {
  const int64_t height = image.extent.height, width = image.extent.width;
  for (int64_t c = 0; c < image.extent.channels; ++c) {
    uint8_t* plane = image.row(c, 0);
    image.scratch.assign(plane, plane + height * width);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) plane[y * width + x] = value(image.scratch.data(), y, x);
    }
  }
}

/// Runs `body` on the brightness alone.
template <typename Body>
void on_brightness(Image& image, const Body& body) {
  if (image.extent.channels == 1) return body(image.row(0, 0));
  require_colors(image, "equalising");
  to_ycrcb(image);
  body(image.row(0, 0));
  from_ycrcb(image);
}

/// To a JPEG file and back.
void compress(Image& image, int quality) {
  const ColorMode mode = image.extent.channels == 1 ? ColorMode::kGray : ColorMode::kColor;
  decode_image(encode_jpeg(image, quality), mode, image);
}

void check(const caffe::NoiseParameter& param) {
  require_probability(param.prob(), str(kNoisePath, "prob"));
  if (param.convert_to_lab()) {
    throw Error(ErrorKind::kUnsupported, "colours in Lab are numbers with parts, which no image of bytes holds",
                "leave it out: what Caffe reads from them are not these colours, either")
        .in_field(str(kNoisePath, "convert_to_lab"));
  }
  if (param.has_jpeg() && param.jpeg() != -1 && !(param.jpeg() >= 0 && param.jpeg() <= 100))
    refuse_setting(str(kNoisePath, "jpeg"), str("a quality of ", param.jpeg()), "give 1 to 100");
  if (!param.saltpepper()) return;
  require_probability(param.saltpepper_param().fraction(), str(kNoisePath, "saltpepper_param.fraction"));
  const std::string value = str(kNoisePath, "saltpepper_param.value");
  if (param.saltpepper_param().value_size() == 0)
    refuse_setting(value, "dots without a value", "give one, or one per channel");
  for (const float dot : param.saltpepper_param().value()) {
    if (!(dot >= 0 && dot <= 255)) refuse_setting(value, str("a dot of ", dot), "give 0 to 255");
  }
}

}  // namespace

void blur(Image& image) {
  static const std::array<float, kBlurRadius + 1> weights = blur_weights();
  const int64_t height = image.extent.height, width = image.extent.width;
  std::vector<float> rows(static_cast<size_t>(height * width));
  for (int64_t c = 0; c < image.extent.channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* from = image.row(c, y);
      for (int64_t x = 0; x < width; ++x) {
        float sum = weights[0] * from[x];
        for (int64_t d = 1; d <= kBlurRadius; ++d)
          sum += weights[static_cast<size_t>(d)] *
                 static_cast<float>(from[mirrored(x - d, width)] + from[mirrored(x + d, width)]);
        rows[static_cast<size_t>(y * width + x)] = sum;
      }
    }
    for (int64_t y = 0; y < height; ++y) {
      const auto row = [&](int64_t at) { return rows.data() + mirrored(at, height) * width; };
      for (int64_t x = 0; x < width; ++x) {
        float sum = weights[0] * row(y)[x];
        for (int64_t d = 1; d <= kBlurRadius; ++d)
          sum += weights[static_cast<size_t>(d)] * (row(y - d)[x] + row(y + d)[x]);
        image.row(c, y)[x] = to_byte(sum);
      }
    }
  }
}

void equalise(Image& image) {
  on_brightness(image, [&](uint8_t* plane) { equalise_plane(plane, image.extent.height * image.extent.width); });
}

void equalise_tiles(Image& image) {
  on_brightness(image, [&](uint8_t* plane) {
    equalise_plane_by_tiles(plane, image.extent.height, image.extent.width, image.scratch);
  });
}

void erode(Image& image) {
  const int64_t height = image.extent.height, width = image.extent.width;
  replace_planes(image, [=](const uint8_t* from, int64_t y, int64_t x) {
    const uint8_t* at = from + y * width + x;
    uint8_t least = *at;
    if (y > 0) least = std::min(least, at[-width]);
    if (y + 1 < height) least = std::min(least, at[width]);
    if (x > 0) least = std::min(least, at[-1]);
    if (x + 1 < width) least = std::min(least, at[1]);
    return least;
  });
}

void posterise(Image& image) {
  constexpr int kShade = 64;  // SSD's: four shades of each channel, at the middle of each quarter
  for (uint8_t& p : image.planes) p = static_cast<uint8_t>(p / kShade * kShade + kShade / 2);
}

void invert(Image& image) {
  for (uint8_t& p : image.planes) p = static_cast<uint8_t>(255 - p);
}

Noise::Noise(const caffe::NoiseParameter& param) : param_(param) { check(param); }

/// Dots may fall on each other, as in SSD.
void Noise::sprinkle(Image& image, PhiloxStream& draws) const {
  const caffe::SaltPepperParameter& dots = param_.saltpepper_param();
  const int values = dots.value_size();
  if (values != 1 && values != image.extent.channels) {
    throw Error(ErrorKind::kData,
                str("dots have ", values, " values, the image has ", image.extent.channels, " channels"),
                "give one value, or one per channel")
        .in_field(str(kNoisePath, "saltpepper_param.value"));
  }
  const int64_t height = image.extent.height, width = image.extent.width;
  const auto count = static_cast<int64_t>(dots.fraction() * static_cast<float>(width) * static_cast<float>(height));
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<int64_t>(draws.below(static_cast<uint64_t>(width)));
    const auto y = static_cast<int64_t>(draws.below(static_cast<uint64_t>(height)));
    for (int64_t c = 0; c < image.extent.channels; ++c)
      image.row(c, y)[x] = static_cast<uint8_t>(dots.value(values == 1 ? 0 : static_cast<int>(c)));
  }
}

void Noise::apply(Image& image, PhiloxStream& draws) const {
  if (param_.has_prob() && !happens(draws, param_.prob())) return;
  if (param_.decolorize() && image.extent.channels != 1) {
    require_colors(image, "decolorize");
    take_colors_away(image);
  }
  if (param_.gauss_blur()) blur(image);
  if (param_.hist_eq()) equalise(image);
  if (param_.clahe()) equalise_tiles(image);
  if (param_.jpeg() > 0) compress(image, static_cast<int>(param_.jpeg()));
  if (param_.erode()) erode(image);
  if (param_.posterize()) posterise(image);
  if (param_.inverse()) invert(image);
  if (param_.saltpepper()) sprinkle(image, draws);
  if (param_.convert_to_hsv()) {
    require_colors(image, "convert_to_hsv");
    to_hsv(image);
  }
}

}  // namespace robusta
