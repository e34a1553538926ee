// ImageData: lists, image files, sizes, and what is wrong with them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "data/image_files.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::image_data_test {
namespace {

using test::contains;
using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

caffe::LayerParameter image_layer(const std::string& source, const std::string& settings,
                                  const std::string& transform = "", caffe::Phase phase = caffe::TRAIN) {
  return test::layer_of_images("ImageData", "image_data_param", source, settings, transform, phase);
}

/// Colour pictures "<i> picture.png" of this size with labels 10 i, and their list.
std::string make_images(const TempDir& dir, int count, const Extent& size = {3, 6, 5}) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i) + " picture.png";
    test::write_file(dir / name, encode_image(test::random_image(size, static_cast<uint64_t>(i)), ImageFormat::kPng));
    list += name + " " + std::to_string(10 * i) + "\n";
  }
  test::write_file(dir / "list.txt", list);
  return dir / "list.txt";
}

std::string in_folder(const TempDir& dir, const std::string& settings) {
  return settings + " root_folder: '" + (dir / "") + "'";
}

std::vector<float> labels_of(const OpenedLayer& layer, int64_t batch, uint64_t passes, uint64_t seed = 1) {
  std::vector<float> labels;
  for (uint64_t k = 0; k < passes; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, batch, seed));
    labels.insert(labels.end(), tops.values[1].begin(), tops.values[1].end());
  }
  return labels;
}

TEST(ImageDataTest, TransformationsOfForks) {
  TempDir dir;
  const std::string list = make_images(dir, 2);
  OpenedLayer plain(image_layer(list, in_folder(dir, "batch_size: 2"))),
      negative(image_layer(list, in_folder(dir, "batch_size: 2"), "noise_param { inverse: true }")),
      padded(image_layer(list, in_folder(dir, "batch_size: 2"),
                         "resize_param { height: 6 width: 9 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 3 }"));
  const Tops as_they_are = pass_over(plain, nth_pass(0, 2)), turned = pass_over(negative, nth_pass(0, 2)),
             wide = pass_over(padded, nth_pass(0, 2));
  for (size_t i = 0; i < as_they_are.values[0].size(); ++i)
    ASSERT_EQ(turned.values[0][i], 255 - as_they_are.values[0][i]);
  ASSERT_EQ(wide.shapes[0], (Shape{2, 3, 6, 9}));
  for (size_t i = 0; i < wide.values[0].size(); ++i) {
    const size_t row = i / 9, x = i % 9;
    const bool inside = x >= 2 && x < 7;
    ASSERT_EQ(wide.values[0][i], inside ? as_they_are.values[0][row * 5 + x - 2] : 3) << i;
  }
}

TEST(ImageDataTest, PixelsAndLabelsInTheOrderOfTheList) {
  TempDir dir;
  OpenedLayer layer(image_layer(make_images(dir, 3), in_folder(dir, "batch_size: 2")));
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 3, 6, 5}));
  EXPECT_EQ(tops.shapes[1], (Shape{2}));
  const Image second = test::random_image({3, 6, 5}, 1);
  EXPECT_EQ(std::vector<float>(tops.values[0].begin() + 90, tops.values[0].end()),
            std::vector<float>(second.planes.begin(), second.planes.end()));
  EXPECT_EQ(labels_of(layer, 2, 3), (std::vector<float>{0, 10, 20, 0, 10, 20}));
  EXPECT_EQ(layer->records(), 3);
  EXPECT_EQ(layer->sample_key(5), "2 picture.png, line 3 in " + (dir / "list.txt"));
  EXPECT_EQ(layer->labelled()->label(2), 20);
}

TEST(ImageDataTest, GreyAndResized) {
  TempDir dir;
  const std::string list = make_images(dir, 2);
  OpenedLayer grey(image_layer(list, in_folder(dir, "batch_size: 1 is_color: false")));
  EXPECT_EQ(pass_over(grey, nth_pass(0, 1)).shapes[0], (Shape{1, 1, 6, 5}));
  OpenedLayer resized(image_layer(list, in_folder(dir, "batch_size: 2 new_height: 8 new_width: 3")));
  const Tops tops = pass_over(resized, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 3, 8, 3}));
  Image want;
  resize_bilinear(test::random_image({3, 6, 5}, 0).pixels(), 8, 3, want);
  EXPECT_EQ(std::vector<float>(tops.values[0].begin(), tops.values[0].begin() + 72),
            std::vector<float>(want.planes.begin(), want.planes.end()));
}

TEST(ImageDataTest, ImagesOfSeveralSizesFitOnceResized) {
  TempDir dir;
  const std::string list = make_images(dir, 2);
  test::write_file(dir / "1 picture.png", encode_image(test::random_image({3, 9, 4}, 1), ImageFormat::kPng));
  OpenedLayer plain(image_layer(list, in_folder(dir, "batch_size: 2")));
  const Error error = error_of([&] { plain->prepare(nth_pass(0, 2)); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.cause(),
            "record 1 picture.png, line 2 in " + list + ": it is 3x9x4, the first item of its batch is 3x6x5");
  EXPECT_TRUE(contains(error.fix(), "new_height"));
  OpenedLayer resized(image_layer(list, in_folder(dir, "batch_size: 2 new_height: 4 new_width: 4")));
  EXPECT_EQ(pass_over(resized, nth_pass(0, 2)).shapes[0], (Shape{2, 3, 4, 4}));
}

TEST(ImageDataTest, SizesThatDependOnTheImage) {
  TempDir dir;
  const std::string list = make_images(dir, 2);
  test::write_file(dir / "1 picture.png", encode_image(test::random_image({3, 9, 30}, 1), ImageFormat::kPng));
  const auto shapes = [&](const std::string& settings) {
    OpenedLayer layer(image_layer(list, in_folder(dir, "batch_size: 1 " + settings)));
    return std::vector<Shape>{pass_over(layer, nth_pass(0, 1)).shapes[0], pass_over(layer, nth_pass(1, 1)).shapes[0]};
  };
  EXPECT_EQ(shapes("short_side: 4"), (std::vector<Shape>{{1, 3, 4, 4}, {1, 3, 4, 13}}));
  EXPECT_EQ(shapes("short_side: 12"), (std::vector<Shape>{{1, 3, 14, 12}, {1, 3, 12, 40}}));
  EXPECT_EQ(shapes("min_height: 6 min_width: 5"), (std::vector<Shape>{{1, 3, 6, 5}, {1, 3, 9, 30}}));
  EXPECT_EQ(shapes("min_height: 12 min_width: 8"), (std::vector<Shape>{{1, 3, 12, 10}, {1, 3, 12, 40}}));
  EXPECT_EQ(shapes("min_height: 7 min_width: 9"), (std::vector<Shape>{{1, 3, 11, 9}, {1, 3, 9, 30}}));
  EXPECT_EQ(shapes("new_height: 2 new_width: 3 min_height: 7 min_width: 9"),
            (std::vector<Shape>{{1, 3, 2, 3}, {1, 3, 2, 3}}));
}

TEST(ImageDataTest, MeanScaleAndCrop) {
  TempDir dir;
  OpenedLayer layer(image_layer(make_images(dir, 1), in_folder(dir, "batch_size: 1"),
                                "crop_size: 2 scale: 0.5 mean_value: 100", caffe::TEST));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  EXPECT_EQ(tops.shapes[0], (Shape{1, 3, 2, 2}));
  const Image image = test::random_image({3, 6, 5}, 0);
  EXPECT_EQ(tops.values[0][0], (static_cast<float>(image.row(0, 2)[1]) - 100) * 0.5f);
}

TEST(ImageDataTest, ShuffleAndResume) {
  TempDir dir;
  const auto param =
      image_layer(make_images(dir, 10), in_folder(dir, "batch_size: 5 shuffle: true"), "mirror: true crop_size: 3");
  OpenedLayer whole(param), resumed(param);
  const std::vector<float> labels = labels_of(whole, 5, 4);
  EXPECT_EQ(std::set<float>(labels.begin(), labels.begin() + 10).size(), 10u);
  EXPECT_EQ(std::set<float>(labels.begin() + 10, labels.end()).size(), 10u);
  EXPECT_FALSE(std::ranges::is_sorted(labels.begin(), labels.begin() + 10));
  EXPECT_EQ(pass_over(resumed, nth_pass(3, 5)).values, pass_over(whole, nth_pass(3, 5)).values);
}

TEST(ImageDataTest, RandSkipBeginsSomewhereAndIsTheSameForEachPass) {
  TempDir dir;
  const auto param = image_layer(make_images(dir, 10), in_folder(dir, "batch_size: 1 rand_skip: 4"));
  std::set<float> first;
  for (uint64_t seed = 1; seed < 30; ++seed) {
    OpenedLayer layer(param);
    const std::vector<float> labels = labels_of(layer, 1, 12, seed);
    first.insert(labels[0]);
    for (size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(labels[i], static_cast<float>((static_cast<int>(labels[0]) + 10 * static_cast<int>(i)) % 100));
  }
  EXPECT_EQ(first, (std::set<float>{0, 10, 20, 30}));
}

std::vector<ListedImage> parsed(const std::string& text) {
  TempDir dir;
  test::write_file(dir / "list.txt", text);
  return read_labelled_images(dir / "list.txt");
}

TEST(ImageListTest, LabelsStandBehindTheLastBlank) {
  const auto items = parsed("a b.png 3\r\n\n  \nc.png  -2\nd.png 1.0\ne 2147483647");
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].path, "a b.png");
  EXPECT_EQ(items[0].label, 3);
  EXPECT_EQ(items[1].path, "c.png");
  EXPECT_EQ(items[1].label, -2);
  EXPECT_EQ(items[1].line, 4);
  EXPECT_EQ(items[2].label, 1);
  EXPECT_EQ(items[3].label, 2147483647);
}

TEST(ImageListTest, BrokenLinesAreNamed) {
  const auto refusal = [](const std::string& text) { return error_of([&] { parsed(text); }); };
  for (const char* broken : {"a.png", "a.png cat", "a.png 1e300", "a.png 99999999999", "a.png nan", " 3", "a.png 3x"}) {
    const Error error = refusal("ok.png 1\n" + std::string(broken) + "\nok.png 2\n");
    EXPECT_EQ(error.kind(), ErrorKind::kData) << broken;
    EXPECT_TRUE(error.location().ends_with("list.txt:2")) << broken << ": " << error.what();
  }
  EXPECT_EQ(refusal("").kind(), ErrorKind::kData);
  EXPECT_EQ(refusal(std::string(100000, '\0')).kind(), ErrorKind::kData);
}

TEST(ImageDataTest, FilesThatAreMissingOrDamagedAreNamed) {
  TempDir dir;
  const std::string list = make_images(dir, 3);
  ASSERT_EQ(::remove((dir / "1 picture.png").c_str()), 0);
  const std::string whole = test::read_file(dir / "2 picture.png");
  test::write_file(dir / "2 picture.png", whole.substr(0, whole.size() / 2));
  OpenedLayer layer(image_layer(list, in_folder(dir, "batch_size: 1")));
  EXPECT_NO_THROW(layer->prepare(nth_pass(0, 1)));
  const Error missing = error_of([&] { layer->prepare(nth_pass(1, 1)); });
  EXPECT_EQ(missing.kind(), ErrorKind::kData);
  EXPECT_EQ(missing.location(), list + ":2");
  EXPECT_TRUE(contains(missing.cause(), dir / "1 picture.png"));
  const Error damaged = error_of([&] { layer->prepare(nth_pass(2, 1)); });
  EXPECT_EQ(damaged.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(damaged.cause(), "2 picture.png, line 3"));
}

TEST(ImageDataTest, FifosAndFoldersAreRefusedAtOnce) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const std::string fifo = dir / "fifo";
  EXPECT_EQ(error_of([&] { OpenedLayer layer(image_layer(fifo, "batch_size: 1")); }).field(),
            "image_data_param.source");
  test::write_file(dir / "list.txt", fifo + " 1\n");
  EXPECT_EQ(error_of([&] { OpenedLayer layer(image_layer(dir / "list.txt", "batch_size: 1")); }).location(),
            (dir / "list.txt") + ":1");
}

TEST(ImageDataTest, SettingsThatCannotBe) {
  const auto field_of = [](const std::string& source, const std::string& settings) {
    return error_of([&] { OpenedLayer layer(image_layer(source, settings)); }).field();
  };
  EXPECT_EQ(field_of("", "batch_size: 1"), "image_data_param.source");
  EXPECT_EQ(field_of("l", "batch_size: 0"), "image_data_param.batch_size");
  EXPECT_EQ(field_of("l", "new_height: 4"), "image_data_param.new_width");
  EXPECT_EQ(field_of("l", "new_height: 4294967295 new_width: 4294967295"), "image_data_param.new_height");
  EXPECT_EQ(field_of("l", "short_side: 4 new_height: 3 new_width: 3"), "image_data_param.short_side");
  EXPECT_EQ(field_of("l", "short_side: 4294967295"), "image_data_param.short_side");
  EXPECT_EQ(field_of("l", "min_width: 3"), "image_data_param.min_height");
  EXPECT_EQ(field_of("l", "max_labels: 3"), "image_data_param.max_labels");
  EXPECT_EQ(field_of("/nowhere/list.txt", ""), "image_data_param.source");
}

TEST(ImageDataTest, SyntheticImages) {
  const SourceOptions synthesize{.data = {.synthesize_missing = true}};
  const auto shape = [&](const std::string& settings, const std::string& transform) {
    OpenedLayer layer(image_layer("/nowhere/list.txt", "batch_size: 2 " + settings, transform), synthesize);
    return pass_over(layer, nth_pass(0, 2)).shapes[0];
  };
  EXPECT_EQ(shape("new_height: 20 new_width: 30", ""), (Shape{2, 3, 20, 30}));
  EXPECT_EQ(shape("new_height: 20 new_width: 30 is_color: false", "crop_size: 10"), (Shape{2, 1, 10, 10}));
  EXPECT_EQ(shape("short_side: 9", ""), (Shape{2, 3, 9, 9}));
}

}  // namespace
}  // namespace robusta::image_data_test
