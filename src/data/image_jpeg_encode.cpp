// JPEG by libjpeg-turbo, written.

#include <cstdlib>
#include <string>
#include <vector>

#include "data/image_codec.h"
#include "data/jpeg_errors.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// An encoder; `memory_` is malloc'ed by the library.
class JpegEncoder {
 public:
  JpegEncoder() { install(errors_, reinterpret_cast<j_common_ptr>(&info_)); }
  ~JpegEncoder() {
    if (created_) jpeg_destroy_compress(&info_);
    std::free(memory_);
  }

  std::string encode(const Image& image, int quality) {
    std::vector<uint8_t> row(static_cast<size_t>(image.extent.channels * image.extent.width));
    if (!try_encode(image, quality, row.data())) {
      throw Error(ErrorKind::kData, std::string("the image cannot be written as JPEG: ") + errors_.message);
    }
    return {reinterpret_cast<const char*>(memory_), bytes_};
  }

 private:
  bool try_encode(const Image& image, int quality, uint8_t* row) {
    if (setjmp(errors_.escape)) return false;
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

  JpegErrors errors_{};
  jpeg_compress_struct info_{};
  unsigned char* memory_ = nullptr;
  unsigned long bytes_ = 0;
  bool created_ = false;
};

}  // namespace

std::string encode_jpeg(const Image& image, int quality) {
  if (image.extent.channels != 1 && image.extent.channels != 3) {
    throw Error(ErrorKind::kUnsupported,
                "JPEG has 1 or 3 channels, the image has " + std::to_string(image.extent.channels), "write it as PNG");
  }
  return JpegEncoder().encode(image, quality);
}

}  // namespace robusta
