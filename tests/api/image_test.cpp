// Pictures and mean images for programs.

#include "robusta/image.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>

#include "robusta.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

/// A PNG of 2 x 1 pixels, (255, 0, 0) and (10, 20, 30) in R, G, B; made by zlib.
constexpr std::array<unsigned char, 72> kPng = {
    137, 80, 78, 71, 13, 10,  26, 10,  0,   0,  0,  13,  73, 72, 68, 82, 0,  0,   0,   2,  0,   0,   0,   1,
    8,   2,  0,  0,  0,  123, 64, 232, 221, 0,  0,  0,   15, 73, 68, 65, 84, 120, 218, 99, 248, 207, 192, 192,
    37,  34, 7,  0,  6,  101, 1,  60,  43,  87, 73, 172, 0,  0,  0,  0,  73, 69,  78,  68, 174, 66,  96,  130};

std::string png() { return {kPng.begin(), kPng.end()}; }

std::string saved(const TempDir& dir, const std::string& name, const std::string& content) {
  write_file(dir / name, content);
  return dir / name;
}

TEST(ImageTest, PlanesOfBlueGreenRed) {
  TempDir dir;
  const Image image = load_image(saved(dir, "a.png", png()), 3);
  EXPECT_EQ(image.shape, (Shape{3, 1, 2}));
  EXPECT_EQ(image.numbers, (std::vector<float>{0, 30, 0, 20, 255, 10}));
}

TEST(ImageTest, Grey) {
  const Image image = decode_image(std::as_bytes(std::span(kPng)), 1);
  EXPECT_EQ(image.shape, (Shape{1, 1, 2}));
  EXPECT_EQ(image.numbers, (std::vector<float>{76, 18}));  // 0.299 R + 0.587 G + 0.114 B
}

TEST(ImageTest, OtherFormats) {
  // A BMP of 2 x 1 pixels in B, G, R: the row is filled up to 8 bytes.
  const std::string head("BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0\x18\0", 30);
  const std::string bmp = head + std::string(24, '\0') + std::string("\x0\x0\xff\x1e\x14\xa\0\0", 8);
  const Image image = decode_image(std::as_bytes(std::span(bmp)), 3);
  EXPECT_EQ(image.shape, (Shape{3, 1, 2}));
  EXPECT_EQ(image.numbers, (std::vector<float>{0, 30, 0, 20, 255, 10}));
}

TEST(ImageTest, Resized) {
  const Image image = decode_image(std::as_bytes(std::span(kPng)), 3, 2, 4);
  EXPECT_EQ(image.shape, (Shape{3, 2, 4}));
  // Pixel centres at half-integers: 0, 1/4, 3/4 and 1 of the way.
  EXPECT_EQ(std::vector<float>(image.numbers.begin() + 16, image.numbers.begin() + 20),
            (std::vector<float>{255, 194, 71, 10}));
}

TEST(ImageTest, WhatIsWantedMustBePossible) {
  const auto refusal = [](int channels, int64_t height, int64_t width) {
    return error_of([&] { decode_image(std::as_bytes(std::span(kPng)), channels, height, width); }).kind();
  };
  EXPECT_EQ(refusal(2, 0, 0), ErrorKind::kUsage);
  EXPECT_EQ(refusal(3, 5, 0), ErrorKind::kUsage);
  EXPECT_EQ(refusal(3, -1, -1), ErrorKind::kUsage);
  EXPECT_EQ(refusal(3, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()), ErrorKind::kUsage);
  EXPECT_EQ(refusal(3, 1 << 14, (1 << 13) + 1), ErrorKind::kUsage);
}

TEST(ImageTest, DamagedFilesAreNamed) {
  TempDir dir;
  const auto refusal = [&](const std::string& content) {
    const std::string path = saved(dir, "broken", content);
    const Error error = error_of([&] { load_image(path, 3); });
    EXPECT_EQ(error.location(), path);
    return error.kind();
  };
  for (size_t length = 0; length < kPng.size() - 12; ++length) {  // without its last chunk it is whole
    const ErrorKind kind = refusal(png().substr(0, length));
    EXPECT_TRUE(kind == ErrorKind::kData || kind == ErrorKind::kUnsupported) << length;
  }
  EXPECT_EQ(refusal("GIF89a..............."), ErrorKind::kUnsupported);
  const Error absent = error_of([&] { load_image(dir / "absent.jpg", 3); });
  EXPECT_EQ(absent.kind(), ErrorKind::kData);
  EXPECT_EQ(absent.location(), dir / "absent.jpg");
}

/// A BlobProto of the old dimensions: num, channels, height and width, then packed floats.
std::string mean_of(int channels, const std::vector<float>& numbers) {
  const int width = static_cast<int>(numbers.size()) / channels;
  std::string file{8, 1, 16, static_cast<char>(channels), 24, 1, 32, static_cast<char>(width)};
  file += {42, static_cast<char>(4 * numbers.size())};
  file.append(reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size());
  return file;
}

TEST(ImageTest, MeansOfChannels) {
  TempDir dir;
  const std::string path = saved(dir, "mean.binaryproto", mean_of(3, {1, 2, 3, 4, 0.5f, 0.25f}));
  const Image mean = load_mean(path);
  EXPECT_EQ(mean.shape, (Shape{3, 1, 2}));
  EXPECT_EQ(mean.numbers, (std::vector<float>{1, 2, 3, 4, 0.5f, 0.25f}));
  EXPECT_EQ(channel_means(mean), (std::vector<float>{1.5f, 3.5f, 0.375f}));
  const int64_t huge = int64_t{1} << 62;
  for (const Shape& wrong :
       {Shape{3, 2, 2}, Shape{-1, -1, 2}, Shape{1, -2, -1}, Shape{huge, 4, 2}, Shape{0, 1, 2}, Shape{2}})
    EXPECT_EQ(error_of([&] { channel_means({wrong, {1, 2}}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([] { channel_means({{3, 0, 0}, {}}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { load_mean(dir / "absent"); }).kind(), ErrorKind::kData);
}

TEST(ImageTest, ForProgramsInC) {
  TempDir dir;
  const std::string path = saved(dir, "a.png", png()), mean = saved(dir, "mean", mean_of(3, {1, 2, 3, 4, 5, 6}));
  std::array<float, 6> numbers = {};
  EXPECT_EQ(robusta_load_image(path.c_str(), 3, 1, 2, numbers.data(), numbers.size()), 0);
  EXPECT_EQ(numbers, (std::array<float, 6>{0, 30, 0, 20, 255, 10}));
  EXPECT_EQ(robusta_load_image(path.c_str(), 3, 1, 2, numbers.data(), 5), 1);
  EXPECT_TRUE(contains(robusta_last_error(), "there are 6 numbers, not 5"));
  EXPECT_EQ(robusta_load_image(nullptr, 3, 1, 2, numbers.data(), 6), 1);
  EXPECT_EQ(robusta_load_channel_means(mean.c_str(), numbers.data(), 3), 0);
  EXPECT_EQ(numbers[2], 5.5f);
  EXPECT_EQ(robusta_load_channel_means((dir / "none").c_str(), numbers.data(), 3), 3);
}

}  // namespace
}  // namespace robusta::test
