/// JPEGs of waves, whose pixels follow from a formula, in the forms that files come in.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace robusta::test {

struct JpegKind {
  int components = 3;  // 4: CMYK
  bool progressive = false;
  int stretch = 1;  // of the waves
  int across = 0;   // pixels for which there is one sample of chroma; 0: the library's two
  int down = 0;
  int restart_rows = 0;                    // rows of blocks between markers to go on from; 0: no markers
  std::vector<jpeg_scan_info> scans = {};  // progressive, with these
};

/// Waves of 22 pixels and more, other ones in each component; `stretch` makes them longer.
inline uint8_t wave(int64_t x, int64_t y, int component, int stretch) {
  const double turn = 2 * std::numbers::pi / stretch;
  const double value = 128 + 50 * std::sin(turn * static_cast<double>(x) / (24 + 8 * component)) +
                       50 * std::cos(turn * static_cast<double>(y + component) / (40 - 6 * component));
  return static_cast<uint8_t>(std::lround(value));
}

inline std::string jpeg_of(int64_t height, int64_t width, const JpegKind& kind = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind.components;
  info.in_color_space = kind.components == 1 ? JCS_GRAYSCALE : kind.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (kind.across > 0) info.comp_info[0].h_samp_factor = kind.across;
  if (kind.down > 0) info.comp_info[0].v_samp_factor = kind.down;
  info.restart_in_rows = kind.restart_rows;
  if (!kind.scans.empty()) {
    info.scan_info = kind.scans.data();
    info.num_scans = static_cast<int>(kind.scans.size());
  }
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row(static_cast<size_t>(width * kind.components));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < static_cast<int64_t>(row.size()); ++i) {
      row[static_cast<size_t>(i)] = wave(i / kind.components, y, static_cast<int>(i % kind.components), kind.stretch);
    }
    JSAMPROW pixels = row.data();
    jpeg_write_scanlines(&info, &pixels, 1);
  }
  jpeg_finish_compress(&info);
  const std::string file(reinterpret_cast<const char*>(memory), bytes);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

/// With a camera's note that it lies on its side.
inline std::string turned(std::string file) {
  const std::string block("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 28);
  return file.insert(2, std::string("\xff\xe1\x00\x1e", 4) + block);
}

}  // namespace robusta::test
