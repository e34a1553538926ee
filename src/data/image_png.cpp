// PNG by libpng's low-level interface: the simplified one corrects gamma, which OpenCV, and so Caffe, does not. The
// library leaves by longjmp, so no function between setjmp and its calls holds an object with a destructor.

#include <png.h>

#include <csetjmp>
#include <cstring>

#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// What the callbacks see.
struct Channel {
  std::string_view input;  // what is left to read
  std::string output;
  char message[200] = "";
};

void fail_png(png_structp png, png_const_charp text) {
  auto& channel = *static_cast<Channel*>(png_get_error_ptr(png));
  std::strncpy(channel.message, text, sizeof channel.message - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto& input = static_cast<Channel*>(png_get_io_ptr(png))->input;
  if (input.size() < count) png_error(png, "the file is cut off");
  std::memcpy(to, input.data(), count);
  input.remove_prefix(count);
}

void write_bytes(png_structp png, png_bytep from, size_t count) {
  static_cast<Channel*>(png_get_io_ptr(png))->output.append(reinterpret_cast<const char*>(from), count);
}

void no_flush(png_structp) {}

class PngDecoder {
 public:
  explicit PngDecoder(std::string_view file) : channel_{file, {}} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &channel_, fail_png, ignore);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) throw std::bad_alloc();
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Extent read_header(ColorMode mode) {
    if (!try_header()) fail();
    check_image_size(png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    if (mode == ColorMode::kAsStored && png_get_bit_depth(png_, info_) > 8) {
      throw Error(ErrorKind::kData, "the PNG image has 16 bits per channel",
                  "force_color or force_gray reduces it to 8");
    }
    if (!try_convert(mode)) fail();
    return {png_get_channels(png_, info_), png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
  }

  /// Row by row, so that beside the image's planes there is one row. An interlaced image comes in seven passes, each of
  /// which puts more pixels into every row.
  void read_rows(Image& image) {
    const Extent& extent = image.extent;
    image.scratch.resize(static_cast<size_t>(extent.channels * extent.width));
    if (!try_rows(image.scratch.data(), image)) fail();
  }

 private:
  bool try_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, &channel_, read_bytes);
    constexpr png_uint_32 kMostSide = 1u << 27, kMostChunk = 1u << 24;
    png_set_user_limits(png_, kMostSide, kMostSide);
    png_set_chunk_malloc_max(png_, kMostChunk);
    png_read_info(png_, info_);
    return true;
  }

  /// To 8 bits, without palette, blue first.
  bool try_convert(ColorMode mode) {
    if (setjmp(png_jmpbuf(png_))) return false;
    const int type = png_get_color_type(png_, info_);
    const bool palette = type == PNG_COLOR_TYPE_PALETTE;
    png_set_strip_16(png_);
    png_set_packing(png_);
    if (palette) png_set_palette_to_rgb(png_);
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    const bool transparent_palette = palette && png_get_valid(png_, info_, PNG_INFO_tRNS);
    if (mode == ColorMode::kAsStored) {
      if (transparent_palette) png_set_tRNS_to_alpha(png_);
      if (type == PNG_COLOR_TYPE_GRAY_ALPHA) png_set_gray_to_rgb(png_);
    } else {
      png_set_strip_alpha(png_);
      if (mode == ColorMode::kColor)
        png_set_gray_to_rgb(png_);
      else if (palette || (type & PNG_COLOR_MASK_COLOR))
        png_set_rgb_to_gray_fixed(png_, PNG_ERROR_ACTION_NONE, 29900, 58700);
    }
    png_set_bgr(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool try_rows(uint8_t* row, Image& image) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t y = 0; y < image.extent.height; ++y) {
        if (pass > 0) interleave_row(image, y, row);
        png_read_row(png_, row, nullptr);
        to_planes(row, y, image);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] void fail() const {
    throw Error(ErrorKind::kData, std::string("the PNG image is damaged: ") + channel_.message,
                "remove it, or give the image anew");
  }

  Channel channel_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

class PngEncoder {
 public:
  PngEncoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &channel_, fail_png, ignore);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) throw std::bad_alloc();
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }

  std::string encode(const Image& image, int color_type) {
    std::vector<uint8_t> row(static_cast<size_t>(image.extent.channels * image.extent.width));
    if (!try_encode(image, color_type, row.data())) {
      throw Error(ErrorKind::kData, std::string("the image cannot be written as PNG: ") + channel_.message);
    }
    return std::move(channel_.output);
  }

 private:
  bool try_encode(const Image& image, int color_type, uint8_t* row) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_write_fn(png_, &channel_, write_bytes, no_flush);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.extent.width),
                 static_cast<png_uint_32>(image.extent.height), 8, color_type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    png_set_bgr(png_);
    for (int64_t y = 0; y < image.extent.height; ++y) {
      interleave_row(image, y, row);
      png_write_row(png_, row);
    }
    png_write_end(png_, nullptr);
    return true;
  }

  Channel channel_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

void decode_png(std::string_view file, ColorMode mode, Image& image) {
  PngDecoder decoder(file);
  image.reset(decoder.read_header(mode));
  decoder.read_rows(image);
}

Extent png_extent(std::string_view file, ColorMode mode) { return PngDecoder(file).read_header(mode); }

std::string encode_png(const Image& image) {
  switch (image.extent.channels) {
    case 1:
      return PngEncoder().encode(image, PNG_COLOR_TYPE_GRAY);
    case 3:
      return PngEncoder().encode(image, PNG_COLOR_TYPE_RGB);
    case 4:
      return PngEncoder().encode(image, PNG_COLOR_TYPE_RGB_ALPHA);
    default:
      throw Error(ErrorKind::kUnsupported,
                  "PNG has 1, 3 or 4 channels, the image has " + std::to_string(image.extent.channels));
  }
}

}  // namespace robusta
