// BMP files of each kind that is read, made here byte by byte, and damaged ones.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/image.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/errors.h"

namespace robusta::test::bmp_test {
namespace {

using Bytes = std::vector<uint8_t>;

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i < 8 ? value >> 8 * i : 0);
  return text;
}

/// What a file says of itself.
struct Header {
  int64_t width = 0, height = 0;
  int bits = 24, compression = 0;
  uint32_t colors = 0;    // of the palette; 0: all
  bool core = false;      // the short header
  std::string more = {};  // what follows the 40 bytes, and counts as of them
};

std::string bmp(const Header& header, const std::string& palette, const std::string& pixels) {
  std::string info;
  if (header.core) {
    info = little(12, 4) + little(static_cast<uint64_t>(header.width), 2) +
           little(static_cast<uint64_t>(header.height), 2) + little(1, 2) +
           little(static_cast<uint64_t>(header.bits), 2);
  } else {
    info = little(40 + header.more.size(), 4) + little(static_cast<uint64_t>(header.width), 4) +
           little(static_cast<uint64_t>(header.height), 4) + little(1, 2) +
           little(static_cast<uint64_t>(header.bits), 2) + little(static_cast<uint64_t>(header.compression), 4) +
           little(0, 12) + little(header.colors, 4) + little(0, 4) + header.more;
  }
  const size_t begin = 14 + info.size() + palette.size();
  return "BM" + little(begin + pixels.size(), 4) + little(0, 4) + little(begin, 4) + info + palette + pixels;
}

/// Entries of four bytes, or of three.
std::string palette_of(const std::vector<Bytes>& colors, bool core = false) {
  std::string text;
  for (const Bytes& color : colors) {
    text.append(color.begin(), color.end());
    if (!core) text += '\0';
  }
  return text;
}

Image decoded(const std::string& file, ColorMode mode = ColorMode::kAsStored) {
  Image image;
  decode_image(file, mode, image);
  EXPECT_EQ(image_extent(file, mode), image.extent);
  EXPECT_EQ(static_cast<int64_t>(image.planes.size()), image.extent.count());
  return image;
}

Error refusal(const std::string& file) {
  const Error error = error_of([&] { decoded(file); });
  EXPECT_EQ(error_of([&] { image_extent(file, ColorMode::kColor); }).kind(), error.kind());
  return error;
}

/// Two rows of three pixels, the lower one first, each filled up to 12 bytes.
const std::string kRows("\1\2\3\4\5\6\7\x8\x9\0\0\0\xb\xc\xd\xe\xf\x10\x11\x12\x13\0\0\0", 24);
const Bytes kPlanes{0xb, 0xe, 0x11, 1, 4, 7, 0xc, 0xf, 0x12, 2, 5, 8, 0xd, 0x10, 0x13, 3, 6, 9};

TEST(BmpTest, ColoursFromBelowAndFromAbove) {
  const Image up = decoded(bmp({.width = 3, .height = 2}, "", kRows));
  EXPECT_EQ(up.extent, (Extent{3, 2, 3}));
  EXPECT_EQ(up.planes, kPlanes);
  const Image down = decoded(bmp({.width = 3, .height = -2}, "", kRows.substr(12) + kRows.substr(0, 12)));
  EXPECT_EQ(down.planes, kPlanes);
  EXPECT_EQ(decoded(bmp({.width = 3, .height = 2, .core = true}, "", kRows)).planes, kPlanes);
}

TEST(BmpTest, ThirtyTwoBitsHaveAlphaWhereTheySaySo) {
  const std::string pixels("\1\2\3\4\5\6\7\x8", 8);
  const Image plain = decoded(bmp({.width = 2, .height = 1, .bits = 32}, "", pixels));
  EXPECT_EQ(plain.planes, (Bytes{1, 5, 2, 6, 3, 7}));
  const std::string masks = little(0xff0000, 4) + little(0xff00, 4) + little(0xff, 4);
  const std::string with_alpha =
      bmp({.width = 2, .height = 1, .bits = 32, .compression = 3, .more = masks + little(0xff000000u, 4)}, "", pixels);
  EXPECT_EQ(decoded(with_alpha).planes, (Bytes{1, 5, 2, 6, 3, 7, 4, 8}));
  EXPECT_EQ(decoded(with_alpha, ColorMode::kColor).planes, plain.planes);
  const std::string without =
      bmp({.width = 2, .height = 1, .bits = 32, .compression = 3}, masks, pixels);  // the masks stand behind the header
  EXPECT_EQ(decoded(without).planes, plain.planes);
  const std::string swapped = little(0xff, 4) + little(0xff00, 4) + little(0xff0000, 4);
  EXPECT_EQ(refusal(bmp({.width = 2, .height = 1, .bits = 32, .compression = 3}, swapped, pixels)).kind(),
            ErrorKind::kUnsupported);
}

TEST(BmpTest, PalettesOfOneFourAndEightBits) {
  const std::string colors = palette_of({{10, 20, 30}, {200, 100, 50}});
  const std::string one =
      bmp({.width = 10, .height = 1, .bits = 1, .colors = 2}, colors, std::string("\xa5\x40\0\0", 4));
  const Image bits = decoded(one);
  ASSERT_EQ(bits.extent, (Extent{3, 1, 10}));
  EXPECT_EQ(Bytes(bits.planes.begin(), bits.planes.begin() + 10), (Bytes{200, 10, 200, 10, 10, 200, 10, 200, 10, 200}));
  EXPECT_EQ(bits.planes[20], 50);
  const Image four =
      decoded(bmp({.width = 3, .height = 1, .bits = 4, .colors = 2}, colors, std::string("\x10\x10\0\0", 4)));
  EXPECT_EQ(four.planes, (Bytes{200, 10, 200, 100, 20, 100, 50, 30, 50}));
  const std::string eight =
      bmp({.width = 2, .height = 1, .bits = 8, .core = true},
          palette_of(std::vector<Bytes>(255, {1, 2, 3}), true) + "\7\x8\x9", std::string("\0\xff\0\0", 4));
  EXPECT_EQ(decoded(eight).planes, (Bytes{1, 7, 2, 8, 3, 9}));
}

TEST(BmpTest, GreyPalettesAreGrey) {
  std::vector<Bytes> greys;
  for (int i = 0; i < 256; ++i) greys.push_back(Bytes(3, static_cast<uint8_t>(255 - i)));
  const std::string file = bmp({.width = 4, .height = 1, .bits = 8}, palette_of(greys), std::string("\0\1\x80\xff", 4));
  const Image grey = decoded(file);
  EXPECT_EQ(grey.extent, (Extent{1, 1, 4}));
  EXPECT_EQ(grey.planes, (Bytes{255, 254, 127, 0}));
  EXPECT_EQ(decoded(file, ColorMode::kGray).planes, grey.planes);
  EXPECT_EQ(decoded(file, ColorMode::kColor).planes, (Bytes{255, 254, 127, 0, 255, 254, 127, 0, 255, 254, 127, 0}));
}

TEST(BmpTest, GreyOfColoursIsOpenCvs) {
  const std::string colors = bmp({.width = 1, .height = 1}, "", std::string("\x64\x96\xc8\0", 4));
  EXPECT_EQ(decoded(colors, ColorMode::kGray).planes, Bytes{159});  // 0.114 * 100 + 0.587 * 150 + 0.299 * 200 = 159.25
  const std::string of_palette =
      bmp({.width = 1, .height = 1, .bits = 8, .colors = 1}, palette_of({{100, 150, 200}}), std::string("\0\0\0\0", 4));
  EXPECT_EQ(decoded(of_palette, ColorMode::kGray).planes, Bytes{159});
}

TEST(BmpTest, WhatIsNotReadIsNamed) {
  EXPECT_TRUE(
      contains(refusal(bmp({.width = 2, .height = 2, .bits = 8, .compression = 1}, "", "")).cause(), "compression 1"));
  const Error sixteen = refusal(bmp({.width = 2, .height = 2, .bits = 16}, "", std::string(8, '\0')));
  EXPECT_EQ(sixteen.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(sixteen.cause(), "16 bits per pixel"));
}

TEST(BmpTest, DamagedFilesAreErrors) {
  const std::string whole = bmp({.width = 3, .height = 2}, "", kRows);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(error_of([&] { decoded(whole.substr(0, length)); }).kind(), ErrorKind::kData) << length;
  EXPECT_EQ(refusal(bmp({.width = 0, .height = 2}, "", kRows)).cause(), "the image is empty");
  EXPECT_EQ(refusal(bmp({.width = -3, .height = 2}, "", kRows)).kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(refusal(bmp({.width = 3, .height = -2147483648}, "", kRows)).cause(), "at most"));
  EXPECT_TRUE(contains(refusal(bmp({.width = 100000, .height = 100000}, "", kRows)).cause(), "at most"));
  EXPECT_EQ(refusal(bmp({.width = 3, .height = 2, .bits = 7}, "", kRows)).kind(), ErrorKind::kData);
  EXPECT_TRUE(
      contains(refusal(bmp({.width = 1, .height = 1, .bits = 4, .colors = 17}, "", kRows)).cause(), "17 colours"));
  // The size of a file with a palette is known by its header; what its pixels say is not.
  const std::string beyond = bmp({.width = 1, .height = 1, .bits = 8, .colors = 2}, palette_of({{1, 2, 3}, {4, 5, 6}}),
                                 std::string("\2\0\0\0", 4));
  EXPECT_EQ(error_of([&] { decoded(beyond); }).cause(),
            "the BMP image is damaged: a pixel has colour 2 of a palette of 2");
}

}  // namespace
}  // namespace robusta::test::bmp_test
