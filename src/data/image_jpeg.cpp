// JPEG by libjpeg-turbo, read row by row: each is split into planes while it is in the nearest cache.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/limit.h"
#include "base/str.h"
#include "data/image_codec.h"
#include "data/jpeg_errors.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Programs write about ten; a progressive file of a few kilobytes can ask for hours of work.
int64_t most_scans() {
  static const int64_t most = limit_from("ROBUSTA_IMAGE_SCANS", 64);
  return most;
}

void watch_scans(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  JpegErrors& errors = jpeg_errors(info);
  if (decoder->input_scan_number <= errors.most_scans) return;
  errors.too_many_scans = true;
  std::longjmp(errors.escape, 1);
}

/// CMYK as Adobe's programs store it (inverted), to B, G, R in place of the first three.
void cmyk_to_bgr(uint8_t* pixels, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* in = pixels + 4 * i;
    const int k = in[3];
    const int b = k - ((255 - in[2]) * k >> 8), g = k - ((255 - in[1]) * k >> 8), r = k - ((255 - in[0]) * k >> 8);
    uint8_t* out = pixels + 3 * i;
    out[0] = static_cast<uint8_t>(b);
    out[1] = static_cast<uint8_t>(g);
    out[2] = static_cast<uint8_t>(r);
  }
}

/// Memory for a row that is read at once: the library writes rows that begin at a multiple of 16 or 32 bytes past the
/// caches, from where fetching them again takes a fifth of all the time.
uint8_t* cached_row(std::vector<uint8_t>& memory, size_t bytes) {
  constexpr size_t kAligned = 16, kBeside = 8;
  memory.resize(bytes + kBeside);
  return memory.data() + (reinterpret_cast<uintptr_t>(memory.data()) % kAligned == 0 ? kBeside : 0);
}

/// A decoder and its memory. The functions that try return false when the library gave up.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::string_view file) : file_(file) {
    install(errors_, reinterpret_cast<j_common_ptr>(&info_));
    errors_.most_scans = most_scans();
    progress_.progress_monitor = watch_scans;
  }
  ~JpegDecoder() {
    if (created_) jpeg_destroy_decompress(&info_);
  }

  /// The size as stored.
  Extent read_header(ColorMode mode) {
    if (!try_header(mode)) fail();
    check_image_size(info_.image_width, info_.image_height);
    channels_ = info_.out_color_space == JCS_GRAYSCALE || mode == ColorMode::kGray ? 1 : 3;
    return {channels_, info_.image_height, info_.image_width};
  }

  /// From here on the image has the smallest size that is not below `wanted`. Fractions that are no power of two have
  /// no fast code in the library.
  void scale_to(const Extent& wanted) {
    for (const unsigned divisor : {8u, 4u, 2u}) {
      const auto divided = [=](unsigned side) { return int64_t{(side + divisor - 1) / divisor}; };
      if (divided(info_.image_height) < wanted.height || divided(info_.image_width) < wanted.width) continue;
      info_.scale_num = 1;
      info_.scale_denom = divisor;
      return;
    }
  }

  /// The size of what comes out, as stored.
  Extent start() {
    if (!try_start()) fail();
    return {channels_, info_.output_height, info_.output_width};
  }

  /// This part of the image as stored, after which there is no orientation any more. REQUIRES: start().
  void read(const PixelRect& part, Image& image) {
    image.reset({channels_, info_.output_height, info_.output_width});
    const size_t row = size_t{info_.output_width} * static_cast<size_t>(info_.output_components);
    if (!try_rows(part, image, cached_row(image.scratch, row)) || errors_.cut_off) fail();
  }

  /// Exif's, unless as stored. Reading the rows frees the markers.
  int orientation() const {
    for (const jpeg_marker_struct* marker = info_.marker_list; marker; marker = marker->next) {
      const int found = exif_orientation({reinterpret_cast<const char*>(marker->data), marker->data_length});
      if (found != 1) return found;
    }
    return 1;
  }

 private:
  bool try_header(ColorMode mode) {
    if (setjmp(errors_.escape)) return false;
    jpeg_create_decompress(&info_);
    created_ = true;
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
    constexpr unsigned kAllOfIt = 0xffff;
    if (mode != ColorMode::kAsStored) jpeg_save_markers(&info_, JPEG_APP0 + 1, kAllOfIt);
    jpeg_read_header(&info_, TRUE);
    const J_COLOR_SPACE stored = info_.jpeg_color_space;
    if (stored == JCS_CMYK || stored == JCS_YCCK)
      info_.out_color_space = JCS_CMYK;
    else if (mode == ColorMode::kGray || (mode == ColorMode::kAsStored && info_.num_components == 1))
      info_.out_color_space = JCS_GRAYSCALE;
    else
      info_.out_color_space = JCS_EXT_BGR;
    return true;
  }

  bool try_start() {
    if (setjmp(errors_.escape)) return false;
    jpeg_start_decompress(&info_);
    return true;
  }

  /// Has the library leave out columns, as far as whole blocks go, and returns the first that it decodes. Chroma
  /// between two of its samples is mixed from both, but at an edge: what lies beside one that is none of the image's is
  /// wrong.
  /// Blocks of progressive files that lack coefficients are smoothed by their neighbours: there no column is left out.
  int64_t crop_columns(const PixelRect& part) {
    if (info_.progressive_mode) return 0;
    constexpr int64_t kWrong = 2;
    JDIMENSION left = static_cast<JDIMENSION>(std::max<int64_t>(part.left - kWrong, 0));
    JDIMENSION width = std::min(static_cast<JDIMENSION>(part.left + part.width + kWrong), info_.output_width) - left;
    if (width < info_.output_width) jpeg_crop_scanline(&info_, &left, &width);
    return left;
  }

  void read_row(int64_t left, Image& image, uint8_t* colors) {
    const int64_t y = info_.output_scanline, width = info_.output_width;
    const bool as_it_is = info_.out_color_space == JCS_GRAYSCALE;
    JSAMPROW row = as_it_is ? image.row(0, y) + left : colors;
    jpeg_read_scanlines(&info_, &row, 1);
    if (info_.out_color_space == JCS_CMYK) cmyk_to_bgr(row, width);
    if (info_.out_color_space == JCS_CMYK && channels_ == 1) bgr_to_gray(row, width);
    if (!as_it_is) to_planes(row, y, left, width, image);
  }

  /// Rows that are skipped are parsed nevertheless, unless they are the last ones: so the last one is always read.
  bool try_rows(const PixelRect& part, Image& image, uint8_t* colors) {
    if (setjmp(errors_.escape)) return false;
    const int64_t left = crop_columns(part);
    if (part.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(part.top));
    while (info_.output_scanline < part.top + part.height) read_row(left, image, colors);
    if (info_.output_scanline < info_.output_height) {
      jpeg_skip_scanlines(&info_, info_.output_height - info_.output_scanline - 1);
      read_row(left, image, colors);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  [[noreturn]] void fail() const {
    if (errors_.too_many_scans) {
      throw Error(ErrorKind::kData, str("the JPEG image has more than ", errors_.most_scans, " scans"),
                  "remove it, or set ROBUSTA_IMAGE_SCANS to allow more");
    }
    const std::string cause =
        errors_.cut_off ? "the JPEG image is cut off" : std::string("the JPEG image is damaged: ") + errors_.message;
    throw Error(ErrorKind::kData, cause, "remove it, or give the image anew");
  }

  std::string_view file_;
  JpegErrors errors_{};
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  int64_t channels_ = 0;
  bool created_ = false;
};

constexpr int kUpright = 1;  // Exif

/// The size upright of one as stored, and back.
Extent turned(int orientation, const Extent& extent) {
  return swaps_sides(orientation) ? Extent{extent.channels, extent.width, extent.height} : extent;
}

}  // namespace

void decode_jpeg(std::string_view file, ColorMode mode, const WantedPixels& wanted, Image& image) {
  JpegDecoder decoder(file);
  const Extent stored = decoder.read_header(mode);
  const int orientation = decoder.orientation();
  if (wanted.size) decoder.scale_to(turned(orientation, wanted.size(turned(orientation, stored))));
  const Extent decoded = decoder.start();
  const bool in_part = wanted.part && orientation == kUpright;
  decoder.read(in_part ? wanted.part(decoded, stored) : all_of(decoded), image);
  const bool scaled = image.extent != stored;
  make_upright(orientation, image);
  if (scaled) image.scaled_from = turned(orientation, stored);
}

Extent jpeg_extent(std::string_view file, ColorMode mode) {
  JpegDecoder decoder(file);
  const Extent stored = decoder.read_header(mode);
  return turned(decoder.orientation(), stored);
}

}  // namespace robusta
