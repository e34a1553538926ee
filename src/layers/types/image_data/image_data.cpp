// ImageData: images and labels from files that a list names. Tops: data [batch, channels, height, width], label
// [batch]. A reader for the list, a filler for image files; the rest is PrefetchedSource's.

#include "data/image.h"
#include "data/image_files.h"
#include "data/item_writer.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/forced_colors.h"
#include "layers/kit/listed_images.h"

namespace robusta {
namespace {

/// DeepLab's Caffe reads maps of labels in a layer of its own.
ListedImages read_images(const caffe::LayerParameter& layer) {
  const caffe::ImageDataParameter& param = layer.image_data_param();
  if (param.label_type() != caffe::ImageDataParameter::IMAGE) {
    throw Error(ErrorKind::kConfig, "ImageData has one label for each image", "make the layer an ImageSegData")
        .in_field("image_data_param.label_type");
  }
  return listed_images(layer, param, "image_data_param", "path label");
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
      : ImageDataLayer(param, read_images(param)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    warn_of_forced_colors(param(), "is_color decides");
    auto reader = std::make_shared<ImageFilesReader>(source, param().image_data_param().root_folder());
    auto filler =
        std::make_unique<ImageFiller>(Transformer(param().transform_param(), training()), name(), size_, reader);
    return {std::move(reader), std::move(filler)};
  }

  AssumedItem assumed_item(const std::string& source) const override {
    auto [extent, reason] = assumed_extent(source, param().transform_param());
    extent.channels = size_.channels;
    if (size_.height > 0 && reason != "the size of the crop") {
      extent = size_;
      reason = "new_height and new_width";
    }
    return {{extent.channels, extent.height, extent.width}, reason};
  }

 private:
  ImageDataLayer(const caffe::LayerParameter& param, const ListedImages& images)
      : PrefetchedSource(param, images.reading), size_(images.size) {}

  Extent size_;
};

ROBUSTA_REGISTER_LAYER("ImageData", ImageDataLayer);

}  // namespace
}  // namespace robusta
