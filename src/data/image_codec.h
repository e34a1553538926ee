/// What the decoders of image.cpp share. Private to src/data.
#pragma once

#include <string>
#include <string_view>

#include "data/planar_image.h"

namespace robusta {

/// Throws Error{kData} for an empty or enormous picture: libraries would take the memory first and look later.
void check_image_size(uint64_t width, uint64_t height);
/// Splits row `y` of an image, interleaved, into its planes.
void to_planes(const uint8_t* interleaved, int64_t y, Image& image);
/// The same of its columns from `left` on, `width` many.
void to_planes(const uint8_t* interleaved, int64_t y, int64_t left, int64_t width, Image& image);
/// Puts the planes of one row side by side.
void interleave_row(const Image& image, int64_t y, uint8_t* row);
/// Grey as OpenCV has it for bytes, in place of interleaved B, G, R.
void bgr_to_gray(uint8_t* pixels, int64_t count);

void decode_jpeg(std::string_view file, ColorMode mode, const WantedPixels& wanted, Image& image);
Extent jpeg_extent(std::string_view file, ColorMode mode);
/// A quality of 95 is OpenCV's, where none is asked for.
std::string encode_jpeg(const Image& image, int quality = 95);

void decode_png(std::string_view file, ColorMode mode, Image& image);
Extent png_extent(std::string_view file, ColorMode mode);
std::string encode_png(const Image& image);

void decode_bmp(std::string_view file, ColorMode mode, Image& image);
Extent bmp_extent(std::string_view file, ColorMode mode);

/// A format that a build may lack: who has it registers it.
struct OptionalCodec {
  void (*decode)(std::string_view file, ColorMode mode, Image& image) = nullptr;
  Extent (*extent)(std::string_view file, ColorMode mode) = nullptr;
};
/// True, for initialising a static.
bool register_webp(const OptionalCodec& codec);

/// Exif's orientation, 1..8, from the payload of an APP1 marker; 1 (upright) when there is none. Never throws: a
/// camera's damaged notes do not spoil the picture.
int exif_orientation(std::string_view app1);
/// Turns and mirrors the image from `orientation` to upright.
void make_upright(int orientation, Image& image);
/// Whether upright has the sides exchanged.
inline bool swaps_sides(int orientation) { return orientation >= 5 && orientation <= 8; }

}  // namespace robusta
