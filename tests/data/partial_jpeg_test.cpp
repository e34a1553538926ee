// JPEGs of which only a part is looked at: its pixels are those of the whole image, and whoever asks for it looks at
// nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/item_writer.h"
#include "data/transformer.h"
#include "opened_layer.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"
#include "wave_jpegs.h"

namespace robusta::test::partial_jpeg_test {
namespace {

constexpr uint8_t kUntouched = 0xA5;

Image decoded(const std::string& file, ColorMode mode, const WantedPart& part = nullptr) {
  Image image;
  image.reset(image_extent(file, mode));
  std::ranges::fill(image.planes, kUntouched);
  decode_image(file, mode, {nullptr, part}, image);
  return image;
}

WantedPart just(const PixelRect& rect) {
  return [=](const Extent&, const Extent&) { return rect; };
}

void expect_same_within(const PixelRect& rect, const Image& got, const Image& want) {
  ASSERT_EQ(got.extent, want.extent);
  for (int64_t c = 0; c < want.extent.channels; ++c) {
    for (int64_t y = rect.top; y < rect.top + rect.height; ++y) {
      ASSERT_TRUE(
          std::equal(want.row(c, y) + rect.left, want.row(c, y) + rect.left + rect.width, got.row(c, y) + rect.left))
          << "channel " << c << ", row " << y << " of " << rect.top << " + " << rect.height << ", columns " << rect.left
          << " + " << rect.width;
    }
  }
}

int64_t untouched(const Image& image) { return std::ranges::count(image.planes, kUntouched); }

/// Every beginning and end relative to the blocks of 8 and 16 pixels that chroma is stored in.
std::vector<PixelRect> rects_of(int64_t height, int64_t width) {
  std::vector<PixelRect> rects;
  for (int64_t i = 0; i <= 34; ++i) {
    rects.push_back({i, i, height - 2 * i, width - 2 * i});
    rects.push_back({34 - i, i, 1 + i % 3, 1 + i % 5});
    rects.push_back({i, 0, height - i, width});
    rects.push_back({0, i, height, width - i});
    rects.push_back({height - 1 - i, width - 1 - i, 1 + i, 1 + i});
  }
  return rects;
}

TEST(PartialJpegTest, HasThePixelsOfTheWhole) {
  const JpegKind kinds[] = {{3},
                            {3, true},
                            {1},
                            {1, true},
                            {4},
                            {.components = 3, .across = 1, .down = 1},
                            {.components = 3, .across = 2, .down = 1},
                            {.components = 3, .across = 1, .down = 2},
                            {.components = 3, .across = 4, .down = 1},
                            {.components = 3, .across = 2, .down = 1, .restart_rows = 1},
                            {.components = 3, .progressive = true, .across = 2, .down = 2},
                            {.components = 3, .scans = {{3, {0, 1, 2}, 0, 0, 0, 0}}},  // the mean of each block alone
                            {.components = 1, .scans = {{1, {0}, 0, 0, 0, 0}}}};
  for (const JpegKind& kind : kinds) {
    SCOPED_TRACE(testing::Message() << kind.components << (kind.progressive ? " progressive " : " ") << kind.across
                                    << "x" << kind.down);
    for (const auto& [height, width] : {std::pair{96, 112}, {75, 101}}) {
      const std::string file = jpeg_of(height, width, kind);
      for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kColor, ColorMode::kGray}) {
        const Image whole = decoded(file, mode);
        for (const PixelRect& rect : rects_of(height, width)) {
          expect_same_within(rect, decoded(file, mode, just(rect)), whole);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Where the decoder leaves fine frequencies out, too.
TEST(PartialJpegTest, HasThePixelsOfTheScaledWhole) {
  for (const JpegKind& kind :
       {JpegKind{3}, JpegKind{3, true}, JpegKind{1}, JpegKind{4}, JpegKind{.components = 3, .across = 2, .down = 1}}) {
    const std::string file = jpeg_of(192, 224, kind);
    for (const int64_t divisor : {2, 4}) {
      const auto wanted = [=](const Extent& image) {
        return Extent{image.channels, image.height / divisor, image.width / divisor};
      };
      Image whole;
      decode_image(file, ColorMode::kColor, {wanted, nullptr}, whole);
      ASSERT_EQ(whole.extent.height, 192 / divisor);
      for (const PixelRect& rect : {PixelRect{1, 3, 20, 30}, PixelRect{17, 16, 23, 9}, PixelRect{47, 0, 1, 56}}) {
        Image part;
        decode_image(file, ColorMode::kColor, {wanted, just(rect)}, part);
        expect_same_within(rect, part, whole);
      }
    }
  }
}

TEST(PartialJpegTest, LeavesTheRestOut) {
  const std::string file = jpeg_of(128, 128);
  const Image part = decoded(file, ColorMode::kColor, just({32, 32, 32, 32}));
  EXPECT_GE(untouched(part), 3 * (128 * 128 - 32 * 64));
  EXPECT_LE(untouched(decoded(file, ColorMode::kColor)), 3 * 128 * 128 / 20) << "a value as any other";
}

TEST(PartialJpegTest, ThoseOfCamerasAreDecodedWhole) {
  const std::string file = turned(jpeg_of(64, 96));
  EXPECT_EQ(decoded(file, ColorMode::kColor, just({0, 0, 1, 1})).planes, decoded(file, ColorMode::kColor).planes);
}

TEST(PartialJpegTest, DamageBehindThePartIsFound) {
  for (const JpegKind& kind : {JpegKind{3, false}, JpegKind{3, true}, JpegKind{1, false}}) {
    const std::string file = jpeg_of(64, 64, kind);
    for (size_t length = file.size() / 2; length + 2 < file.size(); length += 7) {
      const Error error = error_of([&] { decoded(file.substr(0, length), ColorMode::kColor, just({0, 0, 4, 4})); });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << length;
      EXPECT_EQ(error.cause(), "the JPEG image is cut off") << length;
    }
  }
}

TEST(PartialJpegTest, ResizingReadsNothingElse) {
  const Image whole = decoded(jpeg_of(75, 101), ColorMode::kColor);
  for (const auto& [height, width] : {std::pair{40, 50}, {75, 101}, {150, 30}, {8, 300}}) {
    Image want;
    resize_bilinear(whole.pixels(), height, width, want);
    for (int64_t i = 0; i < 4; ++i) {
      const PixelRect part{i, 2 * i, height - 2 * i, width - 3 * i};
      const PixelRect read = read_by_resize(whole.extent, height, width, part);
      Image poor = whole, got;
      for (int64_t c = 0; c < 3; ++c) {
        for (int64_t y = 0; y < 75; ++y) {
          for (int64_t x = 0; x < 101; ++x) {
            const bool within =
                y >= read.top && y < read.top + read.height && x >= read.left && x < read.left + read.width;
            if (!within) poor.row(c, y)[x] = kUntouched;
          }
        }
      }
      resize_part_bilinear(poor.pixels(), height, width, part, got);
      expect_same_within(part, got, want);
    }
  }
}

caffe::TransformationParameter transform_of(const std::string& text) {
  caffe::TransformationParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

/// What comes out of whole images and of parts of them, for some samples; whether any part was less than its image.
bool looks_at_parts(const std::string& text) {
  const std::string file = jpeg_of(80, 120);
  const Image whole = decoded(file, ColorMode::kColor);
  const Transformer transformer(transform_of(text), true);
  TransformMemory memory;
  bool less = false;
  for (uint64_t position = 0; position < 20; ++position) {
    const Image part = decoded(file, ColorMode::kColor, [&](const Extent& decoded_in, const Extent& image) {
      return transformer.part_read(decoded_in, image, 7, position);
    });
    less |= untouched(part) > 2 * untouched(whole) + 1000;
    const auto count = static_cast<size_t>(transformer.output(whole.extent).count());
    std::vector<float> want(count), got(count);
    transformer.run(whole.pixels(), 7, position, memory, want.data());
    transformer.run(part.pixels(), 7, position, memory, got.data());
    EXPECT_EQ(got, want) << text << ", sample " << position;
  }
  return less;
}

TEST(PartialJpegTest, TransformationsAskForWhatTheyRead) {
  EXPECT_TRUE(looks_at_parts("crop_size: 30"));
  EXPECT_TRUE(looks_at_parts("crop_size: 50 mirror: true mean_value: 3 mean_value: 4 mean_value: 5"));
  EXPECT_TRUE(looks_at_parts("crop_size: 20 resize_param { height: 40 width: 60 }"));
  EXPECT_TRUE(looks_at_parts("crop_size: 30 fix_crop: true multi_scale: true scale_ratios: 1 scale_ratios: 0.5"));
  EXPECT_FALSE(looks_at_parts(""));
  EXPECT_FALSE(looks_at_parts("crop_size: 20 resize_param { height: 40 width: 60 interp_mode: CUBIC }"));
  EXPECT_FALSE(
      looks_at_parts("crop_size: 20 resize_param { height: 40 width: 70 resize_mode: FIT_LARGE_SIZE_AND_PAD }"));
  EXPECT_FALSE(
      looks_at_parts("crop_size: 20 distort_param { contrast_prob: 1 contrast_lower: 0.5 contrast_upper: 1.5 }"));
  EXPECT_FALSE(looks_at_parts("crop_size: 20 noise_param { hist_eq: true }"));
}

/// A pass of a source is what its transformer makes of whole images.
TEST(PartialJpegTest, SourcesGiveWhatWholeImagesGive) {
  TempDir dir;
  const auto file_of = [](int i) { return i == 2 ? turned(jpeg_of(90, 70)) : jpeg_of(70 + 10 * i, 90); };
  std::string list;
  for (int i = 0; i < 4; ++i) {
    write_file(dir / (std::to_string(i) + ".jpg"), file_of(i));
    list += std::to_string(i) + ".jpg 0\n";
  }
  write_file(dir / "list", list);
  write_database(dir / "db", 4, [&](int i) {
    caffe::Datum datum;
    datum.set_data(file_of(i));
    datum.set_encoded(true);
    return datum;
  });
  const std::string crop = "crop_size: 40 mirror: true";
  const auto pass_of = [](const caffe::LayerParameter& param) {
    OpenedLayer layer(param, SourceOptions());
    return pass_over(layer, nth_pass(0, 4)).values[0];
  };
  const auto want_of = [&](ColorMode mode, const Extent& size, const std::string& name) {
    const Transformer transformer(transform_of(crop), true);
    const ItemWriter writer(transformer, name, true, "");
    TransformMemory memory;
    std::vector<float> want(size_t{4} * 3 * 40 * 40);
    for (int i = 0; i < 4; ++i) {
      Image image = decoded(file_of(i), mode), other;
      if (size.height > 0) {
        resize_bilinear(image.pixels(), size.height, size.width, other);
        std::swap(image, other);
      }
      const Sample sample{.record = i, .position = static_cast<uint64_t>(i), .seed = 1, .place = i};
      transformer.run(image.pixels(), writer.key(sample), sample.position, memory,
                      &want[static_cast<size_t>(i) * 4800]);
    }
    return want;
  };
  for (const bool resizes : {false, true}) {
    const auto images = layer_of_images(
        "ImageData", "image_data_param", dir / "list",
        "batch_size: 4 root_folder: '" + (dir / "") + "' " + (resizes ? "new_height: 60 new_width: 50" : ""), crop,
        caffe::TRAIN);
    EXPECT_EQ(pass_of(images), want_of(ColorMode::kColor, resizes ? Extent{3, 60, 50} : Extent{}, images.name()));
  }
  const auto data =
      layer_of_images("Data", "data_param", dir / "db", "batch_size: 4 backend: LMDB", crop, caffe::TRAIN);
  EXPECT_EQ(pass_of(data), want_of(ColorMode::kAsStored, {}, data.name()));
}

}  // namespace
}  // namespace robusta::test::partial_jpeg_test
