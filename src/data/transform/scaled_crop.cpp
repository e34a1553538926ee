// The arithmetic is the fork's, in whole numbers after each product; the draws are our own.

#include "data/transform/scaled_crop.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "data/transform/setting_checks.h"

namespace robusta {
namespace {

constexpr char kPath[] = "transform_param.";

/// Where a crop may lie, in quarters of the room beside it: corners and centre, then, for more_fix_crop, the middles of
/// the edges and the quarters.
struct Place {
  int64_t down, right;
};
constexpr Place kPlaces[] = {{0, 0}, {0, 4}, {4, 0}, {4, 4}, {2, 2}, {0, 2}, {4, 2},
                             {2, 0}, {2, 4}, {1, 1}, {1, 3}, {3, 1}, {3, 3}};
constexpr size_t kFew = 5;

/// A side that is nearly the crop's is the crop's: nothing has to be resized then.
int64_t near_side(int64_t side, int64_t crop, int64_t image) {
  constexpr int64_t kNear = 3;
  return std::clamp<int64_t>(std::abs(side - crop) < kNear ? crop : side, 1, image);
}

}  // namespace

std::optional<ScaledCrop> ScaledCrop::of(const caffe::TransformationParameter& param, int64_t crop_height,
                                         int64_t crop_width) {
  if (!param.multi_scale() && !param.fix_crop()) return std::nullopt;
  return ScaledCrop(param, crop_height, crop_width);
}

ScaledCrop::ScaledCrop(const caffe::TransformationParameter& param, int64_t crop_height, int64_t crop_width)
    : crop_height_(crop_height),
      crop_width_(crop_width),
      max_distort_(param.max_distort()),
      places_(!param.fix_crop()       ? 0
              : param.more_fix_crop() ? std::size(kPlaces)
                                      : kFew) {
  const std::string field = std::string(kPath) + (param.multi_scale() ? "multi_scale" : "fix_crop");
  if (crop_height == 0) refuse_setting(field, "it is for crops, and there is none", "set crop_size");
  if (param.has_mean_file()) {
    refuse_setting(std::string(kPath) + "mean_file", "what is cut and scaled has no place in a mean image",
                   "give mean_value");
  }
  if (!param.multi_scale()) return;
  ratios_.assign(param.scale_ratios().begin(), param.scale_ratios().end());
  if (ratios_.empty()) ratios_ = {1, 0.875f, 0.75f, 0.66f};
  for (const float ratio : ratios_) {
    if (!(ratio > 0 && ratio <= 1))
      refuse_setting(std::string(kPath) + "scale_ratios", str("a side cannot be ", ratio, " of the image's"),
                     "give numbers above 0, and at most 1");
  }
  if (max_distort_ < 0)
    refuse_setting(std::string(kPath) + "max_distort", str("it is ", max_distort_), "give 0 or more");
}

/// One of all pairs of ratios that are not too far apart in the list, each as likely as the others.
PixelRect ScaledCrop::draw_size(const Extent& image, PhiloxStream& draws) const {
  PixelRect part{.height = crop_height_, .width = crop_width_};
  if (ratios_.empty()) return part;
  const auto base = static_cast<float>(std::min(image.height, image.width));
  const auto side = [&](float ratio) { return static_cast<int64_t>(base * ratio); };
  const auto count = static_cast<int64_t>(ratios_.size());
  int64_t pairs = 0;
  for (int64_t i = 0; i < count; ++i)
    pairs += std::min(count - 1, i + max_distort_) - std::max<int64_t>(0, i - max_distort_) + 1;
  auto drawn = static_cast<int64_t>(draws.below(static_cast<uint64_t>(pairs)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = std::max<int64_t>(0, i - max_distort_), last = std::min(count - 1, i + max_distort_);
    if (drawn <= last - first) {
      part.height = near_side(side(ratios_[static_cast<size_t>(i)]), crop_height_, image.height);
      part.width = near_side(side(ratios_[static_cast<size_t>(first + drawn)]), crop_width_, image.width);
      break;
    }
    drawn -= last - first + 1;
  }
  return part;
}

void ScaledCrop::draw_place(const Extent& image, PhiloxStream& draws, PixelRect& part) const {
  const int64_t below = image.height - part.height, beside = image.width - part.width;
  if (places_ == 0) {
    part.top = static_cast<int64_t>(draws.below(static_cast<uint64_t>(below + 1)));
    part.left = static_cast<int64_t>(draws.below(static_cast<uint64_t>(beside + 1)));
    return;
  }
  const Place& place = kPlaces[draws.below(places_)];
  part.top = place.down * (below / 4);
  part.left = place.right * (beside / 4);
}

std::vector<ImageStep> ScaledCrop::steps(const Extent& image, PhiloxStream draws) const {
  PixelRect part = draw_size(image, draws);
  draw_place(image, draws, part);
  std::vector<ImageStep> steps{
      {.kind = ImageStep::Kind::kCut, .rect = part, .height = part.height, .width = part.width}};
  if (part.height != crop_height_ || part.width != crop_width_)
    steps.push_back({.rect = {0, 0, crop_height_, crop_width_}, .height = crop_height_, .width = crop_width_});
  return steps;
}

}  // namespace robusta
