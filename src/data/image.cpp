// Formats told by their first bytes, and what the codecs share: planes from interleaved rows and back.

#include "data/image.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <optional>

#include "base/simd.h"
#include "base/str.h"
#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using namespace std::string_view_literals;

/// What a file begins with; `then` stands behind `start` and four bytes that hold a length.
struct Signature {
  std::string_view start, name, then = {};
};

struct KnownFormat {
  ImageFormat format;
  Signature signature;
};

constexpr KnownFormat kFormats[] = {{ImageFormat::kJpeg, {"\xff\xd8\xff"sv, "JPEG"sv}},
                                    {ImageFormat::kPng, {"\x89PNG\r\n\x1a\n"sv, "PNG"sv}},
                                    {ImageFormat::kBmp, {"BM"sv, "BMP"sv}},
                                    {ImageFormat::kWebp, {"RIFF"sv, "WebP"sv, "WEBP"sv}}};
constexpr Signature kOthers[] = {{"GIF8"sv, "GIF"sv}, {"II*\0"sv, "TIFF"sv}, {"MM\0*"sv, "TIFF"sv},
                                 {"P5"sv, "PGM"sv},   {"P6"sv, "PPM"sv},     {"\0\0\0\x0cjP"sv, "JPEG 2000"sv}};

bool is(const Signature& signature, std::string_view file) {
  if (!file.starts_with(signature.start)) return false;
  const size_t then = signature.start.size() + sizeof(uint32_t);
  return signature.then.empty() || (file.size() > then && file.substr(then).starts_with(signature.then));
}

[[noreturn]] void refuse(std::string_view file) {
  for (const Signature& other : kOthers) {
    if (!is(other, file)) continue;
    throw Error(ErrorKind::kUnsupported, str("it is a ", other.name, " image; JPEG, PNG, BMP and WebP are read"),
                "convert it to JPEG or PNG");
  }
  throw Error(ErrorKind::kData, str("it is no image: its ", file.size(), " bytes begin like no JPEG, PNG, BMP or WebP"),
              "remove it, or give the image anew");
}

std::optional<OptionalCodec>& the_webp() {
  static std::optional<OptionalCodec> codec;
  return codec;
}

const OptionalCodec& webp() {
  if (the_webp()) return *the_webp();
  throw Error(ErrorKind::kUnsupported, "it is a WebP image, and this program was built without libwebp",
              "install libwebp-dev and build with -DROBUSTA_WEBP=ON, or convert it to JPEG or PNG");
}

/// Interleaving with the number of channels known when compiled is several times as fast.
ROBUSTA_SIMD void split_three(const uint8_t* __restrict from, int64_t width, uint8_t* __restrict first,
                              uint8_t* __restrict second, uint8_t* __restrict third) {
  for (int64_t x = 0; x < width; ++x) {
    first[x] = from[3 * x];
    second[x] = from[3 * x + 1];
    third[x] = from[3 * x + 2];
  }
}

}  // namespace

bool register_webp(const OptionalCodec& codec) {
  the_webp() = codec;
  return true;
}

void check_image_size(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0) throw Error(ErrorKind::kData, "the image is empty", "give it anew");
  constexpr auto kMost = static_cast<uint64_t>(kMostPixels);
  if (width > kMost || height > kMost || width * height > kMost) {
    throw Error(ErrorKind::kData,
                str("the image claims ", width, " x ", height, " pixels; at most ", kMostPixels, " are read"),
                "make it smaller, or give it anew");
  }
}

void to_planes(const uint8_t* interleaved, int64_t y, Image& image) {
  to_planes(interleaved, y, 0, image.extent.width, image);
}

void to_planes(const uint8_t* interleaved, int64_t y, int64_t left, int64_t width, Image& image) {
  const int64_t channels = image.extent.channels;
  const auto row_of = [&](int64_t c) { return image.row(c, y) + left; };
  if (channels == 1) {
    std::copy_n(interleaved, width, row_of(0));
  } else if (channels == 3) {
    split_three(interleaved, width, row_of(0), row_of(1), row_of(2));
  } else {
    for (int64_t c = 0; c < channels; ++c) {
      uint8_t* row = row_of(c);
      for (int64_t x = 0; x < width; ++x) row[x] = interleaved[x * channels + c];
    }
  }
}

void interleave_row(const Image& image, int64_t y, uint8_t* row) {
  const int64_t channels = image.extent.channels;
  for (int64_t c = 0; c < channels; ++c) {
    const uint8_t* from = image.row(c, y);
    for (int64_t x = 0; x < image.extent.width; ++x) row[x * channels + c] = from[x];
  }
}

void bgr_to_gray(uint8_t* pixels, int64_t count) {
  constexpr int kBits = 14, kRed = 4899, kGreen = 9617, kBlue = 1868;  // 0.299, 0.587 and 0.114 in 14 bits
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* in = pixels + 3 * i;
    pixels[i] = static_cast<uint8_t>((in[0] * kBlue + in[1] * kGreen + in[2] * kRed + (1 << (kBits - 1))) >> kBits);
  }
}

ImageFormat image_format_of(std::string_view file) {
  for (const auto& [format, signature] : kFormats) {
    if (is(signature, file)) return format;
  }
  refuse(file);
}

void decode_image(std::string_view file, ColorMode mode, Image& image) { decode_image(file, mode, {}, image); }

void decode_image(std::string_view file, ColorMode mode, const WantedPixels& wanted, Image& image) {
  switch (image_format_of(file)) {
    case ImageFormat::kJpeg:
      return decode_jpeg(file, mode, wanted, image);
    case ImageFormat::kPng:
      return decode_png(file, mode, image);
    case ImageFormat::kBmp:
      return decode_bmp(file, mode, image);
    case ImageFormat::kWebp:
      return webp().decode(file, mode, image);
  }
}

Extent image_extent(std::string_view file, ColorMode mode) {
  switch (image_format_of(file)) {
    case ImageFormat::kJpeg:
      return jpeg_extent(file, mode);
    case ImageFormat::kPng:
      return png_extent(file, mode);
    case ImageFormat::kBmp:
      return bmp_extent(file, mode);
    case ImageFormat::kWebp:
      break;
  }
  return webp().extent(file, mode);
}

std::string encode_image(const Image& image, ImageFormat format) {
  assert(is_written(format));
  return format == ImageFormat::kJpeg ? encode_jpeg(image) : encode_png(image);
}

ImageFormat parse_image_format(std::string_view extension) {
  if (extension.starts_with('.')) extension.remove_prefix(1);
  std::string word(extension);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "jpg" || word == "jpeg") return ImageFormat::kJpeg;
  if (word == "png") return ImageFormat::kPng;
  if (word == "bmp") return ImageFormat::kBmp;
  if (word == "webp") return ImageFormat::kWebp;
  throw Error(ErrorKind::kUnsupported, "images of type \"" + word + "\" are not known", "say jpg or png");
}

}  // namespace robusta
