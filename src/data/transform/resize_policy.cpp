// Sizes are found in float and rounded down, as in SSD, so that images have its numbers of rows and columns.

#include "data/transform/resize_policy.h"

#include <algorithm>
#include <cmath>

#include "data/transform/draws.h"
#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

using caffe::ResizeParameter;

Interpolation interpolation_of(int mode) {
  switch (mode) {
    case ResizeParameter::AREA:
      return Interpolation::kArea;
    case ResizeParameter::NEAREST:
      return Interpolation::kNearest;
    case ResizeParameter::CUBIC:
      return Interpolation::kCubic;
    case ResizeParameter::LANCZOS4:
      return Interpolation::kLanczos;
    default:
      return Interpolation::kLinear;
  }
}

Surroundings surroundings_of(int mode) {
  return mode == ResizeParameter::MIRRORED         ? Surroundings::kMirrored
         : mode == ResizeParameter::REPEAT_NEAREST ? Surroundings::kRepeated
                                                   : Surroundings::kConstant;
}

/// Width by height.
float proportion(int64_t height, int64_t width) { return static_cast<float>(width) / static_cast<float>(height); }

/// A side, rounded down; what would be less than a pixel is one.
int64_t side(float length) { return static_cast<int64_t>(std::clamp(std::floor(length), 1.0f, 1e9f)); }

}  // namespace

ResizePolicy::ResizePolicy(const ResizeParameter& param, const std::string& path, bool sized) : param_(param) {
  require_probability(param.prob(), path + "prob");
  if (sized && (param.height() == 0 || param.width() == 0))
    refuse_setting(path + (param.height() ? "width" : "height"), "resizing needs a height and a width", "set both");
  if (sized) require_size(param.height(), param.width(), path + "height");
  for (const float value : param.pad_value()) {
    if (!(value >= 0 && value <= 255))
      refuse_setting(path + "pad_value", str("a pad_value of ", value), "give 0 to 255");
  }
  const bool one_scale = (param.height_scale() > 0) != (param.width_scale() > 0);
  if (one_scale)
    refuse_setting(path + (param.height_scale() ? "width_scale" : "height_scale"),
                   "height_scale and width_scale go together", "set both, or neither");
}

ResizePolicy ResizePolicy::to(int64_t height, int64_t width) const {
  ResizePolicy other = *this;
  other.param_.set_height(static_cast<uint32_t>(height));
  other.param_.set_width(static_cast<uint32_t>(width));
  return other;
}

bool ResizePolicy::has_one_size() const { return !keeps_proportions() && param_.prob() >= 1; }

bool ResizePolicy::applies(PhiloxStream& draws) const { return param_.prob() >= 1 || happens(draws, param_.prob()); }

/// WARP gives both sides whatever the proportions; FIT_SMALL_SIZE keeps these, one side as set and the other no
/// smaller; FIT_LARGE_SIZE_AND_PAD fits the whole image into the middle of what is set.
ImageStep ResizePolicy::sizes(const Extent& image) const {
  const int64_t height = param_.height(), width = param_.width();
  ImageStep step{.rect = {0, 0, height, width}, .height = height, .width = width};
  const float from = proportion(image.height, image.width), to = proportion(height, width);
  const bool fits_width = keeps_proportions() ? from < to : from > to;
  if (param_.resize_mode() == ResizeParameter::WARP) return step;
  if (fits_width)
    step.rect.height = side(static_cast<float>(width) / from);
  else
    step.rect.width = side(from * static_cast<float>(height));
  if (keeps_proportions()) {
    step.height = step.rect.height;
    step.width = step.rect.width;
  } else {
    // A float may come out a pixel too large.
    step.rect.height = std::min(step.rect.height, height);
    step.rect.width = std::min(step.rect.width, width);
    step.rect.top = (height - step.rect.height) / 2;
    step.rect.left = (width - step.rect.width) / 2;
  }
  if (step.height > kMostPixels / step.width) {
    throw Error(ErrorKind::kData,
                str("it is ", image.str(), " and would become ", step.height, " x ", step.width, " pixels; at most ",
                    kMostPixels),
                "leave out images this long, or use another resize_mode");
  }
  return step;
}

Extent ResizePolicy::output(const Extent& image) const {
  const ImageStep step = sizes(image);
  return {image.channels, step.height, step.width};
}

ImageStep ResizePolicy::step(const Extent& image, PhiloxStream& draws) const {
  ImageStep step = sizes(image);
  const int modes = param_.interp_mode_size();
  if (modes > 0)
    step.interpolation =
        interpolation_of(param_.interp_mode(static_cast<int>(draws.below(static_cast<uint64_t>(modes)))));
  step.around = surroundings_of(param_.pad_mode());
  const int values = param_.pad_value_size();
  if (values > 1 && values != image.channels) {
    throw Error(ErrorKind::kData,
                str("there are ", values, " values of pad_value, the item has ", image.channels, " channels"),
                "give one pad_value, or one per channel");
  }
  for (const float value : param_.pad_value()) step.fill.push_back(static_cast<uint8_t>(value));
  return step;
}

/// Of an image that is padded, SSD has the exact proportions here, where the pixels have whole ones.
Box<float> ResizePolicy::moved(const Box<float>& box, const Extent& image) const {
  const auto inside = [](float x) { return std::clamp(x, 0.0f, 1.0f); };
  const Box<float> clipped{inside(box.xmin), inside(box.ymin), inside(box.xmax), inside(box.ymax)};
  if (param_.resize_mode() != ResizeParameter::FIT_LARGE_SIZE_AND_PAD) return clipped;
  const float from = proportion(image.height, image.width), to = proportion(param_.height(), param_.width());
  // What the image takes of the canvas.
  const float height = from > to ? to / from : 1, width = from > to ? 1 : from / to;
  const float top = (1 - height) / 2, left = (1 - width) / 2;
  return {left + clipped.xmin * width, top + clipped.ymin * height, left + clipped.xmax * width,
          top + clipped.ymax * height};
}

}  // namespace robusta
