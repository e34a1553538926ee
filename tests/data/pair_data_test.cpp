// DenseImageData, ImageSegData and ImageLabelmapData: images and labels of their pixels stay together.

#include <gtest/gtest.h>

#include <set>

#include "data/image_pairs.h"
#include "data/label_map.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::pair_data_test {
namespace {

using test::contains;
using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

constexpr const char* kDense = "dense_image_data_param";
constexpr const char* kListed = "image_data_param";

void write_image(const std::string& path, const Image& image) {
  test::write_file(path, encode_image(image, ImageFormat::kPng));
}

/// A grey image whose pixel at (y, x) is f(y, x).
template <typename Pixel>
Image grey_image(int64_t height, int64_t width, const Pixel& pixel) {
  Image image;
  image.reset({1, height, width});
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) image.row(0, y)[x] = static_cast<uint8_t>(pixel(y, x));
  }
  return image;
}

/// The pixel of picture i, at the same place of its map; so image and labels can be compared.
int pixel_at(int picture, int64_t y, int64_t x) { return static_cast<int>(20 * picture + 7 * y + x); }

/// Grey pictures "<i>.png", each its own map, and their list.
std::string make_pairs(const TempDir& dir, int count, int64_t height = 6, int64_t width = 5) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i) + ".png";
    write_image(dir / name, grey_image(height, width, [&](int64_t y, int64_t x) { return pixel_at(i, y, x); }));
    list += name + "\t" + name + "\n";
  }
  test::write_file(dir / "list.txt", list);
  return dir / "list.txt";
}

caffe::LayerParameter pair_layer(const std::string& type, const TempDir& dir, const std::string& settings,
                                 const std::string& transform = "", caffe::Phase phase = caffe::TRAIN,
                                 const std::string& list = "list.txt") {
  const std::string field = type == "DenseImageData" ? kDense : kListed;
  return test::layer_of_images(type, field, dir / list, "is_color: false root_folder: '" + (dir / "") + "' " + settings,
                               transform, phase);
}

caffe::LayerParameter seg_layer(const TempDir& dir, const std::string& settings, const std::string& transform = "",
                                caffe::Phase phase = caffe::TRAIN) {
  caffe::LayerParameter param = pair_layer("ImageSegData", dir, settings, transform, phase);
  param.add_top("dim");
  return param;
}

TEST(PairDataTest, ImagesAndLabelsInTheOrderOfTheList) {
  TempDir dir;
  make_pairs(dir, 3);
  OpenedLayer layer(pair_layer("DenseImageData", dir, "batch_size: 2", "mean_value: 1 scale: 0.5"));
  const Tops tops = pass_over(layer, nth_pass(1, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 1, 6, 5}));
  EXPECT_EQ(tops.shapes[1], (Shape{2, 1, 6, 5}));
  for (size_t i = 0; i < 60; ++i) {
    const int pixel = pixel_at(i < 30 ? 2 : 0, static_cast<int64_t>(i % 30 / 5), static_cast<int64_t>(i % 5));
    EXPECT_EQ(tops.values[1][i], static_cast<float>(pixel)) << i;
    EXPECT_EQ(tops.values[0][i], static_cast<float>(pixel - 1) * 0.5f) << i;
  }
  EXPECT_EQ(layer->records(), 3);
  EXPECT_EQ(layer->sample_key(3), "0.png, line 1 in " + (dir / "list.txt"));
  EXPECT_EQ(layer->labelled()->label(2), pixel_at(2, 5, 4));
}

TEST(PairDataTest, CropsAndMirrorsBothAlike) {
  TempDir dir;
  make_pairs(dir, 2, 9, 8);
  for (const char* type : {"DenseImageData", "ImageSegData"}) {
    OpenedLayer layer(pair_layer(type, dir, std::string("batch_size: 2") + (type[0] == 'I' ? " label_type: PIXEL" : ""),
                                 "crop_h: 4 crop_w: 3 mirror: true"));
    std::set<float> corners;
    for (uint64_t k = 0; k < 20; ++k) {
      const Tops tops = pass_over(layer, nth_pass(k, 2));
      ASSERT_EQ(tops.shapes[1], (Shape{2, 1, 4, 3}));
      EXPECT_EQ(tops.values[0], tops.values[1]);
      corners.insert(tops.values[1][0]);
      corners.insert(-std::abs(tops.values[1][0] - tops.values[1][1]));
      EXPECT_EQ(std::abs(tops.values[1][0] - tops.values[1][1]), 1) << "neighbours of one row";
    }
    EXPECT_GT(corners.size(), 10u) << type;
  }
}

TEST(PairDataTest, TestingTakesTheMiddle) {
  TempDir dir;
  make_pairs(dir, 1, 9, 8);
  OpenedLayer layer(pair_layer("DenseImageData", dir, "batch_size: 1", "crop_size: 4", caffe::TEST));
  EXPECT_EQ(pass_over(layer, nth_pass(0, 1)).values[1][0], static_cast<float>(pixel_at(0, 2, 2)));
}

TEST(PairDataTest, LabelsAreResizedWithoutMixing) {
  TempDir dir;
  make_pairs(dir, 1);
  OpenedLayer layer(pair_layer("DenseImageData", dir, "batch_size: 1 new_height: 12 new_width: 15"));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  ASSERT_EQ(tops.shapes[1], (Shape{1, 1, 12, 15}));
  for (int64_t y = 0; y < 12; ++y) {
    for (int64_t x = 0; x < 15; ++x) {
      EXPECT_EQ(tops.values[1][static_cast<size_t>(15 * y + x)], static_cast<float>(pixel_at(0, y / 2, x / 3)));
    }
  }
  EXPECT_NE(tops.values[0], tops.values[1]) << "the image is interpolated";
}

TEST(PairDataTest, SmallImagesArePaddedAndIgnored) {
  TempDir dir;
  make_pairs(dir, 1);
  OpenedLayer layer(seg_layer(dir, "batch_size: 1 label_type: PIXEL ignore_label: 254",
                              "crop_height: 4 crop_width: 7 mean_value: 3"));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  ASSERT_EQ(tops.shapes[0], (Shape{1, 1, 4, 7}));
  EXPECT_EQ(tops.values[2], (std::vector<float>{4, 5}));
  EXPECT_EQ(tops.shapes[2], (Shape{1, 1, 1, 2}));
  for (size_t i = 0; i < 28; ++i) {
    const bool beyond = i % 7 >= 5;
    EXPECT_EQ(tops.values[0][i], beyond ? 0 : tops.values[1][i] - 3) << i;
    EXPECT_EQ(tops.values[1][i] == 254, beyond) << i;
  }
}

TEST(PairDataTest, ScaledByOneOfTheFactors) {
  TempDir dir;
  make_pairs(dir, 1);
  OpenedLayer layer(
      seg_layer(dir, "batch_size: 1 label_type: PIXEL", "crop_size: 12 scale_factors: 0.5 scale_factors: 2"));
  std::set<size_t> sizes;
  for (uint64_t k = 0; k < 20; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 1));
    sizes.insert(144 - static_cast<size_t>(std::count(tops.values[1].begin(), tops.values[1].end(), 255.0f)));
  }
  EXPECT_EQ(sizes, (std::set<size_t>{3 * 2, 12 * 10}));
}

TEST(PairDataTest, OneLabelForAllPixelsOrNone) {
  TempDir dir;
  make_pairs(dir, 1);
  test::write_file(dir / "list.txt", "0.png 7\n");
  OpenedLayer one(seg_layer(dir, "batch_size: 1 label_type: IMAGE", "crop_size: 6"));
  const std::vector<float> labels = pass_over(one, nth_pass(0, 1)).values[1];
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 7.0f), 30);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 255.0f), 6);
  EXPECT_EQ(one->labelled()->label(0), 7);
  OpenedLayer none(seg_layer(dir, "batch_size: 1 label_type: NONE ignore_label: -1"));
  EXPECT_EQ(pass_over(none, nth_pass(0, 1)).values[1], std::vector<float>(30, -1));
}

TEST(PairDataTest, EdgesAreBrighterThanHalf) {
  TempDir dir;
  make_pairs(dir, 1);
  write_image(dir / "map.png", grey_image(6, 5, [](int64_t y, int64_t x) { return 120 + 5 * y - x; }));
  test::write_file(dir / "list.txt", "0.png map.png\n");
  OpenedLayer layer(pair_layer("ImageLabelmapData", dir, "batch_size: 1"));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(tops.values[1][i], 120 + 5 * (i / 5) - i % 5 >= 128 ? 1 : 0) << i;
  EXPECT_FALSE(layer->labelled());
}

TEST(PairDataTest, ShuffleAndResume) {
  TempDir dir;
  make_pairs(dir, 9);
  const auto param = seg_layer(dir, "batch_size: 3 shuffle: true rand_skip: 4 label_type: PIXEL",
                               "mirror: true crop_size: 4 scale_factors: 1 scale_factors: 2");
  OpenedLayer whole(param), resumed(param);
  std::set<std::string> keys;
  for (uint64_t k = 0; k < 5; ++k) {
    pass_over(whole, nth_pass(k, 3));
    for (uint64_t i = 0; i < 3 && k < 3; ++i) keys.insert(whole->sample_key(3 * k + i));
  }
  EXPECT_GE(keys.size(), 6u);
  EXPECT_EQ(pass_over(resumed, nth_pass(4, 3)).values, pass_over(whole, nth_pass(4, 3)).values);
}

TEST(PairDataTest, WhatIsWrongIsNamed) {
  TempDir dir;
  const std::string list = make_pairs(dir, 2);
  write_image(dir / "1.png", grey_image(4, 5, [](int64_t, int64_t) { return 1; }));
  test::write_file(list, "0.png 1.png\n");
  OpenedLayer sizes(pair_layer("DenseImageData", dir, "batch_size: 1"));
  const Error error = error_of([&] { sizes->prepare(nth_pass(0, 1)); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.cause(),
            "record 0.png, line 1 in " + list + ": its map 1.png: it is 4 x 5 (rows x columns), the image 6 x 5");
  OpenedLayer resized(pair_layer("DenseImageData", dir, "batch_size: 1 new_height: 3 new_width: 3"));
  EXPECT_NO_THROW(resized->prepare(nth_pass(0, 1)));

  test::write_file(list, "0.png 0.png\n\n1.png absent.png\n");
  OpenedLayer absent(pair_layer("DenseImageData", dir, "batch_size: 1"));
  EXPECT_EQ(error_of([&] { absent->prepare(nth_pass(1, 1)); }).location(), list + ":3");

  write_image(dir / "colours.png", test::random_image({3, 6, 5}, 1));
  test::write_file(list, "0.png colours.png\n");
  OpenedLayer colours(pair_layer("DenseImageData", dir, "batch_size: 1"));
  EXPECT_TRUE(contains(error_of([&] { colours->prepare(nth_pass(0, 1)); }).cause(), "its map colours.png"));
}

TEST(PairDataTest, ImagesOfSeveralSizesNeedOneOrABatchOfOne) {
  TempDir dir;
  const std::string list = make_pairs(dir, 2);
  write_image(dir / "1.png", grey_image(4, 5, [](int64_t, int64_t) { return 1; }));
  OpenedLayer both(pair_layer("DenseImageData", dir, "batch_size: 2"));
  EXPECT_TRUE(contains(error_of([&] { both->prepare(nth_pass(0, 2)); }).cause(),
                       "it is 1x4x5, the first item of its batch is 1x6x5"));
  OpenedLayer one(pair_layer("DenseImageData", dir, "batch_size: 1"));
  EXPECT_EQ(pass_over(one, nth_pass(0, 1)).shapes[1], (Shape{1, 1, 6, 5}));
  EXPECT_EQ(pass_over(one, nth_pass(1, 1)).shapes[1], (Shape{1, 1, 4, 5}));
  OpenedLayer crop(pair_layer("DenseImageData", dir, "batch_size: 1", "crop_size: 5"));
  EXPECT_TRUE(contains(error_of([&] { crop->prepare(nth_pass(1, 1)); }).cause(), "smaller than the crop of 5 x 5"));
}

TEST(PairDataTest, GreyPixelsOfColourFilesAreLabels) {
  TempDir dir;
  Image grey;
  grey.reset({3, 2, 2});
  for (size_t i = 0; i < 12; ++i) grey.planes[i] = static_cast<uint8_t>(i % 4 + 20);
  Image map;
  decode_label_map(encode_image(grey, ImageFormat::kPng), map);
  EXPECT_EQ(map.extent, (Extent{1, 2, 2}));
  EXPECT_EQ(map.planes, (std::vector<uint8_t>{20, 21, 22, 23}));
  grey.planes[5] = 0;
  EXPECT_EQ(error_of([&] { decode_label_map(encode_image(grey, ImageFormat::kPng), map); }).kind(), ErrorKind::kData);
}

TEST(PairListTest, BrokenLinesAreNamed) {
  TempDir dir;
  const auto refusal = [&](const std::string& line, PixelLabels labels) {
    test::write_file(dir / "list.txt", "a.png 1\n" + line + "\n");
    return error_of([&] { read_listed_pairs(dir / "list.txt", labels); }).location();
  };
  for (const char* line : {"a.png", "a.png b.png c.png"}) {
    EXPECT_EQ(refusal(line, PixelLabels::kMap), (dir / "list.txt") + ":2") << line;
  }
  EXPECT_EQ(refusal("a.png b.png", PixelLabels::kOneForAll), (dir / "list.txt") + ":2");
  test::write_file(dir / "list.txt", "\n  \r\n");
  EXPECT_EQ(error_of([&] { read_listed_pairs(dir / "list.txt", PixelLabels::kNone); }).kind(), ErrorKind::kData);
  test::write_file(dir / "list.txt", "a.png whatever else\r\n");
  EXPECT_EQ(read_listed_pairs(dir / "list.txt", PixelLabels::kNone)[0].image, "a.png");
}

TEST(PairDataTest, SettingsThatCannotBe) {
  TempDir dir;
  make_pairs(dir, 1);
  const auto field_of = [&](const std::string& type, const std::string& settings, const std::string& transform) {
    return error_of([&] { OpenedLayer layer(pair_layer(type, dir, settings, transform)); }).field();
  };
  EXPECT_EQ(field_of("DenseImageData", "", ""), "dense_image_data_param.batch_size");
  EXPECT_EQ(field_of("DenseImageData", "batch_size: 1 new_width: 2", ""), "dense_image_data_param.new_height");
  EXPECT_EQ(field_of("ImageLabelmapData", "", "crop_size: 2 crop_h: 2 crop_w: 2"), "transform_param.crop_size");
  EXPECT_EQ(field_of("ImageLabelmapData", "", "crop_height: 2"), "transform_param.crop_height");
  EXPECT_EQ(field_of("ImageSegData", "", "crop_size: 4294967295"), "transform_param.crop_size");
  EXPECT_EQ(field_of("ImageSegData", "", "scale_factors: 2"), "transform_param.scale_factors");
  EXPECT_EQ(field_of("ImageSegData", "", "crop_size: 2 scale_factors: -1"), "transform_param.scale_factors");
  EXPECT_EQ(field_of("ImageSegData", "", "mean_file: 'm'"), "transform_param.mean_file");
  EXPECT_EQ(field_of("ImageSegData", "", "resize_param { height: 2 width: 2 }"), "transform_param.resize_param");
  EXPECT_EQ(field_of("ImageSegData", "", "noise_param { prob: 0.5 }"), "transform_param.noise_param");
  EXPECT_EQ(field_of("ImageData", "label_type: PIXEL", ""), "image_data_param.label_type");
}

TEST(PairDataTest, SyntheticPairs) {
  TempDir dir;
  const SourceOptions synthesize{.data = {.synthesize_missing = true}};
  caffe::LayerParameter param = pair_layer("ImageSegData", dir, "batch_size: 2", "crop_height: 4 crop_width: 5");
  param.add_top("dim");
  OpenedLayer layer(param, synthesize);
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes, (std::vector<Shape>{{2, 1, 4, 5}, {2, 1, 4, 5}, {2, 1, 1, 2}}));
  EXPECT_EQ(tops.values[1], std::vector<float>(40, 0));
}

}  // namespace
}  // namespace robusta::pair_data_test
