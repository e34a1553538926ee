// ImageGtData: images with boxes from a window file, and what the cells of several maps of detections should say of
// them, as MS-CNN trains on them (zhaoweicai/mscnn, src/caffe/layers/image_gt_data_layer.cpp). Tops: data [batch, 3,
// height, width]; for each downsample_rate a map [batch, 6, cells, cells] (cell_labels.h); with output_gt_boxes the
// boxes of all images [boxes, 7, 1, 1]: the image's place in the batch, two corners in pixels, class, ignored or not. A
// batch without boxes has one that is ignored. What is drawn for a sample (image_placing.h) depends on the layer's
// name, the seed and the sample's position. A reader for the window file, a filler; the rest is PrefetchedSource's.

#include <cmath>

#include "base/str.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/forced_colors.h"
#include "layers/types/image_gt_data/gt_filler.h"
#include "layers/types/image_gt_data/gt_settings.h"

namespace robusta {
namespace {

class ImageGtDataLayer : public PrefetchedSource {
 public:
  explicit ImageGtDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, gt_reading(param)), placing_(gt_placing(param)), maps_(gt_maps(param)) {
    take_gt_crop(fields(), placing_);
    check_transform();
    if (placing_.height == 0 || placing_.width == 0) return;
    check_gt_canvas(placing_, "crop_height");
    sized_maps(maps_, placing_.height, placing_.width);
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
    check_gt_canvas(placing, "source");
    auto filler = make_gt_filler(name(), placing, sized_maps(maps_, placing.height, placing.width), fields(),
                                 Transformer(param().transform_param(), training()), images);
    return {std::move(images), std::move(filler)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    if (placing_.height > 0 && placing_.width > 0)
      return {{kGtPlanes, placing_.height, placing_.width}, "the size that images are brought to", true, true};
    AssumedItem item = assumed_image(source, param().transform_param());
    item.shape[0] = kGtPlanes;
    item.channels_known = true;
    return item;
  }
  bool others_are_numbers() const override { return false; }

  /// Maps of a background without end, and two boxes of class 1 in each image.
  Shape assumed_top(int top, int64_t batch) const override {
    if (is_rows(top)) return {kAssumedBoxes * batch, kGtRowNumbers, 1, 1};
    const AssumedItem told = assumed(top), image = assumed(0);
    if (told.shape.axes() > 0) return batch_of(batch, told.shape);
    const CellMap map = sized_maps({maps_[static_cast<size_t>(top - 1)]}, image.shape[1], image.shape[2])[0];
    return {batch, CellMap::kNumbers, map.height, map.width};
  }
  float assumed_value(int top, int64_t index) const override {
    constexpr float kBoxes[kAssumedBoxes][4] = {{0.1f, 0.1f, 0.5f, 0.6f}, {0.4f, 0.3f, 0.9f, 0.8f}};
    if (!is_rows(top)) return 0;
    const int64_t row = index / kGtRowNumbers, column = index % kGtRowNumbers;
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
    if (means > 1 && means != kGtPlanes)
      throw wrong_setting("transform_param.mean_value", str("there are ", means, " values of mean_value"),
                          "give one, or 3");
  }

  PlacingSettings placing_;  // sides of the canvas are 0 where the window file says them
  std::vector<CellMap> maps_;
};

ROBUSTA_REGISTER_LAYER("ImageGtData", ImageGtDataLayer);

}  // namespace
}  // namespace robusta
