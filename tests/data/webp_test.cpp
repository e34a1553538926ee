// WebP files that libwebp has written, whole and damaged. A build without libwebp leaves this file out.

#include <gtest/gtest.h>
#include <webp/encode.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "data/image.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/errors.h"

namespace robusta::test::webp_test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes interleaved(const Image& image) {
  Bytes pixels;
  const int64_t plane = image.extent.height * image.extent.width;
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < image.extent.channels; ++c)
      pixels.push_back(image.planes[static_cast<size_t>(c * plane + i)]);
  }
  return pixels;
}

std::string taken(uint8_t* memory, size_t bytes) {
  const std::string file(reinterpret_cast<const char*>(memory), bytes);
  WebPFree(memory);
  return file;
}

std::string lossless(const Image& image) {
  const Bytes pixels = interleaved(image);
  const auto& [channels, height, width] = image.extent;
  const int rows = static_cast<int>(height), columns = static_cast<int>(width);
  uint8_t* memory = nullptr;
  const size_t bytes = channels == 4 ? WebPEncodeLosslessBGRA(pixels.data(), columns, rows, 4 * columns, &memory)
                                     : WebPEncodeLosslessBGR(pixels.data(), columns, rows, 3 * columns, &memory);
  return taken(memory, bytes);
}

std::string lossy(const Image& image) {
  const Bytes pixels = interleaved(image);
  const int rows = static_cast<int>(image.extent.height), columns = static_cast<int>(image.extent.width);
  uint8_t* memory = nullptr;
  const size_t bytes = WebPEncodeBGR(pixels.data(), columns, rows, 3 * columns, 95, &memory);
  return taken(memory, bytes);
}

Image decoded(const std::string& file, ColorMode mode = ColorMode::kAsStored) {
  Image image;
  decode_image(file, mode, image);
  EXPECT_EQ(image_extent(file, mode), image.extent);
  EXPECT_EQ(static_cast<int64_t>(image.planes.size()), image.extent.count());
  return image;
}

/// Nowhere transparent: libwebp writes such pixels as black ones.
Image opaque_noise(const Extent& extent) {
  Image image = random_image(extent, 3);
  const auto plane = extent.height * extent.width;
  for (int64_t i = 3 * plane; i < extent.count(); ++i) image.planes[static_cast<size_t>(i)] |= 1;
  return image;
}

TEST(WebpTest, LosslessKeepsEveryByte) {
  for (const int64_t channels : {3, 4}) {
    const Image image = opaque_noise({channels, 11, 17});
    const Image back = decoded(lossless(image));
    EXPECT_EQ(back.extent, image.extent);
    EXPECT_EQ(back.planes, image.planes);
    EXPECT_EQ(image_format_of(lossless(image)), ImageFormat::kWebp);
  }
}

TEST(WebpTest, ColorModes) {
  const Image image = opaque_noise({4, 5, 6});
  const std::string file = lossless(image);
  EXPECT_EQ(decoded(file, ColorMode::kColor).planes, Bytes(image.planes.begin(), image.planes.begin() + 90));
  const Image grey = decoded(file, ColorMode::kGray);
  ASSERT_EQ(grey.extent, (Extent{1, 5, 6}));
  for (size_t i = 0; i < 30; ++i) {
    const double want = 0.114 * image.planes[i] + 0.587 * image.planes[30 + i] + 0.299 * image.planes[60 + i];
    EXPECT_NEAR(grey.planes[i], want, 0.51);
  }
}

TEST(WebpTest, LossyComesNear) {
  Image image;
  image.reset({3, 40, 48});
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < 40; ++y) {
      for (int64_t x = 0; x < 48; ++x) image.row(c, y)[x] = static_cast<uint8_t>(50 + 30 * c + 2 * x + y);
    }
  }
  const Image back = decoded(lossy(image));
  ASSERT_EQ(back.extent, image.extent);
  for (size_t i = 0; i < image.planes.size(); ++i) EXPECT_LE(std::abs(back.planes[i] - image.planes[i]), 8) << i;
}

TEST(WebpTest, CutFilesAreErrors) {
  for (const std::string& file : {lossless(opaque_noise({3, 30, 40})), lossy(opaque_noise({3, 30, 40}))}) {
    for (size_t length = 12; length < file.size(); length += length < 60 ? 1 : 13) {
      const Error error = error_of([&] { decoded(file.substr(0, length)); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << length;
    }
  }
}

TEST(WebpTest, EnormousClaimsAreRefusedAtOnce) {
  std::string file = lossless(opaque_noise({3, 8, 8}));
  const size_t size = file.find("VP8L") + 9;  // behind name, length and signature: 14 bits of each side, less one
  file.replace(size, 4, "\xff\xff\xff\x0f");
  const Error error = error_of([&] { decoded(file); });
  EXPECT_EQ(error.cause(), "the image claims 16384 x 16384 pixels; at most 134217728 are read");
}

TEST(WebpTest, ChangedBytesNeverCrash) {
  const std::string file = lossy(opaque_noise({3, 16, 16}));
  for (size_t at = 12; at < file.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        if (image_extent(damaged, ColorMode::kColor).count() < 1 << 20) decoded(damaged, ColorMode::kColor);
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::kInternal);
      }
    }
  }
}

}  // namespace
}  // namespace robusta::test::webp_test
