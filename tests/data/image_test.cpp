// Decoding, encoding and resizing of images, and files that are damaged.

#include "data/image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <png.h>

#include "data/datum.h"
#include "data/image_codec.h"
#include "data/lmdb/lmdb_reader.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/files.h"
#include "wave_jpegs.h"

namespace robusta::image_test {
namespace {

using test::random_image;

Image decoded(const std::string& file, ColorMode mode = ColorMode::kAsStored) {
  Image image;
  decode_image(file, mode, image);
  EXPECT_EQ(image_extent(file, mode), image.extent);
  EXPECT_EQ(static_cast<int64_t>(image.planes.size()), image.extent.count());
  return image;
}

std::string cause_of(const std::string& file, ColorMode mode = ColorMode::kAsStored) {
  try {
    Image image;
    decode_image(file, mode, image);
  } catch (const Error& error) {
    return error.cause();
  }
  return "";
}

/// An image of slow gradients, which JPEG keeps within a few grey levels.
Image smooth_image(const Extent& extent) {
  Image image;
  image.reset(extent);
  for (int64_t c = 0; c < extent.channels; ++c) {
    for (int64_t y = 0; y < extent.height; ++y) {
      for (int64_t x = 0; x < extent.width; ++x)
        image.row(c, y)[x] = static_cast<uint8_t>(60 + 40 * c + 2 * x - 3 * y % 50);
    }
  }
  return image;
}

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.extent, b.extent);
  int largest = 0;
  for (size_t i = 0; i < std::min(a.planes.size(), b.planes.size()); ++i)
    largest = std::max(largest, std::abs(a.planes[i] - b.planes[i]));
  return largest;
}

/// A PNG in the seven passes of Adam7.
std::string interlaced_png(const Image& image, int color_type) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp writer, png_bytep from, size_t count) {
    static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<const char*>(from), count);
  };
  png_set_write_fn(png, &file, append, [](png_structp) {});
  const auto& [channels, height, width] = image.extent;
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, color_type,
               PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_set_bgr(png);
  std::vector<uint8_t> pixels(static_cast<size_t>(image.extent.count()));
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < height; ++y) {
    rows.push_back(pixels.data() + y * channels * width);
    interleave_row(image, y, rows.back());
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

TEST(ImageTest, InterlacedPngIsTheSameImage) {
  const std::pair<int64_t, int> kinds[] = {
      {1, PNG_COLOR_TYPE_GRAY}, {3, PNG_COLOR_TYPE_RGB}, {4, PNG_COLOR_TYPE_RGB_ALPHA}};
  for (const auto& [channels, type] : kinds) {
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{13, 11}, {1, 1}, {2, 9}, {8, 8}}) {
      const Image image = random_image({channels, height, width}, 3);
      EXPECT_EQ(decoded(interlaced_png(image, type)).planes, image.planes) << channels << " " << height << " " << width;
    }
  }
}

TEST(ImageTest, PngTakesOneRowBesideItsPlanes) {
  const Image image = random_image({3, 40, 50}, 4);
  for (const std::string& file : {encode_image(image, ImageFormat::kPng), interlaced_png(image, PNG_COLOR_TYPE_RGB)}) {
    EXPECT_EQ(decoded(file).scratch.size(), 150U);
  }
}

TEST(ImageTest, PngKeepsEveryByte) {
  for (int64_t channels : {1, 3, 4}) {
    const Image image = random_image({channels, 7, 13}, 1);
    const Image back = decoded(encode_image(image, ImageFormat::kPng));
    EXPECT_EQ(back.extent, image.extent);
    EXPECT_EQ(back.planes, image.planes);
  }
}

TEST(ImageTest, JpegComesNear) {
  for (int64_t channels : {1, 3}) {
    const Image image = smooth_image({channels, 24, 32});
    EXPECT_LE(largest_difference(decoded(encode_image(image, ImageFormat::kJpeg)), image), 6);
  }
}

TEST(ImageTest, ColorModes) {
  const Image color = random_image({3, 5, 6}, 2), gray = random_image({1, 5, 6}, 3), clear = random_image({4, 5, 6}, 4);
  const std::string color_file = encode_image(color, ImageFormat::kPng),
                    gray_file = encode_image(gray, ImageFormat::kPng);
  const Image made_gray = decoded(color_file, ColorMode::kGray);
  ASSERT_EQ(made_gray.extent, (Extent{1, 5, 6}));
  for (int64_t i = 0; i < 30; ++i) {
    const double b = color.planes[i], g = color.planes[30 + i], r = color.planes[60 + i];
    const double want = 0.114 * b + 0.587 * g + 0.299 * r;  // libpng, and so Caffe, rounds down
    EXPECT_LE(made_gray.planes[i], want + 0.01);
    EXPECT_GT(made_gray.planes[i], want - 1.01);
  }
  const Image made_color = decoded(gray_file, ColorMode::kColor);
  ASSERT_EQ(made_color.extent, (Extent{3, 5, 6}));
  for (int64_t i = 0; i < 90; ++i) EXPECT_EQ(made_color.planes[i], gray.planes[i % 30]);
  const Image opaque = decoded(encode_image(clear, ImageFormat::kPng), ColorMode::kColor);
  EXPECT_EQ(opaque.planes, std::vector<uint8_t>(clear.planes.begin(), clear.planes.begin() + 90));
  EXPECT_EQ(decoded(encode_image(smooth_image({3, 8, 8}), ImageFormat::kJpeg), ColorMode::kGray).extent,
            (Extent{1, 8, 8}));
  EXPECT_EQ(decoded(encode_image(smooth_image({1, 8, 8}), ImageFormat::kJpeg), ColorMode::kColor).extent,
            (Extent{3, 8, 8}));
}

TEST(ImageTest, EnormousClaimsAreRefusedAtOnce) {
  std::string png = encode_image(random_image({1, 4, 4}, 1), ImageFormat::kPng);
  // IHDR says 2^16 x 2^16 now; its checksum is put right.
  png.replace(16, 8, std::string("\x00\x01\x00\x00\x00\x01\x00\x00", 8));
  uint32_t crc = 0xffffffffu;
  for (size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
  EXPECT_EQ(cause_of(png), "the image claims 65536 x 65536 pixels; at most 134217728 are read");

  std::string jpeg = encode_image(smooth_image({1, 16, 16}), ImageFormat::kJpeg);
  const size_t frame = jpeg.find(std::string("\xff\xc0\x00\x0b\x08", 5));
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  EXPECT_EQ(cause_of(jpeg), "the image claims 65280 x 65280 pixels; at most 134217728 are read");
}

/// A progressive JPEG of 8 x 8 grey pixels with two scans for each of its 63 coefficients but the first.
std::string many_scans() {
  test::JpegKind kind{.components = 1, .scans = {{1, {0}, 0, 0, 0, 0}}};
  for (int k = 1; k < 64; ++k) {
    kind.scans.push_back({1, {0}, k, k, 0, 1});
    kind.scans.push_back({1, {0}, k, k, 1, 0});
  }
  return test::jpeg_of(8, 8, kind);
}

TEST(ImageTest, SmallFilesAskForNoHoursOfWork) {
  EXPECT_EQ(cause_of(many_scans()), "the JPEG image has more than 64 scans");
}

TEST(ImageTest, CutFilesAreErrors) {
  for (ImageFormat format : {ImageFormat::kJpeg, ImageFormat::kPng}) {
    const std::string file = encode_image(random_image({3, 40, 50}, 7), format);
    for (size_t length = 0; length + 2 < file.size(); length += 7)
      EXPECT_NE(cause_of(file.substr(0, length)), "") << length;
  }
}

TEST(ImageTest, OtherFormatsAreNamed) {
  EXPECT_EQ(cause_of("GIF89a"), "it is a GIF image; JPEG, PNG, BMP and WebP are read");
  const std::string no_image = "it is no image: its 12 bytes begin like no JPEG, PNG, BMP or WebP";
  EXPECT_EQ(cause_of("hello, world"), no_image);
  EXPECT_EQ(cause_of("RIFF....WAVE"), no_image);
  EXPECT_EQ(image_format_of("RIFF....WEBP"), ImageFormat::kWebp);
  EXPECT_THROW(parse_image_format("gif"), Error);
  EXPECT_EQ(parse_image_format("bmp"), ImageFormat::kBmp);
  EXPECT_EQ(parse_image_format(".JPEG"), ImageFormat::kJpeg);
}

TEST(ImageTest, CamerasOrientation) {
  // An Exif block, big-endian, whose single entry is the orientation.
  const auto exif = [](int orientation) {
    std::string block("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0", 28);
    block[25] = static_cast<char>(orientation);
    return block;
  };
  for (int o = 1; o <= 8; ++o) EXPECT_EQ(exif_orientation(exif(o)), o);
  EXPECT_EQ(exif_orientation(exif(9)), 1);
  for (size_t length = 0; length < 26; ++length) EXPECT_EQ(exif_orientation(exif(6).substr(0, length)), 1) << length;

  // Stored rows "0 1 2" and "3 4 5", and what they show upright.
  const std::vector<uint8_t> upright[] = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                          {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2},
                                          {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  for (int o = 1; o <= 8; ++o) {
    Image image;
    image.reset({1, 2, 3});
    image.planes = upright[0];
    make_upright(o, image);
    EXPECT_EQ(image.extent, o < 5 ? (Extent{1, 2, 3}) : (Extent{1, 3, 2}));
    EXPECT_EQ(image.planes, upright[o - 1]) << o;
  }

  const Image wide = smooth_image({3, 16, 32});
  std::string file = encode_image(wide, ImageFormat::kJpeg);
  const std::string block = exif(6);
  file.insert(2, std::string("\xff\xe1\x00", 3) + static_cast<char>(block.size() + 2) + block);
  EXPECT_EQ(decoded(file, ColorMode::kColor).extent, (Extent{3, 32, 16}));
  EXPECT_EQ(decoded(file, ColorMode::kAsStored).extent, (Extent{3, 16, 32}));
}

TEST(ImageTest, ResizeKeepsConstantsAndSize) {
  Image image = random_image({3, 9, 12}, 5), out;
  resize_bilinear(image.pixels(), 9, 12, out);
  EXPECT_EQ(out.planes, image.planes);
  std::fill(image.planes.begin(), image.planes.end(), 201);
  for (const auto& [height, width] : {std::pair{4, 5}, {20, 31}, {1, 1}, {9, 3}}) {
    resize_bilinear(image.pixels(), height, width, out);
    EXPECT_EQ(out.extent, (Extent{3, height, width}));
    for (uint8_t pixel : out.planes) EXPECT_EQ(pixel, 201);
  }
}

TEST(ImageTest, ResizeIsBilinear) {
  const Image image = random_image({1, 7, 10}, 6);
  for (const auto& [height, width] : {std::pair{4, 5}, {20, 31}, {1, 1}, {7, 3}, {14, 20}}) {
    Image out;
    resize_bilinear(image.pixels(), height, width, out);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const double fy = std::clamp((static_cast<double>(y) + 0.5) * 7 / height - 0.5, 0.0, 6.0);
        const double fx = std::clamp((static_cast<double>(x) + 0.5) * 10 / width - 0.5, 0.0, 9.0);
        const auto y0 = static_cast<int64_t>(fy), x0 = static_cast<int64_t>(fx);
        const int64_t y1 = std::min<int64_t>(y0 + 1, 6), x1 = std::min<int64_t>(x0 + 1, 9);
        const double wy = fy - static_cast<double>(y0), wx = fx - static_cast<double>(x0);
        const double want = (1 - wy) * ((1 - wx) * image.row(0, y0)[x0] + wx * image.row(0, y0)[x1]) +
                            wy * ((1 - wx) * image.row(0, y1)[x0] + wx * image.row(0, y1)[x1]);
        EXPECT_NEAR(out.row(0, y)[x], want, 1);  // the fixed-point arithmetic rounds three times
      }
    }
  }
}

/// One pixel in the arithmetic of OpenCV's INTER_LINEAR for bytes, taken by itself.
uint8_t resized_pixel(const Image& image, int64_t height, int64_t width, int64_t y, int64_t x) {
  struct Tap {
    int64_t first, second;
    int first_weight, second_weight;
  };
  const auto tap = [](int64_t i, int64_t from, int64_t to, bool columns) {
    const auto at = static_cast<float>((static_cast<double>(i) + 0.5) * (static_cast<double>(from) / to) - 0.5);
    const auto first = static_cast<int64_t>(std::floor(at));
    const bool edge = first < 0 || first >= from - 1;
    const float part = columns && edge ? 0 : at - static_cast<float>(first);
    return Tap{std::clamp<int64_t>(first, 0, from - 1), std::clamp<int64_t>(first + 1, 0, from - 1),
               static_cast<int>(std::lrint((1 - part) * 2048)), static_cast<int>(std::lrint(part * 2048))};
  };
  const Tap column = tap(x, image.extent.width, width, true), row = tap(y, image.extent.height, height, false);
  const auto mixed = [&](int64_t line) {
    const uint8_t* from = image.row(0, line);
    return from[column.first] * column.first_weight + from[column.second] * column.second_weight;
  };
  const int sum =
      (row.first_weight * (mixed(row.first) >> 4) >> 16) + (row.second_weight * (mixed(row.second) >> 4) >> 16);
  return static_cast<uint8_t>((sum + 2) >> 2);
}

/// However many pixels are made at a time, at whatever place of a row: to the byte.
TEST(ImageTest, ResizedRowsHaveTheBytesOfSinglePixels) {
  for (const int64_t from : {1, 7, 15, 16, 17, 31, 64, 100, 500}) {
    const Image image = random_image({1, 5, from}, 7);
    for (const int64_t width : {1, 8, 9, 16, 33, 50, 250, 256, 341}) {
      Image out;
      resize_bilinear(image.pixels(), 4, width, out);
      if (image.extent == out.extent) continue;
      for (int64_t y = 0; y < 4; ++y) {
        for (int64_t x = 0; x < width; ++x)
          ASSERT_EQ(out.row(0, y)[x], resized_pixel(image, 4, width, y, x)) << from << " to " << width << ", " << x;
      }
    }
  }
}

/// What OpenCV read, converted and resized (recorded databases) against the same image files.
void compare_with_recorded(const std::string& database, ColorMode mode, bool resize) {
  ROBUSTA_SHARED_FILE(folder, "golden/samples/" + database);
  ROBUSTA_SHARED_FILE(images, "golden/samples/images");
  const auto reader = LmdbReader::open(folder);
  ASSERT_EQ(reader->size(), 10);
  for (int64_t i = 0; i < reader->size(); ++i) {
    std::string storage;
    DecodeBuffers buffers;
    const DatumView want = parse_datum(reader->record(i, storage), buffers.floats);
    Image got = decoded(test::read_file(images + "/" + reader->key(i).substr(9)), mode);
    if (resize) {
      Image small;
      resize_bilinear(got.pixels(), 6, 8, small);
      got = small;
    }
    ASSERT_EQ(got.planes.size(), want.data.size());
    EXPECT_EQ(std::string(got.planes.begin(), got.planes.end()), want.data) << database << " " << i;
  }
}

TEST(ImageGoldenTest, Colors) { compare_with_recorded("lmdb_raw", ColorMode::kColor, false); }
TEST(ImageGoldenTest, Gray) { compare_with_recorded("lmdb_gray", ColorMode::kGray, false); }
TEST(ImageGoldenTest, Resized) { compare_with_recorded("lmdb_resized", ColorMode::kColor, true); }

}  // namespace
}  // namespace robusta::image_test
