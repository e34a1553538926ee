// The order of the changes is SSD's: contrast comes second or fourth, as a coin says.

#include "data/transform/distortion.h"

#include <algorithm>
#include <array>
#include <string>

#include "data/transform/color.h"
#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

constexpr char kDistortPath[] = "transform_param.distort_param.";

/// Applies a function of a byte to some of them. Once for each of 256 bytes, however many pixels there are.
template <typename Function>
void map_bytes(uint8_t* bytes, int64_t count, const Function& function) {
  std::array<uint8_t, 256> table;
  for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = to_byte(function(static_cast<float>(i)));
  for (int64_t i = 0; i < count; ++i) bytes[i] = table[bytes[i]];
}

void require_colors(const Image& image) {
  if (image.extent.channels == 3) return;
  throw Error(ErrorKind::kData,
              str("it has ", image.extent.channels, " channels; saturation, hue and order are those of 3 colours"),
              "set force_color, or leave the probabilities of saturation, hue and random_order out");
}

void shuffle_channels(Image& image, PhiloxStream& draws) {
  const int64_t plane = image.extent.height * image.extent.width;
  for (int64_t i = image.extent.channels; i > 1; --i) {
    const auto j = static_cast<int64_t>(draws.below(static_cast<uint64_t>(i)));
    if (j != i - 1) std::swap_ranges(image.row(j, 0), image.row(j, 0) + plane, image.row(i - 1, 0));
  }
}

void check(const caffe::DistortionParameter& param) {
  const auto field = [](const std::string& name) { return kDistortPath + name; };
  require_probability(param.brightness_prob(), field("brightness_prob"));
  require_probability(param.contrast_prob(), field("contrast_prob"));
  require_probability(param.saturation_prob(), field("saturation_prob"));
  require_probability(param.hue_prob(), field("hue_prob"));
  require_probability(param.random_order_prob(), field("random_order_prob"));
  require_range(0, param.brightness_delta(), 0, field("brightness_delta"), field("brightness_delta"));
  require_range(0, param.hue_delta(), 0, field("hue_delta"), field("hue_delta"));
  require_range(param.contrast_lower(), param.contrast_upper(), 0, field("contrast_lower"), field("contrast_upper"));
  require_range(param.saturation_lower(), param.saturation_upper(), 0, field("saturation_lower"),
                field("saturation_upper"));
}

}  // namespace

void adjust_brightness(Image& image, float delta) {
  map_bytes(image.planes.data(), image.extent.count(), [=](float p) { return p + delta; });
}

void adjust_contrast(Image& image, float factor) {
  // SSD leaves out what it holds for no change, too.
  constexpr float kNothing = 1e-3f;
  if (std::fabs(factor - 1) <= kNothing) return;
  map_bytes(image.planes.data(), image.extent.count(), [=](float p) { return p * factor; });
}

void adjust_saturation(Image& image, float factor) {
  to_hsv(image);
  map_bytes(image.row(1, 0), image.extent.height * image.extent.width, [=](float s) { return s * factor; });
  from_hsv(image);
}

void adjust_hue(Image& image, float delta) {
  to_hsv(image);
  map_bytes(image.row(0, 0), image.extent.height * image.extent.width, [=](float h) { return h + delta; });
  from_hsv(image);
}

Distortion::Distortion(const caffe::DistortionParameter& param) : param_(param) { check(param); }

void Distortion::change_contrast(Image& image, PhiloxStream& draws) const {
  if (happens(draws, param_.contrast_prob()))
    adjust_contrast(image, between(draws, param_.contrast_lower(), param_.contrast_upper()));
}

void Distortion::change_colors(Image& image, PhiloxStream& draws) const {
  if (happens(draws, param_.saturation_prob())) {
    require_colors(image);
    adjust_saturation(image, between(draws, param_.saturation_lower(), param_.saturation_upper()));
  }
  if (happens(draws, param_.hue_prob())) {
    require_colors(image);
    const float delta = between(draws, -param_.hue_delta(), param_.hue_delta());
    if (delta != 0) adjust_hue(image, delta);
  }
}

void Distortion::apply(Image& image, PhiloxStream& draws) const {
  const bool contrast_first = happens(draws, 0.5f);
  if (happens(draws, param_.brightness_prob()))
    adjust_brightness(image, between(draws, -param_.brightness_delta(), param_.brightness_delta()));
  if (contrast_first) change_contrast(image, draws);
  change_colors(image, draws);
  if (!contrast_first) change_contrast(image, draws);
  if (happens(draws, param_.random_order_prob())) {
    require_colors(image);
    shuffle_channels(image, draws);
  }
}

}  // namespace robusta
