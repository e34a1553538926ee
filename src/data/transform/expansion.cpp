// Canvas and place are drawn and rounded down as in SSD.

#include "data/transform/expansion.h"

#include <cmath>

#include "data/transform/color.h"
#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"

namespace robusta {

Expansion::Expansion(const caffe::ExpansionParameter& param, const std::vector<float>& means)
    : probability_(param.prob()), most_(param.max_expand_ratio()) {
  require_probability(param.prob(), "transform_param.expand_param.prob");
  const std::string ratio = "transform_param.expand_param.max_expand_ratio";
  require_range(1, most_, 1, ratio, ratio);
  for (const float mean : means) fill_.push_back(std::isfinite(mean) ? to_byte(mean) : 0);
}

bool Expansion::is_nothing() const {
  constexpr float kNothing = 1e-2f;  // as in SSD
  return probability_ == 0 || std::fabs(most_ - 1) < kNothing;
}

std::optional<ImageStep> Expansion::step(const Extent& image, PhiloxStream draws) const {
  if (is_nothing() || !happens(draws, probability_)) return std::nullopt;
  const float ratio = between(draws, 1, most_);
  const float high = static_cast<float>(image.height) * ratio, wide = static_cast<float>(image.width) * ratio;
  if (!(high * wide <= static_cast<float>(kMostPixels))) {
    throw Error(ErrorKind::kData, str("expanded by ", ratio, " it would have more than ", kMostPixels, " pixels"),
                "lower expand_param.max_expand_ratio, or make the image smaller");
  }
  const auto height = std::max(image.height, static_cast<int64_t>(high)),
             width = std::max(image.width, static_cast<int64_t>(wide));
  const auto top = static_cast<int64_t>(between(draws, 0, static_cast<float>(height - image.height))),
             left = static_cast<int64_t>(between(draws, 0, static_cast<float>(width - image.width)));
  return ImageStep{.rect = {top, left, image.height, image.width}, .height = height, .width = width, .fill = fill_};
}

}  // namespace robusta
