// JPEG by libjpeg-turbo. The library reports by callbacks and leaves by longjmp, so no function between setjmp and the
// library's calls holds an object with a destructor.

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jerror.h>
#include <jpeglib.h>

#include "base/limit.h"
#include "base/str.h"
#include "data/image_codec.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Programs write about ten; a progressive file of a few kilobytes can ask for hours of work.
int64_t most_scans() {
  static const int64_t most = limit_from("ROBUSTA_IMAGE_SCANS", 64);
  return most;
}

/// What the callbacks need. `manager` comes first: the library hands back a pointer to it.
struct ErrorState {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  bool cut_off, too_many_scans;
  int64_t most_scans;
};

ErrorState& state_of(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

void leave(j_common_ptr info) {
  ErrorState& state = state_of(info);
  state.manager.format_message(info, state.message);
  std::longjmp(state.escape, 1);
}

/// Small damage is tolerated, as everywhere; a file that ends too early is not: the rest would be grey.
void note(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) state_of(info).cut_off = true;
}

void say_nothing(j_common_ptr) {}

void watch_scans(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  ErrorState& state = state_of(info);
  if (decoder->input_scan_number <= state.most_scans) return;
  state.too_many_scans = true;
  std::longjmp(state.escape, 1);
}

void install(ErrorState& state, j_common_ptr info) {
  info->err = jpeg_std_error(&state.manager);
  state.manager.error_exit = leave;
  state.manager.emit_message = note;
  state.manager.output_message = say_nothing;
  state.cut_off = false;
  state.message[0] = '\0';
}

/// A decoder and its memory. The decoding functions return false when the library gave up.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::string_view file) : file_(file) {
    install(state_, reinterpret_cast<j_common_ptr>(&info_));
    state_.most_scans = most_scans();
    progress_.progress_monitor = watch_scans;
  }
  ~JpegDecoder() {
    if (created_) jpeg_destroy_decompress(&info_);
  }

  Extent read_header(ColorMode mode) {
    if (!try_header(mode)) fail();
    check_image_size(info_.image_width, info_.image_height);
    const int64_t channels = info_.out_color_space == JCS_GRAYSCALE || mode == ColorMode::kGray ? 1 : 3;
    return {channels, info_.image_height, info_.image_width};
  }

  /// Fills `rows` with the whole image, interleaved in out_channels() channels.
  void read_rows(uint8_t* rows) {
    if (!try_rows(rows) || state_.cut_off) fail();
  }

  bool cmyk() const { return info_.out_color_space == JCS_CMYK; }
  int64_t out_channels() const { return cmyk() ? 4 : info_.out_color_space == JCS_GRAYSCALE ? 1 : 3; }
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
    if (setjmp(state_.escape)) return false;
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

  bool try_rows(uint8_t* rows) {
    if (setjmp(state_.escape)) return false;
    jpeg_start_decompress(&info_);
    const size_t stride = size_t{info_.output_width} * static_cast<size_t>(info_.output_components);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = rows + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  [[noreturn]] void fail() const {
    if (state_.too_many_scans) {
      throw Error(ErrorKind::kData, str("the JPEG image has more than ", state_.most_scans, " scans"),
                  "remove it, or set ROBUSTA_IMAGE_SCANS to allow more");
    }
    const std::string cause =
        state_.cut_off ? "the JPEG image is cut off" : std::string("the JPEG image is damaged: ") + state_.message;
    throw Error(ErrorKind::kData, cause, "remove it, or give the image anew");
  }

  std::string_view file_;
  ErrorState state_{};
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  bool created_ = false;
};

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

void bgr_to_gray(uint8_t* pixels, int64_t count) {
  constexpr int kBits = 14, kRed = 4899, kGreen = 9617, kBlue = 1868;  // 0.299, 0.587 and 0.114 in 14 bits
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* in = pixels + 3 * i;
    pixels[i] = static_cast<uint8_t>((in[0] * kBlue + in[1] * kGreen + in[2] * kRed + (1 << (kBits - 1))) >> kBits);
  }
}

/// An encoder; `memory_` is malloc'ed by the library.
class JpegEncoder {
 public:
  JpegEncoder() { install(state_, reinterpret_cast<j_common_ptr>(&info_)); }
  ~JpegEncoder() {
    if (created_) jpeg_destroy_compress(&info_);
    std::free(memory_);
  }

  std::string encode(const Image& image, int quality) {
    std::vector<uint8_t> row(static_cast<size_t>(image.extent.channels * image.extent.width));
    if (!try_encode(image, quality, row.data())) {
      throw Error(ErrorKind::kData, std::string("the image cannot be written as JPEG: ") + state_.message);
    }
    return {reinterpret_cast<const char*>(memory_), bytes_};
  }

 private:
  bool try_encode(const Image& image, int quality, uint8_t* row) {
    if (setjmp(state_.escape)) return false;
    jpeg_create_compress(&info_);
    created_ = true;
    jpeg_mem_dest(&info_, &memory_, &bytes_);
    info_.image_width = static_cast<JDIMENSION>(image.extent.width);
    info_.image_height = static_cast<JDIMENSION>(image.extent.height);
    info_.input_components = static_cast<int>(image.extent.channels);
    info_.in_color_space = image.extent.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    for (int64_t y = 0; y < image.extent.height; ++y) {
      interleave_row(image, y, row);
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  ErrorState state_{};
  jpeg_compress_struct info_{};
  unsigned char* memory_ = nullptr;
  unsigned long bytes_ = 0;
  bool created_ = false;
};

}  // namespace

void decode_jpeg(std::string_view file, ColorMode mode, Image& image) {
  JpegDecoder decoder(file);
  const Extent extent = decoder.read_header(mode);
  const int orientation = decoder.orientation();
  const int64_t pixels = extent.height * extent.width;
  image.scratch.resize(static_cast<size_t>(pixels * decoder.out_channels()));
  decoder.read_rows(image.scratch.data());
  if (decoder.cmyk()) {
    cmyk_to_bgr(image.scratch.data(), pixels);
    if (mode == ColorMode::kGray) bgr_to_gray(image.scratch.data(), pixels);
  }
  to_planes(image.scratch.data(), extent, image);
  make_upright(orientation, image);
}

Extent jpeg_extent(std::string_view file, ColorMode mode) {
  JpegDecoder decoder(file);
  Extent extent = decoder.read_header(mode);
  if (swaps_sides(decoder.orientation())) std::swap(extent.height, extent.width);
  return extent;
}

std::string encode_jpeg(const Image& image, int quality) {
  if (image.extent.channels != 1 && image.extent.channels != 3) {
    throw Error(ErrorKind::kUnsupported,
                "JPEG has 1 or 3 channels, the image has " + std::to_string(image.extent.channels), "write it as PNG");
  }
  return JpegEncoder().encode(image, quality);
}

}  // namespace robusta
