// WebP by libwebp, still images alone. A build without the library lacks this folder.

#include <webp/decode.h>

#include <string>

#include "base/str.h"
#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string webp_reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "the WebP image is cut off";
    case VP8_STATUS_OUT_OF_MEMORY:
      throw std::bad_alloc();
    default:
      return "the WebP image is damaged";
  }
}

const uint8_t* bytes_of(std::string_view file) { return reinterpret_cast<const uint8_t*>(file.data()); }

WebPBitstreamFeatures webp_header(std::string_view file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(file), file.size(), &features);
  if (status != VP8_STATUS_OK) throw Error(ErrorKind::kData, webp_reason(status), "remove it, or give the image anew");
  if (features.has_animation) {
    throw Error(ErrorKind::kUnsupported, "it is a WebP animation; still images are read",
                "save its images one by one, as PNG");
  }
  check_image_size(static_cast<uint64_t>(features.width), static_cast<uint64_t>(features.height));
  return features;
}

/// libwebp has no grey: kGray is made of colours.
int64_t stored_channels(const WebPBitstreamFeatures& features, ColorMode mode) {
  return mode == ColorMode::kAsStored && features.has_alpha ? 4 : 3;
}

Extent webp_extent(std::string_view file, ColorMode mode) {
  const WebPBitstreamFeatures features = webp_header(file);
  return {mode == ColorMode::kGray ? 1 : stored_channels(features, mode), features.height, features.width};
}

void decode_webp(std::string_view file, ColorMode mode, Image& image) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) throw Error(ErrorKind::kInternal, "libwebp is another one than its headers");
  config.input = webp_header(file);
  const int64_t channels = stored_channels(config.input, mode), width = config.input.width;
  const Extent extent{mode == ColorMode::kGray ? 1 : channels, config.input.height, width};
  image.reset(extent);
  image.scratch.resize(static_cast<size_t>(channels * width * extent.height));
  config.output.colorspace = channels == 4 ? MODE_BGRA : MODE_BGR;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.scratch.data(), static_cast<int>(channels * width), image.scratch.size()};
  const VP8StatusCode status = WebPDecode(bytes_of(file), file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) throw Error(ErrorKind::kData, webp_reason(status), "remove it, or give the image anew");
  for (int64_t y = 0; y < extent.height; ++y) {
    uint8_t* row = image.scratch.data() + y * channels * width;
    if (mode == ColorMode::kGray) bgr_to_gray(row, width);
    to_planes(row, y, image);
  }
}

[[maybe_unused]] const bool registered_webp = register_webp({decode_webp, webp_extent});

}  // namespace
}  // namespace robusta
