// From an image with boxes to one sample of each top: placed (image_placing.h), its pixels written, its cells labelled.

#include "layers/types/image_gt_data/gt_filler.h"

#include <algorithm>

#include "data/image.h"

namespace robusta {
namespace {

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
    std::vector<Shape> shapes{{kGtPlanes, settings_.height, settings_.width}};
    for (const CellMap& map : maps_) shapes.push_back({CellMap::kNumbers, map.height, map.width});
    const auto boxes = static_cast<int64_t>(images_->objects(index).objects.size());
    if (has_rows_) shapes.push_back({std::max<int64_t>(1, boxes), kGtRowNumbers, 1, 1});
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
    write_pixels(image, to, batch.numbers(0) + sample.place * kGtPlanes * settings_.height * settings_.width);
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
    std::fill_n(out, kGtPlanes * settings_.height * settings_.width, 0.0f);
    for (int64_t c = 0; c < kGtPlanes; ++c) {
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

}  // namespace

std::unique_ptr<RecordFiller> make_gt_filler(const std::string& layer, const PlacingSettings& settings,
                                             std::vector<CellMap> maps, const caffe::ImageGtDataParameter& param,
                                             const Transformer& transformer,
                                             std::shared_ptr<const ObjectFileReader> images) {
  return std::make_unique<GtFiller>(layer, settings, std::move(maps), param, transformer, std::move(images));
}

}  // namespace robusta
