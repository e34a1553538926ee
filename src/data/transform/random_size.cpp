// The arithmetic of the two forks, with draws of our own. From NVIDIA's and Intel's data_transformer.cpp.

#include "data/transform/random_size.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

using caffe::TransformationParameter;

const std::string kTransformPath = "transform_param.";

bool is_nvidias(const TransformationParameter& param) {
  const bool ratio = param.rand_resize_ratio_lower() != 0 || param.rand_resize_ratio_upper() != 0;
  const bool vertical = param.vertical_stretch_lower() != 1 || param.vertical_stretch_upper() != 1;
  const bool horizontal = param.horizontal_stretch_lower() != 1 || param.horizontal_stretch_upper() != 1;
  return param.img_rand_resize_lower() > 0 || param.img_rand_resize_upper() > 0 || ratio || vertical || horizontal;
}

Interpolation interpolation_of(TransformationParameter::InterpolationAlgo algorithm) {
  switch (algorithm) {
    case TransformationParameter::INTER_NEAREST:
      return Interpolation::kNearest;
    case TransformationParameter::INTER_CUBIC:
      return Interpolation::kCubic;
    case TransformationParameter::INTER_AREA:
      return Interpolation::kArea;
    default:
      return Interpolation::kLinear;
  }
}

/// Whole numbers from low to high.
int64_t whole_between(PhiloxStream& draws, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(draws.below(static_cast<uint64_t>(high - low + 1)));
}

void check_nvidias(const TransformationParameter& param) {
  const int64_t lower = param.img_rand_resize_lower(), upper = param.img_rand_resize_upper();
  if (lower > 0 && upper > 0 && upper < lower)
    refuse_setting(kTransformPath + "img_rand_resize_upper", str(upper, " is less than img_rand_resize_lower, ", lower),
                   "exchange them");
  if ((lower > 0) != (upper > 0)) {
    refuse_setting(kTransformPath + (lower > 0 ? "img_rand_resize_upper" : "img_rand_resize_lower"),
                   "img_rand_resize_lower and img_rand_resize_upper go together", "set both");
  }
  const std::string ratio = kTransformPath + "rand_resize_ratio_", vertical = kTransformPath + "vertical_stretch_",
                    horizontal = kTransformPath + "horizontal_stretch_";
  if (param.rand_resize_ratio_lower() != 0 || param.rand_resize_ratio_upper() != 0) {
    require_range(param.rand_resize_ratio_lower(), param.rand_resize_ratio_upper(), 1, ratio + "lower",
                  ratio + "upper");
  }
  constexpr float kLeast = 1e-3f;
  require_range(param.vertical_stretch_lower(), param.vertical_stretch_upper(), kLeast, vertical + "lower",
                vertical + "upper");
  require_range(param.horizontal_stretch_lower(), param.horizontal_stretch_upper(), kLeast, horizontal + "lower",
                horizontal + "upper");
}

void check_intels(const TransformationParameter& param, int64_t crop) {
  if (param.has_random_resize_param() && param.has_random_aspect_ratio_param())
    refuse_setting(kTransformPath + "random_aspect_ratio_param", "random_resize_param is set, too", "set one of them");
  if (param.has_random_resize_param()) {
    const auto& sizes = param.random_resize_param();
    if (sizes.min_size() > 0 && sizes.max_size() > 0 && sizes.max_size() < sizes.min_size())
      refuse_setting(kTransformPath + "random_resize_param.max_size", str(sizes.max_size(), " is less than min_size"),
                     "exchange them");
    if (sizes.min_size() > 0 && sizes.min_size() < crop)
      refuse_setting(kTransformPath + "random_resize_param.min_size",
                     str(sizes.min_size(), " is less than the crop of ", crop), "give at least the crop");
  }
  if (!param.has_random_aspect_ratio_param()) return;
  const auto& area = param.random_aspect_ratio_param();
  const std::string path = kTransformPath + "random_aspect_ratio_param.";
  require_range(area.min_area_ratio(), area.max_area_ratio(), 1e-4f, path + "min_area_ratio", path + "max_area_ratio");
  constexpr float kLeastChange = 1e-3f;
  if (!(area.aspect_ratio_change() >= kLeastChange && area.aspect_ratio_change() <= 1))
    refuse_setting(path + "aspect_ratio_change", str("it is ", area.aspect_ratio_change()),
                   str("give ", kLeastChange, " to 1"));
  constexpr uint32_t kMostAttempts = 10000;
  if (area.max_attempt() > kMostAttempts)
    refuse_setting(path + "max_attempt", str(area.max_attempt(), " attempts"), str("give at most ", kMostAttempts));
}

const caffe::ResizeParameter& inner_policy(const TransformationParameter& param) {
  return param.has_random_resize_param() ? param.random_resize_param().resize_param()
                                         : param.random_aspect_ratio_param().resize_param();
}

std::string inner_path(const TransformationParameter& param) {
  return kTransformPath + (param.has_random_resize_param() ? "random_resize_param" : "random_aspect_ratio_param") +
         ".resize_param.";
}

/// To this size and no other.
ImageStep plain_step(int64_t height, int64_t width, Interpolation interpolation) {
  if (height > kMostPixels / width) {
    throw Error(ErrorKind::kData, str("it would become ", height, " x ", width, " pixels; at most ", kMostPixels),
                "lower the sizes that are drawn");
  }
  return {.rect = {0, 0, height, width}, .height = height, .width = width, .interpolation = interpolation};
}

/// Limited so that the rounding cannot overflow; plain_step says what is too large.
int64_t rounded_side(float length) { return std::llround(std::clamp(length, 1.0f, 1e9f)); }

}  // namespace

std::optional<RandomSize> RandomSize::of(const TransformationParameter& param, int64_t crop_height,
                                         int64_t crop_width) {
  const bool intels = param.has_random_resize_param() || param.has_random_aspect_ratio_param();
  if (!intels && !is_nvidias(param)) return std::nullopt;
  if (intels && is_nvidias(param)) {
    refuse_setting(
        kTransformPath + (param.has_random_resize_param() ? "random_resize_param" : "random_aspect_ratio_param"),
        "fields of NVIDIA's random sizes are set, too", "set those of one Caffe");
  }
  return RandomSize(param, crop_height, crop_width);
}

RandomSize::RandomSize(const TransformationParameter& param, int64_t crop_height, int64_t crop_width)
    : param_(param),
      crop_height_(crop_height),
      crop_width_(crop_width),
      policy_(inner_policy(param), inner_path(param), false) {
  if (crop_height == 0)
    refuse_setting(kTransformPath + "crop_size", "images of sizes that are drawn make no batch without a crop",
                   "set crop_size");
  check_nvidias(param);
  check_intels(param, std::max(crop_height, crop_width));
}

std::vector<ImageStep> RandomSize::steps(const Extent& image, PhiloxStream draws) const {
  if (param_.has_random_resize_param()) return by_short_side(image, draws);
  return param_.has_random_aspect_ratio_param() ? region(image, draws) : stretched(image, draws);
}

std::vector<ImageStep> RandomSize::stretched(const Extent& image, PhiloxStream& draws) const {
  const auto height = static_cast<float>(image.height), width = static_cast<float>(image.width);
  float side = std::min(height, width);
  if (param_.img_rand_resize_lower() > 0) {
    side = static_cast<float>(whole_between(draws, param_.img_rand_resize_lower(), param_.img_rand_resize_upper()));
  }
  // The shorter side becomes what was drawn; the other keeps the proportion until the next step changes it.
  const float scale = side / std::min(height, width);
  float new_height = scale * height, new_width = scale * width;
  if (param_.rand_resize_ratio_lower() >= 1 && param_.rand_resize_ratio_upper() > 1) {
    const float ratio = between(draws, param_.rand_resize_ratio_lower(), param_.rand_resize_ratio_upper());
    // The longer side becomes `ratio` times the shorter one; of a square either may.
    const bool wide = new_width != new_height ? new_width > new_height : happens(draws, 0.5f);
    (wide ? new_width : new_height) = ratio * (wide ? new_height : new_width);
  }
  new_height *= between(draws, param_.vertical_stretch_lower(), param_.vertical_stretch_upper());
  new_width *= between(draws, param_.horizontal_stretch_lower(), param_.horizontal_stretch_upper());
  // The crop is cut from what comes out, so that neither side may be shorter than its.
  int64_t rows = std::max(crop_height_, rounded_side(new_height));
  int64_t columns = std::max(crop_width_, rounded_side(new_width));
  if (!param_.allow_upscale()) {
    rows = std::min(rows, image.height);
    columns = std::min(columns, image.width);
  }
  if (rows == image.height && columns == image.width) return {};
  const bool smaller = rows <= image.height && columns <= image.width;
  return {plain_step(rows, columns,
                     interpolation_of(smaller ? param_.interpolation_algo_down() : param_.interpolation_algo_up()))};
}

std::vector<ImageStep> RandomSize::with_short_side(const Extent& image, int64_t side, PhiloxStream& draws) const {
  const auto height = static_cast<float>(image.height), width = static_cast<float>(image.width);
  const auto longer = [&](float proportion) {
    return static_cast<int64_t>(std::min(proportion * static_cast<float>(side), 1e9f));
  };
  const int64_t rows = height < width ? side : longer(height / width),
                columns = height < width ? longer(width / height) : side;
  // For its check of the size alone.
  plain_step(rows, columns, Interpolation::kLinear);
  return {policy_.to(rows, columns).step(image, draws)};
}

std::vector<ImageStep> RandomSize::by_short_side(const Extent& image, PhiloxStream& draws) const {
  const auto& sizes = param_.random_resize_param();
  const int64_t low = sizes.min_size() > 0 ? sizes.min_size() : std::min(image.height, image.width);
  const int64_t high = sizes.max_size() > 0 ? sizes.max_size() : std::max(image.height, image.width);
  return with_short_side(image, whole_between(draws, low, std::max(low, high)), draws);
}

/// Part of the area in other proportions, at a place that is drawn; where none is found, the whole image. As GoogLeNet
/// is trained (Szegedy et al. 2015, "Going Deeper with Convolutions", section 6). The area is the one drawn: a change
/// of proportions multiplies one side and divides the other.
std::vector<ImageStep> RandomSize::region(const Extent& image, PhiloxStream& draws) const {
  const auto& setting = param_.random_aspect_ratio_param();
  const float area = static_cast<float>(image.height) * static_cast<float>(image.width);
  for (uint32_t attempt = 0; attempt < setting.max_attempt(); ++attempt) {
    const float side = std::sqrt(between(draws, setting.min_area_ratio(), setting.max_area_ratio()) * area);
    const float change = between(draws, setting.aspect_ratio_change(), 1 / setting.aspect_ratio_change());
    auto height = static_cast<int64_t>(side * change), width = static_cast<int64_t>(side / change);
    if (happens(draws, 0.5f)) std::swap(height, width);
    if (height < 1 || width < 1 || height > image.height || width > image.width) continue;
    const int64_t top = whole_between(draws, 0, image.height - height),
                  left = whole_between(draws, 0, image.width - width);
    const ImageStep cut{
        .kind = ImageStep::Kind::kCut, .rect = {top, left, height, width}, .height = height, .width = width};
    return {cut, policy_.to(crop_height_, crop_width_).step({image.channels, height, width}, draws)};
  }
  return with_short_side(image, std::max(crop_height_, crop_width_), draws);
}

}  // namespace robusta
