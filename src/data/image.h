/// Image files to and from planar bytes: JPEG by libjpeg-turbo, PNG by libpng, WebP by libwebp, which a build may lack,
/// and BMP.
///
/// The kind of a file is told by its first bytes, not by its name. Pixels come out as OpenCV gives them to Caffe:
/// colours in the order B, G, R; grey as 0.299 R + 0.587 G + 0.114 B. A damaged file throws; nothing is allocated
/// before the size that it claims has been checked. All functions may run on many threads.
#pragma once

#include <string>
#include <string_view>

#include "data/planar_image.h"

namespace robusta {

/// No larger image is made or read: one of 11,585 x 11,585.
inline constexpr int64_t kMostPixels = int64_t{1} << 27;

/// Decodes an image file held in memory. kColor gives 3 channels, kGray 1, kAsStored what the file has: 1 (grey), 3 or
/// 4 (with transparency, grey too). kColor and kGray turn a JPEG upright as its camera noted (Exif); kAsStored does
/// not, as with OpenCV. Throws Error{kData}: damaged, cut off, more than 2^27 pixels, 16 bits per channel as stored;
/// Error{kUnsupported}: another format, named, or one that this build lacks.
void decode_image(std::string_view file, ColorMode mode, Image& image);

/// As above, with less work where not all pixels are wanted.
///
/// `wanted.size`: a JPEG whose half, quarter or eighth is still as large as wanted, in both axes, comes out in the
/// smallest such size, and says so (Image::scaled_from). The decoder leaves the finer frequencies out, which costs a
/// part of the time; a pixel is the mean of those it stands for but for rounding, so that what is made smaller from
/// here on is less jagged than BVLC's, and has not its bytes.
///
/// `wanted.part`: the pixels of a JPEG outside of this part may be any; those within are the same as ever. Its file is
/// read to the end, so that damage is found wherever it is.
void decode_image(std::string_view file, ColorMode mode, const WantedPixels& wanted, Image& image);

/// The size that decode_image would give; reads only the header. Throws as decode_image.
Extent image_extent(std::string_view file, ColorMode mode);

enum class ImageFormat { kJpeg, kPng, kBmp, kWebp };

/// What the first bytes say. Throws as decode_image, but for what the build lacks.
ImageFormat image_format_of(std::string_view file);

/// Whether encode_image knows it.
constexpr bool is_written(ImageFormat format) { return format == ImageFormat::kJpeg || format == ImageFormat::kPng; }

/// A file with 1, 3 or (PNG) 4 channels; JPEG with quality 95, as OpenCV by default. REQUIRES:
/// is_written(format). Throws Error{kUnsupported}.
std::string encode_image(const Image& image, ImageFormat format);

/// By the usual endings of names ("jpg", "jpeg", "png", "bmp", "webp"), letter case ignored, with or without a dot.
/// Throws Error{kUnsupported}.
ImageFormat parse_image_format(std::string_view extension);

/// Bilinear, with pixel centres at half-integers and in OpenCV's fixed-point arithmetic, hence with the same bytes. No
/// smoothing when made smaller. REQUIRES: height, width > 0, bytes, not those of `to`.
void resize_bilinear(const Pixels& from, int64_t height, int64_t width, Image& to);

/// The same, but of `to`, which has all of this size, only a part is written.
void resize_part_bilinear(const Pixels& from, int64_t height, int64_t width, const PixelRect& part, Image& to);

/// The part of an image of size `from` that this reads.
PixelRect read_by_resize(const Extent& from, int64_t height, int64_t width, const PixelRect& part);

}  // namespace robusta
