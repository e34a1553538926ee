// Formats told by their first bytes, and what the codecs share: planes from interleaved rows and back.

#include "data/image.h"

#include <algorithm>
#include <cctype>

#include "base/str.h"
#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct Signature {
  std::string_view start, name;
};

using namespace std::string_view_literals;
constexpr Signature kJpegStart{"\xff\xd8\xff"sv, "JPEG"sv};
constexpr Signature kPngStart{"\x89PNG\r\n\x1a\n"sv, "PNG"sv};
constexpr Signature kOthers[] = {
    {"GIF8"sv, "GIF"sv},  {"BM"sv, "BMP"sv}, {"II*\0"sv, "TIFF"sv}, {"MM\0*"sv, "TIFF"sv},
    {"RIFF"sv, "WebP"sv}, {"P5"sv, "PGM"sv}, {"P6"sv, "PPM"sv},     {"\0\0\0\x0cjP"sv, "JPEG 2000"sv}};

bool is(const Signature& signature, std::string_view file) { return file.starts_with(signature.start); }

[[noreturn]] void refuse(std::string_view file) {
  for (const Signature& other : kOthers) {
    if (!is(other, file)) continue;
    throw Error(ErrorKind::kUnsupported, str("it is a ", other.name, " image; this build reads JPEG and PNG"),
                "convert it to JPEG or PNG");
  }
  throw Error(ErrorKind::kData, str("it is no image: its ", file.size(), " bytes begin like neither JPEG nor PNG"),
              "remove it, or give the image anew");
}

/// Interleaving with the number of channels known when compiled is several times as fast.
template <int kChannels>
void split_row(const uint8_t* from, int64_t width, uint8_t* to, int64_t plane) {
  for (int c = 0; c < kChannels; ++c) {
    for (int64_t x = 0; x < width; ++x) to[c * plane + x] = from[x * kChannels + c];
  }
}

}  // namespace

void check_image_size(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0) throw Error(ErrorKind::kData, "the image is empty", "give it anew");
  constexpr auto kMost = static_cast<uint64_t>(kMostPixels);
  if (width > kMost || height > kMost || width * height > kMost) {
    throw Error(ErrorKind::kData,
                str("the image claims ", width, " x ", height, " pixels; at most ", kMostPixels, " are read"),
                "make it smaller, or give it anew");
  }
}

void to_planes(const uint8_t* interleaved, const Extent& extent, Image& image) {
  image.reset(extent);
  const int64_t plane = extent.height * extent.width, stride = extent.channels * extent.width;
  for (int64_t y = 0; y < extent.height; ++y) {
    const uint8_t* from = interleaved + y * stride;
    uint8_t* to = image.row(0, y);
    if (extent.channels == 3)
      split_row<3>(from, extent.width, to, plane);
    else if (extent.channels == 4)
      split_row<4>(from, extent.width, to, plane);
    else
      std::copy_n(from, extent.width, to);
  }
}

void interleave_row(const Image& image, int64_t y, uint8_t* row) {
  const int64_t channels = image.extent.channels;
  for (int64_t c = 0; c < channels; ++c) {
    const uint8_t* from = image.row(c, y);
    for (int64_t x = 0; x < image.extent.width; ++x) row[x * channels + c] = from[x];
  }
}

ImageFormat image_format_of(std::string_view file) {
  if (is(kJpegStart, file)) return ImageFormat::kJpeg;
  if (is(kPngStart, file)) return ImageFormat::kPng;
  refuse(file);
}

void decode_image(std::string_view file, ColorMode mode, Image& image) {
  if (image_format_of(file) == ImageFormat::kJpeg)
    decode_jpeg(file, mode, image);
  else
    decode_png(file, mode, image);
}

Extent image_extent(std::string_view file, ColorMode mode) {
  return image_format_of(file) == ImageFormat::kJpeg ? jpeg_extent(file, mode) : png_extent(file, mode);
}

std::string encode_image(const Image& image, ImageFormat format) {
  return format == ImageFormat::kJpeg ? encode_jpeg(image) : encode_png(image);
}

ImageFormat parse_image_format(std::string_view extension) {
  if (extension.starts_with('.')) extension.remove_prefix(1);
  std::string word(extension);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "jpg" || word == "jpeg") return ImageFormat::kJpeg;
  if (word == "png") return ImageFormat::kPng;
  throw Error(ErrorKind::kUnsupported, "images of type \"" + word + "\" cannot be written", "say jpg or png");
}

}  // namespace robusta
