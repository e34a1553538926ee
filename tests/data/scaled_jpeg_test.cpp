// JPEGs decoded to a part of their size where they are then made smaller: how large they come out, how near they are to
// what comes of the whole image, and who does so when.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/convert/image_set.h"
#include "data/datum.h"
#include "data/image.h"
#include "data/lmdb/lmdb_reader.h"
#include "data/transformer.h"
#include "opened_layer.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"
#include "wave_jpegs.h"

namespace robusta::test::scaled_jpeg_test {
namespace {

WantedSize at_least(int64_t height, int64_t width) {
  return [=](const Extent& image) { return Extent{image.channels, height, width}; };
}

Image decoded(const std::string& file, ColorMode mode, const WantedSize& wanted = nullptr) {
  Image image;
  decode_image(file, mode, {wanted, nullptr}, image);
  EXPECT_EQ(static_cast<int64_t>(image.planes.size()), image.extent.count());
  EXPECT_EQ(image.pixels().image(), image_extent(file, mode));
  return image;
}

/// Of all pixels, and of the one that differs most.
struct Difference {
  double mean = 0;
  int most = 0;
};

Difference difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  Difference found;
  for (size_t i = 0; i < a.size(); ++i) {
    const int by = std::abs(a[i] - b[i]);
    found.mean += by / static_cast<double>(a.size());
    found.most = std::max(found.most, by);
  }
  return found;
}

TEST(ScaledJpegTest, TheSmallestPartThatIsLargeEnough) {
  const std::string file = jpeg_of(101, 203);
  const auto size = [&](int64_t height, int64_t width) {
    const Image image = decoded(file, ColorMode::kColor, at_least(height, width));
    EXPECT_GE(image.extent.height, height);
    EXPECT_GE(image.extent.width, width);
    return std::pair(image.extent.height, image.extent.width);
  };
  using Sides = std::pair<int64_t, int64_t>;
  EXPECT_EQ(size(1, 1), (Sides{13, 26}));
  EXPECT_EQ(size(13, 26), (Sides{13, 26}));
  EXPECT_EQ(size(14, 26), (Sides{26, 51}));
  EXPECT_EQ(size(13, 27), (Sides{26, 51}));
  EXPECT_EQ(size(26, 51), (Sides{26, 51}));
  EXPECT_EQ(size(27, 2), (Sides{51, 102}));
  EXPECT_EQ(size(51, 102), (Sides{51, 102}));
  EXPECT_EQ(size(52, 102), (Sides{101, 203}));
  EXPECT_EQ(size(51, 103), (Sides{101, 203}));
  EXPECT_EQ(decoded(file, ColorMode::kColor, at_least(300, 2)).extent, (Extent{3, 101, 203}));
}

TEST(ScaledJpegTest, WhatIsNotScaledHasTheBytesOfAWholeImage) {
  const std::string file = jpeg_of(40, 60);
  const Image whole = decoded(file, ColorMode::kColor), same = decoded(file, ColorMode::kColor, at_least(21, 10));
  EXPECT_EQ(same.planes, whole.planes);
  EXPECT_EQ(same.scaled_from.count(), 0);
}

constexpr JpegKind kKinds[] = {{3, false}, {3, true}, {1, false}, {1, true}, {4, false}, {4, true}};

/// The mean of each square of pixels of which one is made: what a DCT of fewer coefficients stands for.
Image averaged(const Image& whole, int64_t side) {
  Image means;
  means.reset({whole.extent.channels, whole.extent.height / side, whole.extent.width / side});
  for (int64_t c = 0; c < means.extent.channels; ++c) {
    for (int64_t y = 0; y < means.extent.height; ++y) {
      for (int64_t x = 0; x < means.extent.width; ++x) {
        double sum = 0;
        for (int64_t i = 0; i < side * side; ++i) {
          const int64_t row = c * whole.extent.height + y * side + i / side;
          sum += whole.planes[static_cast<size_t>(row * whole.extent.width + x * side + i % side)];
        }
        means.row(c, y)[x] = static_cast<uint8_t>(std::lround(sum / static_cast<double>(side * side)));
      }
    }
  }
  return means;
}

TEST(ScaledJpegTest, IsTheMeanOfEachSquare) {
  for (const JpegKind& kind : kKinds) {
    const std::string file = jpeg_of(192, 320, kind);
    for (const int64_t side : {2, 4, 8}) {
      for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kColor, ColorMode::kGray}) {
        const Image part = decoded(file, mode, at_least(192 / side, 320 / side));
        const Image want = averaged(decoded(file, mode), side);
        ASSERT_EQ(part.extent, want.extent);
        const Difference found = difference(part.planes, want.planes);
        EXPECT_LE(found.mean, 1.5) << kind.components << kind.progressive << " by " << side;
        EXPECT_LE(found.most, 8) << kind.components << kind.progressive << " by " << side;
      }
    }
  }
}

/// Where waves are so long that a mean over eight pixels keeps 99 % of them.
TEST(ScaledJpegTest, ComesNearToResizingTheWhole) {
  for (JpegKind kind : kKinds) {
    kind.stretch = 4;
    const std::string file = jpeg_of(200, 320, kind);
    for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kColor, ColorMode::kGray}) {
      for (const auto& [height, width] : {std::pair{90, 140}, {45, 75}, {25, 40}}) {
        const Image whole = decoded(file, mode), part = decoded(file, mode, at_least(height, width));
        EXPECT_EQ(part.extent.channels, whole.extent.channels);
        EXPECT_LE(2 * part.extent.height, whole.extent.height);
        Image want, got;
        resize_bilinear(whole.pixels(), height, width, want);
        resize_bilinear(part.pixels(), height, width, got);
        EXPECT_EQ(got.scaled_from.count(), 0);
        const Difference found = difference(got.planes, want.planes);
        EXPECT_LE(found.mean, 2) << kind.components << kind.progressive << " to " << height;
        EXPECT_LE(found.most, 12) << kind.components << kind.progressive << " to " << height;
      }
    }
  }
}

TEST(ScaledJpegTest, ThoseOfCamerasAreTurned) {
  const std::string file = turned(jpeg_of(80, 200));
  const Image upright = decoded(file, ColorMode::kColor, at_least(90, 40));
  EXPECT_EQ(upright.extent, (Extent{3, 100, 40}));
  EXPECT_EQ(upright.scaled_from, (Extent{3, 200, 80}));
  EXPECT_EQ(decoded(file, ColorMode::kColor, at_least(40, 90)).extent, (Extent{3, 200, 80}));
  EXPECT_EQ(decoded(file, ColorMode::kAsStored, at_least(40, 90)).extent, (Extent{3, 40, 100}));
}

TEST(ScaledJpegTest, DamagedFilesAreErrors) {
  for (const JpegKind& kind : {JpegKind{3, false}, JpegKind{3, true}, JpegKind{1, true}, JpegKind{4, false}}) {
    const std::string file = jpeg_of(64, 64, kind);
    for (size_t length = 0; length + 2 < file.size(); length += 7) {
      Image image;
      const Error error = error_of([&] {
        decode_image(file.substr(0, length), ColorMode::kColor, {at_least(8, 8), nullptr}, image);
      });
      EXPECT_EQ(error.kind(), ErrorKind::kData) << length;
    }
  }
  Image image;
  const auto refusing = [](const Extent&) -> Extent { throw Error(ErrorKind::kData, "too long"); };
  EXPECT_EQ(error_of([&] {
              decode_image(jpeg_of(8, 8), ColorMode::kColor, {refusing, nullptr}, image);
            }).cause(),
            "too long");
}

caffe::TransformationParameter transform_of(const std::string& text) {
  caffe::TransformationParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

TEST(ScaledJpegTest, TransformationsSayWhatTheyWant) {
  const Extent image{3, 400, 600};
  const auto wanted = [&](const std::string& text) {
    const Extent size = Transformer(transform_of(text), true).wanted_size(image);
    return std::pair(size.height, size.width);
  };
  using Sides = std::pair<int64_t, int64_t>;
  const std::string to_small = "resize_param { height: 100 width: 120 ";
  EXPECT_EQ(wanted(to_small + "}"), (Sides{100, 120}));
  EXPECT_EQ(wanted(to_small + "interp_mode: AREA interp_mode: CUBIC }"), (Sides{100, 120}));
  EXPECT_EQ(wanted(to_small + "resize_mode: FIT_LARGE_SIZE_AND_PAD }"), (Sides{80, 120}));
  EXPECT_EQ(wanted(to_small + "resize_mode: FIT_SMALL_SIZE } crop_size: 90"), (Sides{100, 150}));
  const Sides all{400, 600};
  EXPECT_EQ(wanted(""), all);
  EXPECT_EQ(wanted("crop_size: 30"), all);
  EXPECT_EQ(wanted(to_small + "interp_mode: LINEAR interp_mode: NEAREST }"), all);
  EXPECT_EQ(wanted(to_small + "prob: 0.5 } crop_size: 90"), all);
  EXPECT_EQ(wanted(to_small + "} distort_param { brightness_prob: 1 brightness_delta: 3 }"), all);
  EXPECT_EQ(wanted(to_small + "} expand_param { max_expand_ratio: 2 }"), all);
  EXPECT_EQ(Transformer(transform_of(to_small + "}"), true, true).wanted_size(image), image) << "patches come first";
}

SourceOptions options_with(bool scaled) {
  SourceOptions options;
  options.data.scaled_jpeg = scaled;
  return options;
}

/// The first pass of a source, whole and scaled: other numbers that are near, of the same crops and mirrors.
void expect_near(const caffe::LayerParameter& param, const Shape& shape) {
  OpenedLayer exact(param, options_with(false)), scaled(param, options_with(true));
  const Tops want = pass_over(exact, nth_pass(0, shape[0])), got = pass_over(scaled, nth_pass(0, shape[0]));
  ASSERT_EQ(want.shapes[0], shape);
  ASSERT_EQ(got.shapes, want.shapes);
  EXPECT_NE(got.values[0], want.values[0]);
  double mean = 0;
  for (size_t i = 0; i < want.values[0].size(); ++i)
    mean += std::abs(got.values[0][i] - want.values[0][i]) / static_cast<double>(want.values[0].size());
  EXPECT_LE(mean, 2);
  EXPECT_EQ(got.values[1], want.values[1]);
}

TEST(ScaledJpegTest, SourcesScaleWhereTheyAreToldTo) {
  TempDir dir;
  std::string list;
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i) + ".jpg";
    write_file(dir / name, i == 2 ? turned(jpeg_of(250, 170)) : jpeg_of(170 + 10 * i, 250));
    list += name + " " + std::to_string(i) + "\n";
  }
  write_file(dir / "list", list);
  const auto images = [&](const std::string& settings, const std::string& transform) {
    return layer_of_images("ImageData", "image_data_param", dir / "list",
                           "batch_size: 4 root_folder: '" + (dir / "") + "' " + settings, transform, caffe::TRAIN);
  };
  expect_near(images("new_height: 60 new_width: 50", "crop_size: 40 mirror: true"), {4, 3, 40, 40});
  expect_near(images("short_side: 48", "crop_size: 40 mirror: true"), {4, 3, 40, 40});
  expect_near(images("", "crop_size: 40 mirror: true resize_param { height: 60 width: 50 }"), {4, 3, 40, 40});
  expect_near(images("", "crop_size: 40 resize_param { height: 50 width: 60 resize_mode: FIT_SMALL_SIZE }"),
              {4, 3, 40, 40});

  write_database(dir / "db", 4, [&](int i) {
    caffe::Datum datum;
    datum.set_data(read_file(dir / (std::to_string(i) + ".jpg")));
    datum.set_label(i);
    datum.set_encoded(true);
    return datum;
  });
  expect_near(layer_of_images("Data", "data_param", dir / "db", "batch_size: 4 backend: LMDB",
                              "resize_param { height: 60 width: 50 }", caffe::TRAIN),
              {4, 3, 60, 50});
}

TEST(ScaledJpegTest, DatabasesAreMadeSoWhereTheyAreToldTo) {
  TempDir dir;
  write_file(dir / "a.jpg", jpeg_of(200, 320));
  write_file(dir / "list", "a.jpg 1\n");
  const auto pixels = [&](bool scaled) {
    ImageSetOptions options;
    options.root = dir / "";
    options.list = dir / "list";
    options.folder = dir / (scaled ? "scaled" : "exact");
    options.image.resize_height = 60;
    options.image.resize_width = 50;
    options.image.scaled_jpeg = scaled;
    convert_image_set(options);
    std::string storage;
    std::vector<float> floats;
    const std::string_view data = parse_datum(LmdbReader::open(options.folder)->record(0, storage), floats).data;
    return std::vector<uint8_t>(data.begin(), data.end());
  };
  const std::vector<uint8_t> exact = pixels(false), scaled = pixels(true);
  Image want;
  resize_bilinear(decoded(read_file(dir / "a.jpg"), ColorMode::kColor).pixels(), 60, 50, want);
  EXPECT_EQ(exact, want.planes);
  EXPECT_NE(scaled, exact);
  EXPECT_LE(difference(scaled, exact).mean, 2);
}

}  // namespace
}  // namespace robusta::test::scaled_jpeg_test
