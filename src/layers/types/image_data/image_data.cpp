// ImageData: images and labels from files that a list names. Tops: data [batch, channels, height, width], label
// [batch]. A reader for the list, a filler for image files; the rest is PrefetchedSource's.
//
// min_height and min_width are Intel's, short_side NVIDIA's (src/caffe/util/io.cpp of both, ReadImageToCVMat): an image
// smaller than the former in either axis grows, keeping its form, until it is as large where it lacked more; the latter
// makes the shorter side of every image so long.

#include <algorithm>
#include <utility>

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

/// Whole pixels, at least one.
int64_t whole(double pixels) { return std::max<int64_t>(static_cast<int64_t>(pixels), 1); }

/// What becomes of the size of an image.
struct SizeRule {
  Extent fixed;            ///< that of all images; without height: each keeps its own, but for the others
  int64_t short_side = 0;  ///< Intel's and NVIDIA's fields, 0 where they are not given
  int64_t least_height = 0, least_width = 0;

  /// The bytes of 2^27 pixels are not exceeded. Throws Error{kData}.
  Extent of(const Extent& image) const {
    Extent size{image.channels, fixed.height, fixed.width};
    const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
    if (short_side > 0) {
      size.height = std::max(short_side, image.height * short_side / image.width);
      size.width = std::max(short_side, image.width * short_side / image.height);
    } else if (fixed.height == 0 && (image.height < least_height || image.width < least_width)) {
      const bool by_width = least_width - image.width > least_height - image.height;
      size.height = by_width ? whole(static_cast<double>(least_width) * height / width + 0.5) : least_height;
      size.width = by_width ? least_width : whole(static_cast<double>(least_height) * width / height + 0.5);
    } else if (fixed.height == 0) {
      return image;
    }
    if (size.height <= kMostPixels / size.width) return size;
    throw Error(ErrorKind::kData, str("resized it has ", size.height, " x ", size.width, " pixels"),
                "images as narrow as this one are to be cut first");
  }
};

SizeRule size_rule(const caffe::ImageDataParameter& param, const Extent& fixed) {
  const auto fail = [](const std::string& field, const std::string& cause, const std::string& fix) {
    throw Error(ErrorKind::kConfig, cause, fix).in_field("image_data_param." + field);
  };
  const SizeRule rule{fixed, param.short_side(), param.min_height(), param.min_width()};
  if ((rule.least_height > 0) != (rule.least_width > 0)) {
    fail(rule.least_height > 0 ? "min_width" : "min_height", "min_height and min_width go together",
         "set both, or neither");
  }
  if (rule.short_side > 0 && (fixed.height > 0 || rule.least_height > 0)) {
    fail("short_side", "short_side is given together with another size", "give short_side alone");
  }
  constexpr int64_t kMostSide = 1 << 20;
  for (const auto& [field, side] :
       {std::pair{"short_side", rule.short_side}, std::pair{"min_height", rule.least_height},
        std::pair{"min_width", rule.least_width}}) {
    if (side > kMostSide) fail(field, str(field, " is ", side), str("give ", kMostSide, " or less"));
  }
  return rule;
}

class ImageFiller : public RecordFiller {
 public:
  ImageFiller(Transformer transformer, const std::string& layer, const SizeRule& size,
              std::shared_ptr<const ImageFilesReader> list)
      : writer_(std::move(transformer), layer, true, "set new_height and new_width"),
        size_(size),
        list_(std::move(list)) {}

  void decode_scaled() override {
    writer_.decode_scaled();
    wanted_size_ = [this](const Extent& image) {
      const Extent size = size_.of(image);
      return size == image ? writer_.transformer().wanted_size(image) : size;
    };
  }

  std::vector<Shape> item_shapes(std::string_view record, int64_t) const override {
    return writer_.shapes(size_.of(image_extent(record, color_mode())));
  }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    thread_local Image image, resized;
    decode_image(record, color_mode(), {wanted_size_, part_read(sample)}, image);
    const Extent whole = image.pixels().image(), size = size_.of(whole);
    const bool resizes = size != whole;
    if (resizes) resize_part_bilinear(image.pixels(), size.height, size.width, part_taken(size, sample), resized);
    writer_.write((resizes ? resized : image).pixels(), list_->label(sample.record), sample, batch);
  }

  std::optional<PixelForm> pixel_form(std::string_view) const override { return writer_.transformer().form(); }
  int label_top() const override { return 1; }
  int label(std::string_view, int64_t index) const override { return list_->label(index); }

 private:
  ColorMode color_mode() const { return size_.fixed.channels == 3 ? ColorMode::kColor : ColorMode::kGray; }

  /// What the transformer looks at of a picture of this size.
  PixelRect part_taken(const Extent& size, const Sample& sample) const {
    return writer_.transformer().part_read(size, size, writer_.key(sample), sample.position);
  }

  /// What this and the resizing before it look at. The sample has to outlive it.
  WantedPart part_read(const Sample& sample) const {
    return [this, &sample](const Extent& decoded, const Extent& image) {
      const Extent size = size_.of(image);
      if (size == image) return writer_.wanted_pixels(sample).part(decoded, image);
      return read_by_resize(decoded, size.height, size.width, part_taken(size, sample));
    };
  }

  ItemWriter writer_;
  SizeRule size_;
  WantedSize wanted_size_;  // null unless decode_scaled
  std::shared_ptr<const ImageFilesReader> list_;
};

class ImageDataLayer : public PrefetchedSource {
 public:
  explicit ImageDataLayer(const caffe::LayerParameter& param) : ImageDataLayer(param, read_images(param)) {}
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
    const Extent& fixed = size_.fixed;
    assumed.shape[0] = fixed.channels;
    assumed.channels_known = true;
    const auto size_by = [&](int64_t height, int64_t width, const char* reason) {
      assumed = {{fixed.channels, height, width}, reason, true, true};
    };
    if (assumed.reason == "the size of the crop") return assumed;
    if (fixed.height > 0) {
      size_by(fixed.height, fixed.width, "new_height and new_width");
    } else if (size_.short_side > 0) {
      size_by(size_.short_side, size_.short_side, "short_side");
    } else if (size_.least_height > 0) {
      size_by(size_.least_height, size_.least_width, "min_height and min_width");
    }
    return assumed;
  }

 private:
  ImageDataLayer(const caffe::LayerParameter& param, const ListedImages& images)
      : PrefetchedSource(param, images.reading), size_(size_rule(param.image_data_param(), images.size)) {}

  SizeRule size_;
};

ROBUSTA_REGISTER_LAYER("ImageData", ImageDataLayer);

}  // namespace
}  // namespace robusta
