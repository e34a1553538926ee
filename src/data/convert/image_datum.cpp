// Sizes follow the settings of convert_imageset, and SSD's min_dim and max_dim.

#include "data/convert/image_datum.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/input_file.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

ImageToDatum::ImageToDatum(const ImageDatumOptions& options) : options_(options) {
  if (!options.encode_type.empty() && !is_written(parse_image_format(options.encode_type))) {
    throw Error(ErrorKind::kUnsupported, "images of type \"" + options.encode_type + "\" are read, and not written",
                "say jpg or png");
  }
  options_.encoded = options.encoded || !options.encode_type.empty();
  if (options.resize_height > 0 && options.resize_width > 0 &&
      options.resize_height > kMostPixels / options.resize_width) {
    throw Error(ErrorKind::kUsage,
                str("images of ", options.resize_width, " x ", options.resize_height, " pixels; at most ", kMostPixels),
                "give smaller --resize_height and --resize_width");
  }
}

bool ImageToDatum::resizes() const {
  return options_.min_dim > 0 || options_.max_dim > 0 || (options_.resize_height > 0 && options_.resize_width > 0);
}

/// The short side is at least min_dim, and the long one, before that, at most max_dim.
Extent ImageToDatum::resized(const Extent& image) const {
  if (options_.min_dim <= 0 && options_.max_dim <= 0)
    return {image.channels, options_.resize_height, options_.resize_width};
  const auto [low, high] = std::minmax(image.height, image.width);
  float scale = 1;
  if (low < options_.min_dim) scale = static_cast<float>(options_.min_dim) / static_cast<float>(low);
  if (options_.max_dim > 0 && static_cast<int64_t>(scale * static_cast<float>(high)) > options_.max_dim)
    scale = static_cast<float>(options_.max_dim) / static_cast<float>(high);
  const auto side = [=](int64_t length) {
    return std::max<int64_t>(1, std::llround(std::min(scale * static_cast<float>(length), 1e9f)));
  };
  return {image.channels, side(image.height), side(image.width)};
}

ImageToDatum::Result ImageToDatum::convert(const std::string& path) const {
  const std::string file = read_input_file(path, ErrorKind::kData);
  Image image;
  const bool scaled = options_.scaled_jpeg && resizes();
  const auto wanted = [this](const Extent& whole) { return resized(whole); };
  decode_image(file, options_.gray ? ColorMode::kGray : ColorMode::kColor,
               {.size = scaled ? WantedSize(wanted) : nullptr, .part = nullptr}, image);
  const Extent whole = image.pixels().image();
  Result result{.datum = {}, .extent = whole, .original = whole};
  if (resizes()) {
    const Extent size = resized(whole);
    if (size.height > kMostPixels / size.width)
      throw Error(ErrorKind::kData, str("it would become ", size.str(), " pixels"), "give a smaller --min_dim");
    Image other;
    resize_bilinear(image.pixels(), size.height, size.width, other);
    image = std::move(other);
    result.extent = image.extent;
  }
  result.datum.set_encoded(options_.encoded);
  if (options_.encoded) {
    result.datum.set_data(encode(path, file, image));
    return result;
  }
  result.datum.set_channels(static_cast<int32_t>(image.extent.channels));
  result.datum.set_height(static_cast<int32_t>(image.extent.height));
  result.datum.set_width(static_cast<int32_t>(image.extent.width));
  result.datum.set_data(image.planes.data(), image.planes.size());
  return result;
}

/// The file as it is where nothing is to be changed. Caffe compares the type with the file's name; so do we. What is
/// changed and not written here becomes PNG, which keeps each pixel.
std::string ImageToDatum::encode(const std::string& path, const std::string& file, const Image& image) const {
  const std::string extension = std::filesystem::path(path).extension().string();
  const std::string type = !options_.encode_type.empty() ? options_.encode_type : extension;
  const ImageFormat wanted = type.empty() ? image_format_of(file) : parse_image_format(type);
  const ImageFormat named = extension.empty() ? image_format_of(file) : parse_image_format(extension);
  const int64_t stored_channels = image_extent(file, ColorMode::kAsStored).channels;
  const bool channels_fit = (stored_channels == 3) == !options_.gray;
  if (!resizes() && channels_fit && wanted == named) return file;
  return encode_image(image, is_written(wanted) ? wanted : ImageFormat::kPng);
}

}  // namespace robusta
