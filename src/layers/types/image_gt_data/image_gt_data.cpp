// ImageGtData: images with boxes from a window file, and what the cells of several maps of detections should say of
// them, as MS-CNN trains on them (zhaoweicai/mscnn, src/caffe/layers/image_gt_data_layer.cpp). Tops: data [batch, 3,
// height, width]; for each downsample_rate a map [batch, 6, cells, cells] (cell_labels.h); with output_gt_boxes the
// boxes of all images [boxes, 7, 1, 1]: the image's place in the batch, two corners in pixels, class, ignored or not. A
// batch without boxes has one that is ignored. What is drawn for a sample (image_placing.h) depends on the layer's
// name, the seed and the sample's position. A reader for the window file, a filler; the rest is PrefetchedSource's.

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/str.h"
#include "data/image.h"
#include "data/object_file.h"
#include "data/transformer.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/forced_colors.h"
#include "layers/kit/prefetched_source.h"
#include "layers/types/image_gt_data/cell_labels.h"

namespace robusta {
namespace {

constexpr int64_t kPlanes = 3;      // images are read in colours
constexpr int64_t kRowNumbers = 7;  // of a box

std::string path_of(const char* field) { return str("image_gt_data_param.", field); }

[[noreturn]] void wrong_gt_data(const char* field, const std::string& cause, const std::string& fix) {
  throw wrong_setting(path_of(field), cause, fix);
}

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

/// `field`: what says the size.
void check_canvas(const PlacingSettings& settings, const char* field) {
  if (settings.height <= kMostPixels / settings.width) return;
  wrong_gt_data(field, str("images of ", settings.height, " x ", settings.width, " pixels (rows x columns)"),
                "make them smaller: give resize_width and resize_height");
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

/// Sides of the canvas are 0 where the last image of the file says them.
PlacingSettings read_placing(const caffe::LayerParameter& layer) {
  const caffe::ImageGtDataParameter& param = layer.image_gt_data_param();
  PlacingSettings settings{.mirror = layer.transform_param().mirror()};
  if (both(param.has_resize_width(), param.has_resize_height(), "resize_height", "resize_width and resize_height")) {
    settings.resized_width = settings.width = param.resize_width();
    settings.resized_height = settings.height = param.resize_height();
    if (settings.width == 0) wrong_gt_data("resize_width", "resize_width is 0", "give pixels");
    if (settings.height == 0) wrong_gt_data("resize_height", "resize_height is 0", "give pixels");
    check_canvas(settings, "resize_height");
  }
  settings.min_width = require_finite(param.min_gt_width(), path_of("min_gt_width"));
  settings.min_height = require_finite(param.min_gt_height(), path_of("min_gt_height"));
  read_drawn_scales(param, settings);
  return settings;
}

/// Images that are not resized may be larger or smaller.
void take_crop(const caffe::ImageGtDataParameter& param, PlacingSettings& settings) {
  if (!param.has_crop_width() || !param.has_crop_height()) return;
  const auto crop = [](const char* field, int64_t size, int64_t& side) {
    if (side > 0 && size > side) wrong_gt_data(field, str(field, " ", size, " of images of ", side), "give no more");
    if (size > 0) side = size;
  };
  crop("crop_width", param.crop_width(), settings.width);
  crop("crop_height", param.crop_height(), settings.height);
}

/// Without extents, which follow from the canvas.
std::vector<CellMap> read_maps(const caffe::LayerParameter& layer) {
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

/// For a canvas of this size.
std::vector<CellMap> sized(std::vector<CellMap> maps, int64_t height, int64_t width) {
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

/// The part of an image that a rectangle names.
void copy_rect(const Image& image, const PixelRect& rect, Image& part) {
  part.reset({image.extent.channels, rect.height, rect.width});
  for (int64_t c = 0; c < part.extent.channels; ++c) {
    for (int64_t y = 0; y < rect.height; ++y)
      std::copy_n(image.row(c, rect.top + y) + rect.left, rect.width, part.row(c, y));
  }
}

void mirror_rows(Image& image) {
  for (int64_t row = 0; row < image.extent.channels * image.extent.height; ++row) {
    uint8_t* begin = image.planes.data() + row * image.extent.width;
    std::reverse(begin, begin + image.extent.width);
  }
}

class GtFiller : public RecordFiller {
 public:
  GtFiller(std::string layer, const PlacingSettings& settings, std::vector<CellMap> maps,
           const caffe::ImageGtDataParameter& param, const Transformer& transformer,
           std::shared_ptr<const ObjectFileReader> images)
      : layer_(std::move(layer)),
        settings_(settings),
        maps_(std::move(maps)),
        fg_threshold_(param.fg_threshold()),
        scale_(param.scale()),
        has_rows_(param.output_gt_boxes()),
        transformer_(transformer),
        means_(transformer.form().means),
        images_(std::move(images)) {}

  std::vector<Shape> item_shapes(std::string_view, int64_t index) const override {
    std::vector<Shape> shapes{{kPlanes, settings_.height, settings_.width}};
    for (const CellMap& map : maps_) shapes.push_back({CellMap::kNumbers, map.height, map.width});
    const auto boxes = static_cast<int64_t>(images_->objects(index).objects.size());
    if (has_rows_) shapes.push_back({std::max<int64_t>(1, boxes), kRowNumbers, 1, 1});
    return shapes;
  }

  int rows_top() const override { return has_rows_ ? 1 + static_cast<int>(maps_.size()) : -1; }
  int rows_axis() const override { return 0; }
  std::vector<float> no_row() const override { return {0, 1, 1, 2, 2, 1, 1}; }
  std::vector<float> rows(std::string_view record, const Sample& sample) const override {
    std::vector<float> rows;
    for (const auto& [label, ignored, box] : placed(image_extent(record, ColorMode::kColor), sample).objects) {
      rows.insert(rows.end(), {static_cast<float>(sample.place), box.xmin, box.ymin, box.xmax, box.ymax,
                               static_cast<float>(label), static_cast<float>(ignored)});
    }
    return rows;
  }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    thread_local Image image, other;
    decode_image(record, ColorMode::kColor, image);
    const PlacedImage to = placed(image.extent, sample);
    if (to.mirror) mirror_rows(image);
    const auto resize = [](int64_t height, int64_t width) {
      if (image.extent.height == height && image.extent.width == width) return;
      resize_bilinear(image.pixels(), height, width, other);
      std::swap(image, other);
    };
    resize(to.resized_height, to.resized_width);
    if (to.cut.height != image.extent.height || to.cut.width != image.extent.width) {
      copy_rect(image, to.cut, other);
      std::swap(image, other);
    }
    resize(to.height, to.width);
    write_pixels(image, to, batch.numbers(0) + sample.place * kPlanes * settings_.height * settings_.width);
    std::vector<float*> numbers;
    for (size_t i = 0; i < maps_.size(); ++i)
      numbers.push_back(batch.numbers(1 + i) + sample.place * CellMap::kNumbers * maps_[i].cells());
    write_cell_labels(to, maps_, fg_threshold_, numbers);
  }

 private:
  PlacedImage placed(const Extent& image, const Sample& sample) const {
    const uint64_t key = random_key(transformer_.seed_or(sample.seed), layer_, "transform");
    return place_image(image, images_->objects(sample.record), settings_, PhiloxStream(key, sample.position));
  }

  /// The canvas around the image stays 0.
  void write_pixels(const Image& image, const PlacedImage& to, float* out) const {
    std::fill_n(out, kPlanes * settings_.height * settings_.width, 0.0f);
    for (int64_t c = 0; c < kPlanes; ++c) {
      const float mean = means_[means_.size() > 1 ? static_cast<size_t>(c) : 0];
      for (int64_t y = 0; y < to.shown.height; ++y) {
        const uint8_t* row = image.row(c, to.shown.top + y) + to.shown.left;
        float* at = out + (c * settings_.height + to.top + y) * settings_.width + to.left;
        for (int64_t x = 0; x < to.shown.width; ++x) at[x] = (static_cast<float>(row[x]) - mean) * scale_;
      }
    }
  }

  std::string layer_;
  PlacingSettings settings_;
  std::vector<CellMap> maps_;
  float fg_threshold_, scale_;
  bool has_rows_;
  Transformer transformer_;
  std::vector<float> means_;
  std::shared_ptr<const ObjectFileReader> images_;
};

class ImageGtDataLayer : public PrefetchedSource {
 public:
  explicit ImageGtDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, gt_reading(param)), placing_(read_placing(param)), maps_(read_maps(param)) {
    take_crop(fields(), placing_);
    check_transform();
    if (placing_.height == 0 || placing_.width == 0) return;
    check_canvas(placing_, "crop_height");
    sized(maps_, placing_.height, placing_.width);
  }
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = -1}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    warn_of_forced_colors(param(), "images are read in colours");
    auto images = std::make_shared<ObjectFileReader>(source, fields().root_folder(), fields().fg_img_multiple(),
                                                     fields().cache_images());
    PlacingSettings placing = placing_;
    if (placing.height == 0) placing.height = images->last_height();
    if (placing.width == 0) placing.width = images->last_width();
    check_canvas(placing, "source");
    auto filler = std::make_unique<GtFiller>(name(), placing, sized(maps_, placing.height, placing.width), fields(),
                                             Transformer(param().transform_param(), training()), images);
    return {std::move(images), std::move(filler)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    if (placing_.height > 0 && placing_.width > 0)
      return {{kPlanes, placing_.height, placing_.width}, "the size that images are brought to", true, true};
    AssumedItem item = assumed_image(source, param().transform_param());
    item.shape[0] = kPlanes;
    item.channels_known = true;
    return item;
  }
  bool others_are_numbers() const override { return false; }

  /// Maps of a background without end, and two boxes of class 1 in each image.
  Shape assumed_top(int top, int64_t batch) const override {
    if (is_rows(top)) return {kAssumedBoxes * batch, kRowNumbers, 1, 1};
    const AssumedItem told = assumed(top), image = assumed(0);
    if (told.shape.axes() > 0) return batch_of(batch, told.shape);
    const CellMap map = sized({maps_[static_cast<size_t>(top - 1)]}, image.shape[1], image.shape[2])[0];
    return {batch, CellMap::kNumbers, map.height, map.width};
  }
  float assumed_value(int top, int64_t index) const override {
    constexpr float kBoxes[kAssumedBoxes][4] = {{0.1f, 0.1f, 0.5f, 0.6f}, {0.4f, 0.3f, 0.9f, 0.8f}};
    if (!is_rows(top)) return 0;
    const int64_t row = index / kRowNumbers, column = index % kRowNumbers;
    if (column == 0) return static_cast<float>(row / kAssumedBoxes);
    if (column > 4) return column == 5 ? 1 : 0;
    const auto side = static_cast<float>(assumed(0).shape[column % 2 == 1 ? 2 : 1]);
    return std::floor(side * kBoxes[row % kAssumedBoxes][column - 1]);
  }

 private:
  static constexpr int64_t kAssumedBoxes = 2;

  const caffe::ImageGtDataParameter& fields() const { return param().image_gt_data_param(); }
  bool is_rows(int top) const { return top == 1 + static_cast<int>(maps_.size()); }

  void check_transform() const {
    const caffe::TransformationParameter& transform = param().transform_param();
    const Transformer transformer(transform, training());
    if (transformer.alters_images() || transformer.crops() || transform.has_mean_file() || transform.scale() != 1) {
      throw Error(ErrorKind::kUnsupported, "of transformations ImageGtData knows mirror and mean_value alone",
                  "leave the others out; crops, sizes and the scale are fields of image_gt_data_param")
          .in_field("transform_param");
    }
    const int means = transform.mean_value_size();
    if (means > 1 && means != kPlanes)
      throw wrong_setting("transform_param.mean_value", str("there are ", means, " values of mean_value"),
                          "give one, or 3");
  }

  PlacingSettings placing_;  // sides of the canvas are 0 where the window file says them
  std::vector<CellMap> maps_;
};

ROBUSTA_REGISTER_LAYER("ImageGtData", ImageGtDataLayer);

}  // namespace
}  // namespace robusta
