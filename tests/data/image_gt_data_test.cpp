// ImageGtData: window files of MS-CNN, where images and their boxes go, what the cells of maps should say, and batches
// as a net uses them.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/str.h"
#include "data/image.h"
#include "data/object_file.h"
#include "layers/types/image_gt_data/cell_labels.h"
#include "layers/types/image_gt_data/image_placing.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::image_gt_data_test {
namespace {

using test::contains;
using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

// --- Window files ---

TEST(ObjectFileTest, ImagesWithBoxesCountSeveralTimes) {
  TempDir dir;
  test::write_file(dir / "w.txt",
                   "# 7\na.png\n3\n20\n30\n2\n1 0 2 3 8 9\n2 1 -4 0 5 5\n1\n0 0 9 9\n# 3 b.png 3 40 50 0 0\n"
                   "# 9 c.png 1 11 12\n1 4 1 0 0 3 3 0\n");
  const ObjectFileReader reader(dir / "w.txt", "root/", 3, false);
  EXPECT_EQ(reader.size(), 5);
  std::string keys;
  for (int64_t i = 0; i < 5; ++i) keys += reader.key(i) + " ";
  EXPECT_EQ(keys, "a.png a.png a.png b.png c.png ");
  const ImageObjects& objects = reader.objects(2);
  ASSERT_EQ(objects.objects.size(), 2u);
  EXPECT_EQ(objects.objects[1].label, 2);
  EXPECT_TRUE(objects.objects[1].ignored);
  EXPECT_EQ(objects.objects[1].box.xmin, -4);
  ASSERT_EQ(objects.unseen.size(), 1u);
  EXPECT_EQ(objects.unseen[0].ymax, 9);
  EXPECT_TRUE(reader.objects(3).objects.empty());
  EXPECT_EQ(reader.last_height(), 11);
  EXPECT_EQ(reader.last_width(), 12);
  std::string storage;
  const Error error = error_of([&] { reader.record(4, storage); });
  EXPECT_EQ(error.location(), (dir / "w.txt") + ":12");
  EXPECT_TRUE(contains(error.cause(), "root/c.png"));
}

TEST(ObjectFileTest, BrokenLinesAreNamed) {
  TempDir dir;
  const auto refusal = [&](const std::string& text) {
    test::write_file(dir / "w.txt", text);
    return error_of([&] { ObjectFileReader reader(dir / "w.txt", "", 1, false); });
  };
  const std::pair<const char*, int> broken[] = {{"x 0 a.png 3 10 10 0 0\n", 1},
                                                {"# 0 a.png 3 0 10 0 0\n", 1},
                                                {"# 0 a.png 3 10 10 -1 0\n", 1},
                                                {"# 0 a.png 3 10 10 1\n0 0 1 1 2 2\n0\n", 2},
                                                {"# 0 a.png 3 10 10 1\n1 0 5 1 4 2\n0\n", 2},
                                                {"# 0 a.png 3 10 10 1\n1 0 1.5 1 4 2\n0\n", 2},
                                                {"# 0 a.png 3 10 10 1\n1 0 1 1 99999999999 2\n0\n", 2},
                                                {"# 0 a.png 3 10 10 0\n1\n1 2 3\n", 4},
                                                {"# 0 a.png 3 10 10 9000000000000000000\n1 0 1 1 2 2\n", 3}};
  for (const auto& [text, line] : broken) {
    const Error error = refusal(text);
    EXPECT_EQ(error.kind(), ErrorKind::kData) << text;
    EXPECT_TRUE(error.location().ends_with("w.txt:" + std::to_string(line))) << text << error.location();
  }
  EXPECT_EQ(refusal("").kind(), ErrorKind::kData);
}

// --- Where images go ---

ImageObjects one_object(const Box<float>& box, int32_t label = 1) { return {{{label, false, box}}, {{0, 0, 4, 4}}}; }

void expect_box(const Box<float>& got, const Box<float>& want) {
  EXPECT_NEAR(got.xmin, want.xmin, 1e-3);
  EXPECT_NEAR(got.ymin, want.ymin, 1e-3);
  EXPECT_NEAR(got.xmax, want.xmax, 1e-3);
  EXPECT_NEAR(got.ymax, want.ymax, 1e-3);
}

TEST(ImagePlacingTest, ImagesOfTheCanvasSizeStayWhereTheyAre) {
  for (uint64_t i = 0; i < 10; ++i) {
    const PlacedImage placed =
        place_image({3, 30, 40}, one_object({5, 6, 15, 26}), {.height = 30, .width = 40}, PhiloxStream(1, i));
    EXPECT_EQ(placed.top + placed.left + placed.shown.top + placed.shown.left, 0);
    EXPECT_EQ(placed.shown.height, 30);
    EXPECT_EQ(placed.shown.width, 40);
    expect_box(placed.objects[0].box, {5, 6, 15, 26});
    EXPECT_FALSE(placed.objects[0].ignored);
  }
}

TEST(ImagePlacingTest, CanvasesShowTheSurroundingsOfABoxOrHoldTheWholeImage) {
  std::set<int64_t> lefts, tops;
  for (uint64_t i = 0; i < 200; ++i) {
    const PlacedImage placed =
        place_image({3, 20, 100}, one_object({60, 5, 70, 15}), {.height = 50, .width = 40}, PhiloxStream(2, i));
    EXPECT_EQ(placed.shown.width, 40);
    EXPECT_EQ(placed.shown.height, 20);
    EXPECT_EQ(placed.left, 0);
    lefts.insert(placed.shown.left);
    tops.insert(placed.top);
    const auto x = static_cast<float>(-placed.shown.left), y = static_cast<float>(placed.top);
    expect_box(placed.objects[0].box, {60 + x, 5 + y, 70 + x, 15 + y});
    expect_box(placed.unseen[0], {x, y, 4 + x, 4 + y});
  }
  // The middle at 65, half a canvas before it, ten pixels more or less; and 15 +- 10 above.
  EXPECT_EQ(*lefts.begin(), 35);
  EXPECT_EQ(*lefts.rbegin(), 54);
  EXPECT_EQ(*tops.begin(), 5);
  EXPECT_EQ(*tops.rbegin(), 24);
}

TEST(ImagePlacingTest, MirroredAndResized) {
  int mirrored = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    const PlacingSettings settings{
        .mirror = true, .resized_height = 10, .resized_width = 80, .height = 10, .width = 80};
    const PlacedImage placed = place_image({3, 20, 40}, one_object({5, 6, 15, 10}), settings, PhiloxStream(3, i));
    mirrored += placed.mirror;
    expect_box(placed.objects[0].box, placed.mirror ? Box<float>{50, 3, 70, 5} : Box<float>{10, 3, 30, 5});
  }
  EXPECT_GT(mirrored, 10);
  EXPECT_LT(mirrored, 30);
}

TEST(ImagePlacingTest, ScalesBringTheBoxFromMinToMax) {
  std::set<int> sides;
  int large = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const PlacingSettings settings{.height = 60, .width = 60, .min_scale = 16, .max_scale = 64};
    const PlacedImage placed = place_image({3, 100, 100}, one_object({40, 40, 56, 56}), settings, PhiloxStream(4, i));
    const float side = placed.objects[0].box.width();
    EXPECT_NEAR(side, placed.objects[0].box.height(), 1e-3);
    sides.insert(static_cast<int>(std::lround(side)));
    large += placed.cut.width < 100;
    EXPECT_LE(placed.width, 400);
    EXPECT_FALSE(placed.objects[0].ignored);
  }
  EXPECT_EQ(sides, (std::set<int>{16, 23, 32, 45, 64}));
  EXPECT_GT(large, 30);  // cut before they grew
  std::set<int> ratios;
  for (uint64_t i = 0; i < 300; ++i) {
    const PlacingSettings settings{
        .height = 60, .width = 60, .min_scale = 16, .max_scale = 64, .min_aspect = 0.5f, .max_aspect = 0.6f};
    const Box<float> box =
        place_image({3, 100, 100}, one_object({40, 40, 56, 56}), settings, PhiloxStream(5, i)).objects[0].box;
    ratios.insert(static_cast<int>(std::lround(100 * box.width() / box.height())));
  }
  EXPECT_EQ(ratios, (std::set<int>{50, 55, 100}));
}

TEST(ImagePlacingTest, BoxesThatAreNoExamplesAreIgnored) {
  ImageObjects objects;
  for (const Box<float>& box : {Box<float>{-30, 5, -10, 20}, Box<float>{10, 10, 13, 30}, Box<float>{10, 10, 30, 12},
                                Box<float>{-5, 10, 8, 30}}) {
    objects.objects.push_back({1, false, box});
  }
  const PlacingSettings settings{.height = 40, .width = 40, .min_width = 5, .min_height = 5};
  const PlacedImage placed = place_image({3, 40, 40}, objects, settings, PhiloxStream(6));
  std::string ignored;
  for (const ImageObject& object : placed.objects) ignored += object.ignored ? "1" : "0";
  EXPECT_EQ(ignored, "1110");
}

TEST(ImagePlacingTest, BoxesOfAPointAndHugeScalesAreHarmless) {
  for (uint64_t i = 0; i < 200; ++i) {
    const PlacingSettings settings{
        .height = 8, .width = 8, .min_scale = 1, .max_scale = 4294967295.0f, .min_aspect = 0.01f, .max_aspect = 900};
    try {
      const PlacedImage placed = place_image({3, 9, 9}, one_object({4, 4, 4, 4}), settings, PhiloxStream(7, i));
      EXPECT_GE(placed.cut.left, 0);
      EXPECT_LE(placed.cut.left + placed.cut.width, 9);
      EXPECT_LE(placed.shown.left + placed.shown.width, placed.width);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
  }
}

// --- What cells should say ---

/// Of one map: six planes.
std::vector<float> labels_of(const PlacedImage& image, const CellMap& map, float threshold = 0.5f) {
  std::vector<float> numbers(static_cast<size_t>(6 * map.cells()), -77);
  float* planes[] = {numbers.data()};
  write_cell_labels(image, {&map, 1}, threshold, planes);
  return numbers;
}

TEST(CellLabelsTest, CellsBelongToTheBoxTheirFieldOverlapsMost) {
  // Four cells of 8 pixels in a row; fields of 16 x 8.
  const CellMap map{.rate = 8, .field_w = 16, .field_h = 8, .height = 1, .width = 4};
  PlacedImage image{.shown = {0, 0, 8, 32}};
  image.objects = {{3, false, {4, 0, 20, 8}}, {5, true, {20, 0, 36, 8}}};
  // Fields from -4, 4, 12, 20: 8/24, 1, 8/24, 0 of the first; 0, 0, 8/24, 1 of the second.
  const float third = 1.0f / 3;
  const std::vector<float> numbers = labels_of(image, map);
  const std::vector<float> want{0,      3, 0, 0, /**/ 0,     12, 0,     28, /**/ 0, 4, 0, 4, /**/ 0, 16, 0, 16,
                                /**/ 0, 8, 0, 8, /**/ third, 1,  third, 1};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(numbers[i], want[i], 1e-6) << i;
}

TEST(CellLabelsTest, OutsideAndUnseenCellsCountForNothing) {
  const CellMap map{.rate = 8, .field_w = 8, .field_h = 8, .height = 2, .width = 4};
  PlacedImage image{.shown = {0, 0, 8, 16}, .top = 8, .left = 8};
  image.unseen = {{16, 8, 20, 16}};
  const std::vector<float> numbers = labels_of(image, map);
  EXPECT_EQ(std::vector<float>(numbers.end() - 8, numbers.end()), (std::vector<float>{1, 1, 1, 1, 1, 0, 1, 1}));
  EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end() - 8, [](float number) { return number == 0; }));
}

TEST(CellLabelsTest, ABoxWithoutACellHasTheOneAtItsMiddle) {
  const CellMap map{.rate = 8, .field_w = 16, .field_h = 16, .height = 2, .width = 2};
  PlacedImage image{.shown = {0, 0, 16, 16}};
  image.objects = {{2, false, {8, 8, 16, 16}}, {1, false, {0, 0, 3, 3}}};
  const std::vector<float> numbers = labels_of(image, map);
  // Its field of 16 x 16 around (12, 12) has a quarter in common; the other box has less than a fifth.
  EXPECT_EQ(std::vector<float>(numbers.begin(), numbers.begin() + 4), (std::vector<float>{0, 0, 0, 2}));
  EXPECT_EQ(numbers[7], 12);
  EXPECT_EQ(numbers[4 * 4 - 1], 8);
  EXPECT_EQ(numbers[23], 0.25f);
  image.objects[0].ignored = true;
  EXPECT_EQ(labels_of(image, map)[3], 0);
}

// --- The layer ---

caffe::LayerParameter gt_layer(const std::string& source, const std::string& settings, const std::string& tops,
                               const std::string& transform = "") {
  caffe::LayerParameter param;
  std::string text = "name: 'd' type: 'ImageGtData' image_gt_data_param { source: '" + source + "' " + settings +
                     " } transform_param { " + transform + " }";
  for (const char top : tops) text += str(" top: '", top, "'");
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.set_phase(caffe::TRAIN);
  return param;
}

const std::string kMaps = "downsample_rate: 8 downsample_rate: 16 field_w: 16 field_w: 32 field_h: 16 field_h: 32 ";

/// Black images of 48 x 64 with a white box each, which the window file names, and one without.
std::string make_boxes(const TempDir& dir) {
  std::string text;
  for (int64_t i = 0; i < 4; ++i) {
    Image image;
    image.reset({3, 48, 64});
    const int64_t left = 6 + 9 * i, top = 4 + 5 * i;
    for (int64_t c = 0; c < 3 && i < 3; ++c) {
      for (int64_t y = top; y <= top + 18; ++y) std::fill_n(image.row(c, y) + left, 15, uint8_t{255});
    }
    test::write_file(dir / str(i, ".png"), encode_image(image, ImageFormat::kPng));
    text += str("# ", i, " ", dir / str(i, ".png"), " 3 48 64 ", i < 3 ? 1 : 0, "\n");
    if (i < 3) text += str(1 + i, " 0 ", left, " ", top, " ", left + 14, " ", top + 18, "\n");
    text += "0\n";
  }
  test::write_file(dir / "w.txt", text);
  return dir / "w.txt";
}

TEST(ImageGtDataTest, TopsOfABatch) {
  TempDir dir;
  OpenedLayer layer(gt_layer(make_boxes(dir), "batch_size: 4 scale: 0.5 output_gt_boxes: true " + kMaps, "xabg",
                             "mean_value: 5 mean_value: 15 mean_value: 25"));
  const Tops tops = pass_over(layer, nth_pass(0, 4));
  EXPECT_EQ(tops.shapes[0], (Shape{4, 3, 48, 64}));
  EXPECT_EQ(tops.shapes[1], (Shape{4, 6, 6, 8}));
  EXPECT_EQ(tops.shapes[2], (Shape{4, 6, 3, 4}));
  ASSERT_EQ(tops.shapes[3], (Shape{3, 7, 1, 1}));
  EXPECT_EQ(tops.values[3],
            (std::vector<float>{0, 6, 4, 20, 22, 1, 0, 1, 15, 9, 29, 27, 2, 0, 2, 24, 14, 38, 32, 3, 0}));
  const auto pixel = [&](size_t item, size_t c, size_t y, size_t x) {
    return tops.values[0][((item * 3 + c) * 48 + y) * 64 + x];
  };
  EXPECT_EQ(pixel(0, 0, 4, 6), 125);
  EXPECT_EQ(pixel(0, 2, 22, 20), 115);
  EXPECT_EQ(pixel(0, 1, 23, 20), -7.5f);
  // The fields of 16 x 16 around (12, 12) and (20, 20) are near the first and the second box.
  EXPECT_EQ(tops.values[1][8 + 1], 1);
  EXPECT_EQ(tops.values[1][6 * 48 + 2 * 8 + 2], 2);
  EXPECT_EQ(layer->records(), 4);
  EXPECT_EQ(layer->labelled(), nullptr);
}

TEST(ImageGtDataTest, TheCropSaysTheSizeOrTheLastImageDoes) {
  TempDir dir;
  const std::string windows = make_boxes(dir);
  const auto size_of = [&](const std::string& crop) {
    OpenedLayer layer(gt_layer(windows, "batch_size: 1 " + crop + kMaps, "xab"));
    return pass_over(layer, nth_pass(0, 1)).shapes[0];
  };
  EXPECT_EQ(size_of(""), (Shape{1, 3, 48, 64}));
  EXPECT_EQ(size_of("crop_width: 32 crop_height: 0 "), (Shape{1, 3, 48, 32}));
  EXPECT_EQ(size_of("crop_width: 80 crop_height: 72 "), (Shape{1, 3, 72, 80}));
}

TEST(ImageGtDataTest, ABatchWithoutBoxesHasOneThatIsIgnored) {
  TempDir dir;
  OpenedLayer layer(gt_layer(make_boxes(dir), "batch_size: 1 output_gt_boxes: true " + kMaps, "xabg"));
  EXPECT_EQ(pass_over(layer, nth_pass(3, 1)).values[3], (std::vector<float>{0, 1, 1, 2, 2, 1, 1}));
}

/// Whatever is drawn, a box lies where its pixels are.
TEST(ImageGtDataTest, BoxesGoWhereTheirPixelsGo) {
  TempDir dir;
  OpenedLayer layer(
      gt_layer(make_boxes(dir),
               "batch_size: 3 shuffle: true fg_img_multiple: 2 output_gt_boxes: true cache_images: true "
               "resize_width: 96 resize_height: 72 crop_width: 64 crop_height: 64 do_multiple_scale: true "
               "min_scale: 12 max_scale: 48 min_whaspect: 0.5 max_whaspect: 2 " +
                   kMaps,
               "xabg", "mirror: true"));
  int inside = 0;
  for (uint64_t k = 0; k < 60; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 3));
    for (size_t row = 0; row < tops.values[3].size(); row += 7) {
      const float* box = &tops.values[3][row];
      const auto at = [&](float x, float y) {
        const auto item = static_cast<int64_t>(box[0]), column = std::lround(x), line = std::lround(y);
        if (column < 0 || line < 0 || column >= 64 || line >= 64) return -1.0f;
        return tops.values[0][static_cast<size_t>((item * 3 * 64 + line) * 64 + column)];
      };
      const float x = (box[1] + box[3]) / 2, y = (box[2] + box[4]) / 2, wide = box[3] - box[1], high = box[4] - box[2];
      if (box[6] == 1 && box[5] == 1 && wide == 1) continue;
      for (const float part : {-0.35f, 0.0f, 0.35f}) {
        for (const float value : {at(x + part * wide, y), at(x, y + part * high)}) {
          EXPECT_TRUE(value == -1 || value > 200) << k << " " << value;
          inside += value > 200;
        }
      }
      for (const float part : {-0.75f, 0.75f}) {
        EXPECT_LT(at(x + part * wide, y), 50) << k;
        EXPECT_LT(at(x, y + part * high), 50) << k;
      }
    }
  }
  EXPECT_GT(inside, 400);
}

TEST(ImageGtDataTest, PositionsDecideWhatIsDrawn) {
  TempDir dir;
  const auto param = gt_layer(make_boxes(dir),
                              "batch_size: 2 shuffle: true output_gt_boxes: true crop_width: 32 crop_height: 32 "
                              "do_multiple_scale: true min_scale: 12 max_scale: 48 " +
                                  kMaps,
                              "xabg", "mirror: true");
  OpenedLayer whole(param), resumed(param, {.data = {.threads = 3}});
  std::vector<Tops> all;
  for (uint64_t k = 0; k < 8; ++k) all.push_back(pass_over(whole, nth_pass(k, 2)));
  for (uint64_t k = 5; k < 8; ++k) EXPECT_EQ(pass_over(resumed, nth_pass(k, 2)).values, all[k].values);
  EXPECT_NE(pass_over(whole, nth_pass(2, 2, 99)).values, all[2].values);
  // Two ranks, of which each takes every second sample, see the same.
  auto half = param;
  half.mutable_image_gt_data_param()->set_batch_size(1);
  OpenedLayer rank(half);
  const Tops second = pass_over(rank, {.seed = 1, .first_sample = 7, .next_sample = 9, .batch = 1});
  const size_t image = 3 * 32 * 32;
  EXPECT_EQ(second.values[0],
            std::vector<float>(all[3].values[0].begin() + image, all[3].values[0].begin() + 2 * image));
}

TEST(ImageGtDataTest, SettingsThatCannotBe) {
  TempDir dir;
  const std::string windows = make_boxes(dir);
  const auto field_of = [&](const std::string& settings, const std::string& tops = "xab",
                            const std::string& transform = "") {
    return error_of([&] { OpenedLayer layer(gt_layer(windows, settings, tops, transform)); }).field();
  };
  const std::string path = "image_gt_data_param.", good = "batch_size: 1 " + kMaps;
  EXPECT_EQ(field_of(kMaps), path + "batch_size");
  EXPECT_EQ(field_of("batch_size: 1"), path + "downsample_rate");
  EXPECT_EQ(field_of(good + "downsample_rate: 32"), path + "field_h");
  EXPECT_EQ(field_of(good + "field_w: 32"), path + "field_w");
  EXPECT_EQ(field_of(good + "coord_num: 3"), path + "coord_num");
  EXPECT_EQ(field_of(good, "xa"), "top");
  EXPECT_EQ(field_of(good + "output_gt_boxes: true"), "top");
  EXPECT_EQ(field_of(good + "fg_img_multiple: 0"), path + "fg_img_multiple");
  EXPECT_EQ(field_of(good + "resize_width: 64"), path + "resize_height");
  EXPECT_EQ(field_of(good + "resize_width: 0 resize_height: 4"), path + "resize_width");
  EXPECT_EQ(field_of(good + "resize_width: 4294967295 resize_height: 4294967295"), path + "resize_height");
  EXPECT_EQ(field_of(good + "resize_width: 64 resize_height: 64 crop_width: 65 crop_height: 48"), path + "crop_width");
  EXPECT_EQ(field_of(good + "resize_width: 64 resize_height: 64 crop_width: 32 crop_height: 65"), path + "crop_height");
  EXPECT_EQ(field_of(good + "crop_width: 4294967295 crop_height: 4294967295"), path + "crop_height");
  EXPECT_EQ(field_of(good + "crop_width: 32 crop_height: 4"), path + "downsample_rate");
  EXPECT_EQ(field_of(good + "do_multiple_scale: true min_scale: 4"), path + "max_scale");
  EXPECT_EQ(field_of(good + "do_multiple_scale: true min_scale: 0 max_scale: 4"), path + "min_scale");
  EXPECT_EQ(field_of(good + "do_multiple_scale: true min_scale: 8 max_scale: 4"), path + "max_scale");
  EXPECT_EQ(field_of(good + "min_whaspect: 1 max_whaspect: 1"), path + "max_whaspect");
  EXPECT_EQ(field_of(good + "min_whaspect: 0 max_whaspect: 1"), path + "min_whaspect");
  EXPECT_EQ(field_of(good + "min_gt_width: nan"), path + "min_gt_width");
  EXPECT_EQ(field_of(good, "xab", "crop_size: 4"), "transform_param");
  EXPECT_EQ(field_of(good, "xab", "scale: 2"), "transform_param");
  EXPECT_EQ(field_of(good, "xab", "mean_value: 1 mean_value: 2"), "transform_param.mean_value");
  EXPECT_EQ(field_of(good + "mean_file: 'm'"), path + "mean_file");
  EXPECT_EQ(error_of([&] { OpenedLayer layer(gt_layer("/nowhere", good, "xab")); }).kind(), ErrorKind::kData);
}

TEST(ImageGtDataTest, SomethingStandsForAbsentData) {
  const auto param = gt_layer("/nowhere",
                              "batch_size: 2 resize_width: 96 resize_height: 64 crop_width: 48 crop_height: "
                              "64 output_gt_boxes: true " +
                                  kMaps,
                              "xabg");
  SourceOptions options;
  options.data.synthesize_missing = true;
  OpenedLayer layer(param, options);
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes, (std::vector<Shape>{{2, 3, 64, 48}, {2, 6, 8, 6}, {2, 6, 4, 3}, {4, 7, 1, 1}}));
  EXPECT_EQ(std::vector<float>(tops.values[3].begin() + 14, tops.values[3].begin() + 21),
            (std::vector<float>{1, 4, 6, 24, 38, 1, 0}));
}

}  // namespace
}  // namespace robusta::image_gt_data_test
