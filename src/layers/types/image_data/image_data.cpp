// ImageData: images and labels from files that a list names. Tops: data [batch, channels, height, width], label
// [batch]. A reader for the list, a filler for image files; the rest is PrefetchedSource's.

#include "base/str.h"
#include "data/image.h"
#include "data/image_files.h"
#include "data/item_writer.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/forced_colors.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

[[noreturn]] void wrong_image_data(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field("image_data_param." + field);
}

ReadingSettings image_reading(const caffe::LayerParameter& layer) {
  const caffe::ImageDataParameter& param = layer.image_data_param();
  if (param.source().empty())
    wrong_image_data("source", "no source is given", "name a text file of \"path label\" lines");
  if (param.batch_size() == 0) wrong_image_data("batch_size", "batch_size is 0", "set it to 1 or more");
  return {.source = param.source(),
          .field = "image_data_param.source",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle(),
          .skip_below = param.rand_skip()};
}

/// new_height and new_width; zeros where images keep their size.
Extent read_size(const caffe::ImageDataParameter& param) {
  const int64_t height = param.new_height(), width = param.new_width();
  if ((height > 0) != (width > 0)) {
    wrong_image_data(height > 0 ? "new_width" : "new_height", "new_height and new_width go together",
                     "set both, or neither");
  }
  if (height > 0 && height > kMostPixels / width) {
    wrong_image_data("new_height", str("images of ", height, " x ", width, " pixels; at most ", kMostPixels),
                     "make them smaller");
  }
  return {param.is_color() ? 3 : 1, height, width};
}

class ImageFiller : public RecordFiller {
 public:
  /// `size`: that of all images; without height: each has its own.
  ImageFiller(Transformer transformer, const std::string& layer, const Extent& size,
              std::shared_ptr<const ImageFilesReader> list)
      : writer_(std::move(transformer), layer, true, "set new_height and new_width"),
        size_(size),
        list_(std::move(list)) {}

  std::vector<Shape> item_shapes(std::string_view record, int64_t) const override {
    const Extent stored = image_extent(record, color_mode());
    return writer_.shapes(resizes() ? size_ : stored);
  }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    thread_local Image image, resized;
    decode_image(record, color_mode(), image);
    if (resizes()) resize_bilinear(image.pixels(), size_.height, size_.width, resized);
    writer_.write((resizes() ? resized : image).pixels(), list_->label(sample.record), sample, batch);
  }

  std::optional<PixelForm> pixel_form(std::string_view) const override { return writer_.transformer().form(); }
  int label_top() const override { return 1; }
  int label(std::string_view, int64_t index) const override { return list_->label(index); }

 private:
  bool resizes() const { return size_.height > 0; }
  ColorMode color_mode() const { return size_.channels == 3 ? ColorMode::kColor : ColorMode::kGray; }

  ItemWriter writer_;
  Extent size_;
  std::shared_ptr<const ImageFilesReader> list_;
};

class ImageDataLayer : public PrefetchedSource {
 public:
  explicit ImageDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, image_reading(param)), size_(read_size(param.image_data_param())) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    warn_of_forced_colors(param(), "is_color decides");
    auto reader = std::make_shared<ImageFilesReader>(source, param().image_data_param().root_folder());
    auto filler =
        std::make_unique<ImageFiller>(Transformer(param().transform_param(), training()), name(), size_, reader);
    return {std::move(reader), std::move(filler)};
  }

  void check_without_data() const override { Transformer::check(param().transform_param(), training()); }
  AssumedItem assumed_item(const std::string& source) const override {
    AssumedItem assumed = assumed_image(source, param().transform_param());
    assumed.shape[0] = size_.channels;
    assumed.channels_known = true;
    if (size_.height > 0 && assumed.reason != "the size of the crop") {
      assumed = {{size_.channels, size_.height, size_.width}, "new_height and new_width", true, true};
    }
    return assumed;
  }

 private:
  Extent size_;
};

ROBUSTA_REGISTER_LAYER("ImageData", ImageDataLayer);

}  // namespace
}  // namespace robusta
