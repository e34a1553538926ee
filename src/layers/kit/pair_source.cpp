// The settings that the transformer does not know of, or that have to be drawn once for image and labels, are read
// here; what is left - mean and scale - is the transformer's.

#include "layers/kit/pair_source.h"

#include <cmath>

#include "layers/kit/assumed_extent.h"
#include "layers/kit/forced_colors.h"

namespace robusta {
namespace {

using caffe::TransformationParameter;

[[noreturn]] void wrong_transform(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field("transform_param." + field);
}

/// crop_size; crop_h and crop_w (NVIDIA); crop_height and crop_width (PSPNet).
void read_crop(const TransformationParameter& param, PairSettings& settings) {
  const bool nvidia = param.crop_h() > 0 || param.crop_w() > 0,
             pspnet = param.crop_height() > 0 || param.crop_width() > 0;
  const int64_t height = nvidia ? param.crop_h() : pspnet ? param.crop_height() : param.crop_size();
  const int64_t width = nvidia ? param.crop_w() : pspnet ? param.crop_width() : param.crop_size();
  if (nvidia + pspnet + (param.crop_size() > 0) > 1 || (height > 0) != (width > 0)) {
    wrong_transform(param.crop_size() > 0 ? "crop_size"
                    : nvidia              ? "crop_h"
                                          : "crop_height",
                    "the crop is not given by one number or one pair of numbers",
                    "set crop_size, or crop_height and crop_width");
  }
  if (height > 0 && height > kMostPixels / width) {
    wrong_transform(nvidia   ? "crop_h"
                    : pspnet ? "crop_height"
                             : "crop_size",
                    str("a crop of ", height, " x ", width, " pixels; at most ", kMostPixels), "make it smaller");
  }
  settings.crop_height = height;
  settings.crop_width = width;
}

void read_scales(const TransformationParameter& param, PairSettings& settings) {
  settings.scale_factors.assign(param.scale_factors().begin(), param.scale_factors().end());
  for (const float factor : settings.scale_factors) {
    if (!(std::isfinite(factor) && factor > 0))
      wrong_transform("scale_factors", str("images cannot be scaled by ", factor), "give numbers above 0");
  }
  if (settings.scale_factors.empty()) return;
  if (settings.crop_height == 0)
    wrong_transform("scale_factors", "scaled images have no common size", "set crop_size, too");
  if (param.has_mean_file())
    wrong_transform("mean_file", "the mean image does not fit scaled images", "give mean_value");
}

/// What the plain sources do to images alone.
void refuse_changes(const TransformationParameter& param) {
  const auto refuse = [](bool given, const char* field) {
    if (given) wrong_transform(field, "it would change the images and not their labels", "prepare both beforehand");
  };
  refuse(param.has_distort_param(), "distort_param");
  refuse(param.has_expand_param(), "expand_param");
  refuse(param.has_noise_param(), "noise_param");
  refuse(param.has_random_resize_param(), "random_resize_param");
  refuse(param.has_random_aspect_ratio_param(), "random_aspect_ratio_param");
  refuse(param.multi_scale(), "multi_scale");
  refuse(param.fix_crop(), "fix_crop");
  refuse(param.is_flow(), "is_flow");
  refuse(param.img_rand_resize_lower() > 0, "img_rand_resize_lower");
  refuse(param.img_rand_resize_upper() > 0, "img_rand_resize_upper");
}

/// For mean and scale; the rest is done here.
Transformer numbers_alone(TransformationParameter param, bool training) {
  if (param.resize_param_size() > 0)
    wrong_transform("resize_param", "it would resize the images and not their labels", "set new_height and new_width");
  refuse_changes(param);
  param.clear_mirror();
  param.clear_crop_size();
  param.clear_crop_h();
  param.clear_crop_w();
  param.clear_crop_height();
  param.clear_crop_width();
  param.clear_scale_factors();
  return Transformer(param, training);
}

}  // namespace

PairSource::PairSource(const caffe::LayerParameter& param, ListedImages images, const PairRules& rules)
    : PrefetchedSource(param, std::move(images.reading)),
      root_folder_(std::move(images.root_folder)),
      labels_(rules.labels),
      most_tops_(rules.most_tops),
      settings_{.layer = name(),
                .size = images.size,
                .training = training(),
                .mirror = param.transform_param().mirror(),
                .pads = rules.pads,
                .scale_factors = {},
                .binary = rules.binary,
                .ignored = rules.ignored,
                .extents = param.top_size() > 2} {
  read_crop(param.transform_param(), settings_);
  read_scales(param.transform_param(), settings_);
}

RecordSource PairSource::open_records(const std::string& source) const {
  warn_of_forced_colors(param(), "is_color decides");
  Transformer numbers = numbers_alone(param().transform_param(), training());
  auto pairs = std::make_shared<ImagePairsReader>(source, root_folder_, labels_);
  auto filler = std::make_unique<PairFiller>(settings_, std::move(numbers), pairs);
  return {std::move(pairs), std::move(filler)};
}

AssumedItem PairSource::assumed_item(const std::string& source) const {
  auto [extent, reason] = assumed_extent(source, param().transform_param());
  const auto size_by = [&extent = extent, &reason = reason](int64_t height, int64_t width, const char* why) {
    extent.height = height;
    extent.width = width;
    reason = why;
  };
  if (settings_.crop_height > 0)
    size_by(settings_.crop_height, settings_.crop_width, "the size of the crop");
  else if (settings_.size.height > 0)
    size_by(settings_.size.height, settings_.size.width, "new_height and new_width");
  extent.channels = settings_.size.channels;
  return {{extent.channels, extent.height, extent.width}, reason};
}

Shape PairSource::assumed_top(int top, int64_t batch) const {
  const Shape image = assumed(0).shape;
  return top == 1 ? Shape{batch, 1, image[1], image[2]} : Shape{batch, 1, 1, 2};
}

}  // namespace robusta
