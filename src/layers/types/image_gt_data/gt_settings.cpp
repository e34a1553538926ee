// The fields of image_gt_data_param, checked and as the parts of the layer want them.

#include "layers/types/image_gt_data/gt_settings.h"

#include <cmath>

#include "base/str.h"
#include "layers/kit/field_checks.h"

namespace robusta {
namespace {

std::string path_of(const char* field) { return str("image_gt_data_param.", field); }

[[noreturn]] void wrong_gt_data(const char* field, const std::string& cause, const std::string& fix) {
  throw wrong_setting(path_of(field), cause, fix);
}

/// Two fields that go together; false where neither is there.
bool both(bool has_one, bool has_other, const char* other, const char* names) {
  if (has_one == has_other) return has_one;
  wrong_gt_data(other, str(names, " go together"), "set both, or neither");
}

void read_drawn_scales(const caffe::ImageGtDataParameter& param, PlacingSettings& settings) {
  const bool scales = both(param.has_min_scale(), param.has_max_scale(), "max_scale", "min_scale and max_scale");
  if (param.do_multiple_scale() && scales) {
    if (param.min_scale() == 0) wrong_gt_data("min_scale", "min_scale is 0", "give the least size of boxes in pixels");
    if (param.max_scale() < param.min_scale())
      wrong_gt_data("max_scale", str("max_scale ", param.max_scale(), " is below min_scale"), "give no less");
    settings.min_scale = static_cast<float>(param.min_scale());
    settings.max_scale = static_cast<float>(param.max_scale());
  }
  if (!both(param.has_min_whaspect(), param.has_max_whaspect(), "max_whaspect", "min_whaspect and max_whaspect"))
    return;
  constexpr float kLeastStep = 0.05f, kMost = 1000;
  settings.min_aspect = require_finite(param.min_whaspect(), path_of("min_whaspect"));
  settings.max_aspect = require_finite(param.max_whaspect(), path_of("max_whaspect"));
  if (settings.min_aspect <= 0)
    wrong_gt_data("min_whaspect", str("min_whaspect is ", settings.min_aspect), "give a ratio above 0");
  if (settings.max_aspect - settings.min_aspect < kLeastStep || settings.max_aspect > kMost)
    wrong_gt_data("max_whaspect", str("max_whaspect is ", settings.max_aspect),
                  "give at least 0.05 more than min_whaspect, and at most 1000");
}

}  // namespace

ReadingSettings gt_reading(const caffe::LayerParameter& layer) {
  const caffe::ImageGtDataParameter& param = layer.image_gt_data_param();
  if (param.source().empty()) wrong_gt_data("source", "no source is given", "name a window file");
  if (param.batch_size() == 0) wrong_gt_data("batch_size", "batch_size is 0", "set it to 1 or more");
  return {.source = param.source(),
          .field = path_of("source"),
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle()};
}

void check_gt_canvas(const PlacingSettings& settings, const char* field) {
  if (settings.height <= kMostPixels / settings.width) return;
  wrong_gt_data(field, str("images of ", settings.height, " x ", settings.width, " pixels (rows x columns)"),
                "make them smaller: give resize_width and resize_height");
}

PlacingSettings gt_placing(const caffe::LayerParameter& layer) {
  const caffe::ImageGtDataParameter& param = layer.image_gt_data_param();
  PlacingSettings settings{.mirror = layer.transform_param().mirror()};
  if (both(param.has_resize_width(), param.has_resize_height(), "resize_height", "resize_width and resize_height")) {
    settings.resized_width = settings.width = param.resize_width();
    settings.resized_height = settings.height = param.resize_height();
    if (settings.width == 0) wrong_gt_data("resize_width", "resize_width is 0", "give pixels");
    if (settings.height == 0) wrong_gt_data("resize_height", "resize_height is 0", "give pixels");
    check_gt_canvas(settings, "resize_height");
  }
  settings.min_width = require_finite(param.min_gt_width(), path_of("min_gt_width"));
  settings.min_height = require_finite(param.min_gt_height(), path_of("min_gt_height"));
  read_drawn_scales(param, settings);
  return settings;
}

void take_gt_crop(const caffe::ImageGtDataParameter& param, PlacingSettings& settings) {
  if (!param.has_crop_width() || !param.has_crop_height()) return;
  const auto crop = [](const char* field, int64_t size, int64_t& side) {
    if (side > 0 && size > side) wrong_gt_data(field, str(field, " ", size, " of images of ", side), "give no more");
    if (size > 0) side = size;
  };
  crop("crop_width", param.crop_width(), settings.width);
  crop("crop_height", param.crop_height(), settings.height);
}

std::vector<CellMap> gt_maps(const caffe::LayerParameter& layer) {
  const caffe::ImageGtDataParameter& param = layer.image_gt_data_param();
  const int maps = param.downsample_rate_size();
  if (maps == 0) wrong_gt_data("downsample_rate", "no downsample_rate is given", "give one for each map of labels");
  if (param.field_h_size() != maps)
    wrong_gt_data("field_h", str(param.field_h_size(), " of field_h for ", maps, " maps"), "give one for each map");
  if (param.field_w_size() != maps)
    wrong_gt_data("field_w", str(param.field_w_size(), " of field_w for ", maps, " maps"), "give one for each map");
  if (param.coord_num() != 4) wrong_gt_data("coord_num", str("coord_num is ", param.coord_num()), "boxes have 4");
  require_finite(param.fg_threshold(), path_of("fg_threshold"));
  require_finite(param.scale(), path_of("scale"));
  if (param.fg_img_multiple() == 0)
    wrong_gt_data("fg_img_multiple", "fg_img_multiple is 0", "give how often images with boxes count, 1 or more");
  const int tops = 1 + maps + (param.output_gt_boxes() ? 1 : 0);
  if (layer.top_size() != tops) {
    throw Error(ErrorKind::kConfig, str("there are ", layer.top_size(), " tops"),
                str("name ", tops, ": the images, a map for each downsample_rate",
                    param.output_gt_boxes() ? ", and the boxes" : ""))
        .in_field("top");
  }
  std::vector<CellMap> all;
  for (int i = 0; i < maps; ++i) {
    if (param.downsample_rate(i) == 0)
      wrong_gt_data("downsample_rate", "downsample_rate is 0", "give the pixels from cell to cell");
    if (param.field_w(i) == 0) wrong_gt_data("field_w", "field_w is 0", "give pixels");
    if (param.field_h(i) == 0) wrong_gt_data("field_h", "field_h is 0", "give pixels");
    all.push_back({.rate = static_cast<float>(param.downsample_rate(i)),
                   .field_w = static_cast<float>(param.field_w(i)),
                   .field_h = static_cast<float>(param.field_h(i))});
  }
  return all;
}

std::vector<CellMap> sized_maps(std::vector<CellMap> maps, int64_t height, int64_t width) {
  for (CellMap& map : maps) {
    map.height = std::lround(static_cast<float>(height) / map.rate);
    map.width = std::lround(static_cast<float>(width) / map.rate);
    if (map.height > 0 && map.width > 0) continue;
    wrong_gt_data("downsample_rate",
                  str("a map of one cell for ", map.rate, " pixels has none for images of ", height, " x ", width,
                      " (rows x columns)"),
                  "give less, or larger images");
  }
  return maps;
}

}  // namespace robusta
