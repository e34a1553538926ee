// DetectNetTransformation: the grid by hand, each augmentation by itself, what is drawn, lists that are damaged.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/types/detectnet_transformation/detectnet_transformation.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/kernel_checks.h"
#include "support/log_lines.h"

namespace robusta::test::detectnet_transformation_test {
namespace {

constexpr char kNothingDrawn[] =
    "crop_prob: 0 scale_prob: 0 flip_prob: 0 rotation_prob: 0 hue_rotation_prob: 0 desaturation_prob: 0 ";

struct Object {
  double x, y, width, height, label;
};

/// Lists of `rows` rows, the first included.
Array lists_of(const std::vector<std::vector<Object>>& samples, size_t rows) {
  Array numbers;
  for (const auto& objects : samples) {
    const size_t first = numbers.size();
    numbers.resize(first + rows * 16);
    numbers[first] = static_cast<double>(objects.size());
    numbers[first + 1] = 16;
    for (size_t i = 0; i < objects.size(); ++i) {
      const auto& [x, y, width, height, label] = objects[i];
      std::ranges::copy(Array{x, y, width, height, 0, label}, numbers.begin() + static_cast<long>(first + 16 + 16 * i));
    }
  }
  return numbers;
}

/// Pixels 0..255 that all differ from their neighbours.
Array pixels_of(const Shape& images) {
  Array pixels;
  for (int64_t i = 0; i < images.count(); ++i) pixels.push_back(static_cast<double>(i * 37 % 256));
  return pixels;
}

KernelCase layer(const std::string& truth, const std::string& augmentation, const Shape& images, int64_t rows = 3,
                 caffe::Phase phase = caffe::TRAIN, const std::string& transform = "") {
  KernelCase what{{"name: 'transform' type: 'DetectNetTransformation' detectnet_groundtruth_param { " + truth +
                   " } detectnet_augmentation_param { " + augmentation + " } transform_param { " + transform + " }"},
                  {images, {images[0], 1, rows, 16}},
                  phase,
                  2};
  what.bottom_values = [=](int bottom, const Shape& shape) {
    if (bottom == 0) return pixels_of(shape);
    const std::vector<Object> two{{1, 2, 7, 5, 1}, {6, 4, 4, 4, 1}};
    return lists_of(std::vector(static_cast<size_t>(shape[0]), two), static_cast<size_t>(rows));
  };
  return what;
}

const char* const kBackends[] = {"reference", "gpu"};

Arrays tops_of(const KernelCase& what, const Arrays& bottoms, const std::string& backend,
               const Pass& pass = {.seed = 7}) {
  KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32, .pass = pass});
  EXPECT_TRUE(harness.made()) << harness.why_not();
  harness.forward(bottoms);
  EXPECT_EQ(harness.damage(), "");
  return harness.tops();
}

TEST(DetectNetTransformationTest, TheGridByHand) {
  for (const char* backend : kBackends) {
    const KernelCase what = layer(
        "image_size_x: 16 image_size_y: 8 stride: 4 scale_cvg: 0.5 max_cvg_len: 50 obj_norm: true "
        "object_class { src: 1 dst: 0 } object_class { src: 8 dst: 1 }",
        kNothingDrawn, {1, 3, 8, 16});
    const Array pixels = pixels_of({1, 3, 8, 16});
    // The middle 4 x 2 pixels of the first box touch the cells 0 and 1 of row 0; the second is of no class that counts.
    const Arrays tops = tops_of(what, {pixels, lists_of({{{0, 1, 8, 4, 8}, {8, 0, 8, 8, 3}}}, 3)}, backend);
    EXPECT_EQ(tops[0], pixels);
    Array grid(10 * 8, 0);
    const auto set = [&](size_t cell, const Array& numbers) {
      for (size_t k = 0; k < numbers.size(); ++k) grid[8 * k + cell] = numbers[k];
    };
    set(0, {1, 0, 1, 8, 5, 1.0 / 8, 1.0 / 4, 16.0 / 8, 0, 1});
    set(1, {1, -4, 1, 4, 5, 1.0 / 8, 1.0 / 4, 16.0 / 8, 0, 1});
    expect_near(tops[1], grid, 1e-6, backend);
  }
}

/// The numbers 0, 1 and 7 of the only cell in whose box the object's middle lies.
Array cell_of(const std::string& truth, const Object& object, const char* backend) {
  const KernelCase what = layer("image_size_x: 32 image_size_y: 32 stride: 32 " + truth, kNothingDrawn, {1, 3, 32, 32});
  const Array grid = tops_of(what, {pixels_of({1, 3, 32, 32}), lists_of({{object}}, 3)}, backend)[1];
  return {grid[0], grid[1], grid[7]};
}

TEST(DetectNetTransformationTest, ThePartOfABoxThatCounts) {
  const Object large{4, 4, 20, 20, 1}, small{4, 4, 4, 4, 1};
  for (const char* backend : kBackends) {
    const auto expect = [&](const std::string& truth, const Object& object, double share) {
      expect_near(cell_of("obj_norm: true " + truth, object, backend), {1, 4, share}, 1e-6, truth);
    };
    expect("scale_cvg: 0.5 max_cvg_len: 50", large, 1024.0 / 100);
    expect("scale_cvg: 0.5 max_cvg_len: 8", large, 1024.0 / 64);
    expect("scale_cvg: 0.5 gridbox_type: GRIDBOX_MIN min_cvg_len: 16", large, 1024.0 / 256);
    expect("scale_cvg: 0.5 gridbox_type: GRIDBOX_MIN min_cvg_len: 16", small, 1024.0 / 16);
    expect("scale_cvg: 1 max_cvg_len: 50 crop_bboxes: false", {4, 4, 40, 40, 1}, 1024.0 / 1600);
    expect_near(cell_of("scale_cvg: 1 crop_bboxes: false", {4, 4, 40, 40, 1}, backend), {1, 4, 1}, 1e-6, "obj_norm");
    expect_near(cell_of("scale_cvg: 1", {-100, -100, 50, 50, 1}, backend), {0, 0, 0}, 1e-6, "outside");
    expect_near(cell_of("scale_cvg: 0", large, backend), {0, 0, 0}, 1e-6, "nothing counts");
    expect_near(cell_of("", {4, 4, 20, 20, 2}, backend), {0, 0, 0}, 1e-6, "class 1 alone, as there");
  }
}

TEST(DetectNetTransformationTest, TheLastObjectHasACell) {
  for (const char* backend : kBackends) {
    const KernelCase what = layer(
        "image_size_x: 8 image_size_y: 8 stride: 8 scale_cvg: 1 object_class { src: 0 dst: 0 } "
        "object_class { src: 1 dst: 1 }",
        kNothingDrawn, {1, 3, 8, 8});
    const Array pixels = pixels_of({1, 3, 8, 8});
    const Array grid = tops_of(what, {pixels, lists_of({{{0, 0, 8, 8, 0}, {2, 1, 4, 4, 1}}}, 3)}, backend)[1];
    expect_near(grid, {1, 2, 1, 6, 5, 0.25, 0.25, 4, 0, 1}, 1e-6, backend);
  }
}

/// Image and first cell's box after one augmentation that always happens.
TEST(DetectNetTransformationTest, Mirrored) {
  for (const char* backend : kBackends) {
    std::string augmentation = kNothingDrawn;
    augmentation.replace(augmentation.find("flip_prob: 0"), 12, "flip_prob: 1");
    const KernelCase what = layer("image_size_x: 8 image_size_y: 4 stride: 4 scale_cvg: 1", augmentation, {1, 3, 4, 8});
    const Array pixels = pixels_of({1, 3, 4, 8});
    const Arrays tops = tops_of(what, {pixels, lists_of({{{1, 0, 4, 4, 1}}}, 3)}, backend);
    Array mirrored = pixels;
    for (size_t row = 0; row < 12; ++row) {
      std::reverse(mirrored.begin() + static_cast<long>(8 * row), mirrored.begin() + static_cast<long>(8 * row + 8));
    }
    EXPECT_EQ(tops[0], mirrored);
    EXPECT_EQ(tops[1][2], 8 - 1 - 4 - 1) << "the left edge, in cell 0 of 2";
  }
}

TEST(DetectNetTransformationTest, CropsInTheMiddleAndPadsWithTheMean) {
  for (const char* backend : kBackends) {
    const KernelCase what = layer("image_size_x: 4 image_size_y: 6 stride: 2 scale_cvg: 1", kNothingDrawn, {1, 3, 4, 8},
                                  3, caffe::TRAIN, "mean_value: 10 mean_value: 20 mean_value: 30");
    const Array pixels = pixels_of({1, 3, 4, 8});
    const Arrays tops = tops_of(what, {pixels, lists_of({{{3, 0, 2, 2, 1}}}, 3)}, backend);
    for (size_t c = 0; c < 3; ++c) {
      for (size_t y = 0; y < 6; ++y) {
        for (size_t x = 0; x < 4; ++x) {
          const bool inside = y >= 1 && y < 5;
          const double want = inside ? pixels[(c * 4 + y - 1) * 8 + x + 2] - 10.0 * static_cast<double>(c + 1) : 0;
          EXPECT_EQ(tops[0][(c * 6 + y) * 4 + x], want) << backend << " " << c << " " << y << " " << x;
        }
      }
    }
    // The box is at 1, 1 now: the cell 0 sees its left upper pixel.
    EXPECT_EQ(tops[1][6], 1);
    EXPECT_EQ(tops[1][12], 1);
  }
}

TEST(DetectNetTransformationTest, TestImagesAreScaledToTheTop) {
  for (const char* backend : kBackends) {
    const KernelCase what =
        layer("image_size_x: 8 image_size_y: 8 stride: 8 scale_cvg: 1", "flip_prob: 1", {1, 3, 4, 16}, 3, caffe::TEST);
    Array pixels(3 * 4 * 16);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<double>(i % 16);
    const Arrays tops = tops_of(what, {pixels, lists_of({{{4, 1, 8, 2, 1}}}, 3)}, backend);
    // A ramp stays one away from its ends: pixel x lies at 2 x + 0.5 there.
    for (size_t x = 1; x < 7; ++x) EXPECT_NEAR(tops[0][8 * 3 + x], 2.0 * static_cast<double>(x) + 0.5, 1e-5) << x;
    expect_near({tops[1][1], tops[1][2], tops[1][3], tops[1][4]}, {2, 2, 6, 6}, 1e-6, backend);
  }
}

/// Three planes of one colour.
Array painted(double b, double g, double r) {
  Array pixels;
  for (const double value : {b, g, r}) pixels.insert(pixels.end(), 4, value);
  return pixels;
}

TEST(DetectNetTransformationTest, Colors) {
  DrawnAugmentation drawn;
  const auto colored = [&](const Array& image) {
    Array out(image.size());
    const ColorEach<double> each{&drawn, 4, {}, image.data(), out.data()};
    for (int64_t i = 0; i < 4; ++i) each(i);
    return out;
  };
  const Array brick = painted(20, 60, 220);
  expect_near(colored(brick), brick, 0, "nothing drawn");
  drawn.hue = 120;  // red to green, green to blue, blue to red
  expect_near(colored(brick), painted(60, 220, 20), 1e-6, "a third of the circle");
  drawn.hue = -120;
  expect_near(colored(brick), painted(220, 20, 60), 1e-6, "a third of the circle back");
  drawn.hue = 180;
  expect_near(colored(painted(0, 0, 255)), painted(255, 255, 0), 1e-6, "cyan of red");
  drawn.hue = 0;
  drawn.saturation = 0.5f;
  expect_near(colored(brick), painted(120, 140, 220), 1e-6, "half of the way to the brightest");
  expect_near(colored(painted(9, 9, 9)), painted(9, 9, 9), 0, "grey stays");
}

TEST(DetectNetTransformationTest, Rotates) {
  // A quarter of the circle: rows become columns, the box about a pixel larger than the image, as OpenCV's.
  const Rotation quarter({6, 4}, 90);
  const ImagePoint<double> corner = quarter.turned(0.0, 0.0), end = quarter.turned(6.0, 4.0);
  EXPECT_NEAR(corner.x - end.x, 4, 1e-9);
  EXPECT_NEAR(end.y - corner.y, 6, 1e-9);
  EXPECT_GE(quarter.box.width, 5);
  EXPECT_LE(quarter.box.width, 6);
  EXPECT_GE(quarter.box.height, 7);
  EXPECT_LE(quarter.box.height, 8);
  for (const double degrees : {-33.0, 4.0, 90.0, 200.0}) {
    const Rotation some({30, 20}, degrees);
    for (const auto& [x, y] : {std::pair{0.0, 0.0}, {30.0, 0.0}, {30.0, 20.0}, {0.0, 20.0}, {15.0, 10.0}}) {
      const ImagePoint<double> there = some.turned(x, y);
      EXPECT_GE(there.x, -1e-9) << degrees;
      EXPECT_LE(there.x, static_cast<double>(some.box.width)) << degrees;
      EXPECT_GE(there.y, -1e-9) << degrees;
      EXPECT_LE(there.y, static_cast<double>(some.box.height)) << degrees;
    }
    const ImagePoint<double> back = some.turned_back(7, 5), again = some.turned(back.x, back.y);
    EXPECT_NEAR(again.x, 7, 1e-9);
    EXPECT_NEAR(again.y, 5, 1e-9);
  }
}

/// An object is a bright square on nothing: wherever the image goes, its box goes there, too.
TEST(DetectNetTransformationTest, BoxesGoWithTheirPixels) {
  constexpr int64_t kSide = 40, kSamples = 24;
  Array pixels(kSamples * 3 * kSide * kSide, 0);
  for (size_t plane = 0; plane < kSamples * 3; ++plane) {
    for (size_t y = 14; y < 26; ++y)
      std::fill_n(pixels.begin() + static_cast<long>((plane * kSide + y) * kSide + 10), 16, 200);
  }
  const Array lists = lists_of(std::vector<std::vector<Object>>(kSamples, {{10, 14, 16, 12, 1}}), 2);
  const KernelCase what =
      layer("image_size_x: 44 image_size_y: 44 stride: 44 scale_cvg: 1 crop_bboxes: false",
            "crop_prob: 1 shift_x: 4 shift_y: 4 scale_prob: 1 scale_min: 0.7 scale_max: 1.2 flip_prob: 0.5 "
            "rotation_prob: 0.5 max_rotate_degree: 3 hue_rotation_prob: 0 desaturation_prob: 0",
            {kSamples, 3, kSide, kSide}, 2);
  for (const char* backend : kBackends) {
    const Arrays tops = tops_of(what, {pixels, lists}, backend);
    double least = 1e9, most = 0;
    for (size_t sample = 0; sample < kSamples; ++sample) {
      double weight = 0, x = 0, y = 0;
      for (size_t i = 0; i < 44 * 44; ++i) {
        const double value = tops[0][sample * 3 * 44 * 44 + i];
        weight += value;
        x += value * (static_cast<double>(i % 44) + 0.5);
        y += value * (static_cast<double>(i / 44) + 0.5);
      }
      const Array box(tops[1].begin() + static_cast<long>(9 * sample + 1),
                      tops[1].begin() + static_cast<long>(9 * sample + 5));
      // The square may be cropped, and then tells its middle no more.
      if (box[0] < 0 || box[1] < 0 || box[2] > 44 || box[3] > 44) continue;
      EXPECT_NEAR(x / weight, (box[0] + box[2]) / 2, 1.7) << sample;
      EXPECT_NEAR(y / weight, (box[1] + box[3]) / 2, 0.8) << sample;
      EXPECT_NEAR(weight / 200, (box[2] - box[0]) * (box[3] - box[1]), 6) << sample;
      least = std::min(least, box[2] - box[0]);
      most = std::max(most, box[2] - box[0]);
    }
    EXPECT_LT(least, 13);
    EXPECT_GT(most, 16);
  }
}

const std::string kAll =
    "crop_prob: 0.8 shift_x: 6 shift_y: 5 scale_prob: 0.6 scale_min: 0.8 scale_max: 1.2 flip_prob: 0.5 rotation_prob: "
    "0.6 "
    "max_rotate_degree: 20 hue_rotation_prob: 0.6 hue_rotation: 60 desaturation_prob: 0.6";

/// What is drawn for a sample depends on its position alone: not on the batch, so on the rank, that it is in.
TEST(DetectNetTransformationTest, DrawsBySample) {
  const auto tops = [](int64_t batch, uint64_t first, const char* backend) {
    const KernelCase what = layer("image_size_x: 12 image_size_y: 8 stride: 4", kAll, {batch, 3, 10, 14});
    Array one = pixels_of({1, 3, 10, 14}), pixels;
    for (int64_t i = 0; i < batch; ++i) pixels.insert(pixels.end(), one.begin(), one.end());
    const Array lists = lists_of(std::vector<std::vector<Object>>(static_cast<size_t>(batch), {{2, 2, 8, 6, 1}}), 3);
    return tops_of(what, {pixels, lists}, backend, {.seed = 7, .first_sample = first, .batch = batch});
  };
  for (const char* backend : kBackends) {
    const Arrays four = tops(4, 8, backend), last = tops(2, 10, backend), first = tops(2, 8, backend);
    for (size_t top = 0; top < 2; ++top) {
      const auto half = static_cast<long>(four[top].size() / 2);
      EXPECT_EQ(Array(four[top].begin(), four[top].begin() + half), first[top]);
      EXPECT_EQ(Array(four[top].begin() + half, four[top].end()), last[top]);
      EXPECT_NE(first[top], last[top]);
    }
  }
}

TEST(DetectNetTransformationTest, DrawsWithTheProbabilitiesGiven) {
  Augmentation augmentation{.draws = true, .key = 3, .in = {100, 80}, .out = {90, 60}};
  augmentation.hue_probability = 0.25f;
  augmentation.hue = 30;
  augmentation.mirror_probability = 0.75f;
  augmentation.crop_probability = 1;
  augmentation.shift_x = 8;
  int hues = 0, mirrored = 0;
  int64_t least = 100, most = -100;
  for (uint64_t position = 0; position < 4000; ++position) {
    const DrawnAugmentation drawn = augmentation(position);
    hues += drawn.hue != 0;
    mirrored += drawn.mirrored;
    EXPECT_LE(std::fabs(drawn.hue), 30);
    EXPECT_EQ(drawn.saturation, 1);
    EXPECT_FALSE(drawn.rotated);
    EXPECT_EQ(drawn.scaled.width, 100);
    EXPECT_TRUE(drawn.crop_y >= 0 && drawn.crop_y <= 20);
    least = std::min(least, drawn.crop_x);
    most = std::max(most, drawn.crop_x);
  }
  EXPECT_NEAR(hues, 1000, 120);
  EXPECT_NEAR(mirrored, 3000, 120);
  EXPECT_EQ(least, -4);
  EXPECT_EQ(most, 14);
}

const KernelCase kCases[] = {
    layer("image_size_x: 16 image_size_y: 8 stride: 4", kNothingDrawn, {2, 3, 8, 16}),
    layer("image_size_x: 12 image_size_y: 8 stride: 4 object_class { src: 1 dst: 2 }", kAll, {5, 3, 10, 14}),
    layer("image_size_x: 20 image_size_y: 18 stride: 4 gridbox_type: GRIDBOX_MIN min_cvg_len: 3", kAll, {3, 3, 10, 14},
          3, caffe::TRAIN, "mean_value: 127"),
    layer("image_size_x: 12 image_size_y: 8 stride: 4", "", {2, 3, 10, 14}, 3, caffe::TEST),
};

TEST(DetectNetTransformationTest, SinglePrecision) {
  for (const KernelCase& c : kCases) compare_with_reference("reference", c, 1e-4, {.backward = false});
}

TEST(DetectNetTransformationTest, Gpu) {
  for (const KernelCase& c : kCases) compare_gpu_with_reference(c, 1e-4, {.backward = false});
}

TEST(DetectNetTransformationTest, DamagedListsAreErrors) {
  const KernelCase what = layer("image_size_x: 8 image_size_y: 8 stride: 4", kNothingDrawn, {2, 3, 8, 8});
  const Array pixels = pixels_of({2, 3, 8, 8}), good = lists_of({{{0, 0, 4, 4, 1}}, {{0, 0, 4, 4, 1}}}, 3);
  const auto cause = [&](size_t place, double value, const char* backend) {
    Array lists = good;
    lists[place] = value;
    return error_of([&] { tops_of(what, {pixels, lists}, backend, {.seed = 7, .first_sample = 5}); });
  };
  for (const char* backend : kBackends) {
    EXPECT_NO_THROW(tops_of(what, {pixels, good}, backend));
    for (const double count : {3.0, -1.0, 1e20, std::nan("")}) {
      const Error error = cause(48, count, backend);
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_NE(error.cause().find("sample 6"), std::string::npos) << error.cause();
      EXPECT_NE(error.cause().find("there is room for 2"), std::string::npos) << error.cause();
    }
    EXPECT_NE(cause(49, 15, backend).cause().find("a row has 15 numbers"), std::string::npos);
    EXPECT_NE(cause(18, std::nan(""), backend).cause().find("sample 5"), std::string::npos);
    EXPECT_NE(cause(48 + 16 + 2, 1e30, backend).cause().find("the width of object 0"), std::string::npos);
    // Without objects nothing else is read, and classes that are no numbers are those of no object.
    Array none = lists_of({{}, {}}, 3);
    none[1] = none[49] = 0;
    EXPECT_NO_THROW(tops_of(what, {pixels, none}, backend));
    Array odd = good;
    odd[21] = std::nan("");
    odd[48 + 21] = -1e30;
    const Array grid = tops_of(what, {pixels, odd}, backend)[1];
    EXPECT_TRUE(std::ranges::all_of(grid, [](double number) { return number == 0; }));
  }
}

TEST(DetectNetTransformationTest, AMeanImageIsScaledToTheImages) {
  TempDir dir;
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(3);
  mean.set_height(2);
  mean.set_width(2);
  for (int i = 0; i < 12; ++i) mean.add_data(static_cast<float>(10 * (i / 4)));
  write_file(dir / "mean.binaryproto", mean.SerializeAsString());
  const KernelCase what = layer("image_size_x: 8 image_size_y: 8 stride: 4", kNothingDrawn, {1, 3, 8, 8}, 3,
                                caffe::TRAIN, "mean_file: '" + (dir / "mean.binaryproto") + "'");
  for (const char* backend : kBackends) {
    const Array pixels(3 * 64, 50);
    const Array top = tops_of(what, {pixels, lists_of({{}}, 3)}, backend)[0];
    for (size_t i = 0; i < top.size(); ++i) EXPECT_NEAR(top[i], 50.0 - 10.0 * static_cast<double>(i / 64), 1e-4);
  }
}

TEST(DetectNetTransformationTest, OtherTransformsAreWarnedOf) {
  const LogLines lines;
  const KernelHarness harness(layer("", "", {1, 3, 8, 8}, 3, caffe::TRAIN, "crop_size: 4 scale: 1 mean_value: 1"), {});
  EXPECT_TRUE(contains(lines.text(), "layer transform: transform_param.crop_size changes nothing here"));
  EXPECT_EQ(lines.text().find("mean_value"), std::string::npos);
  EXPECT_EQ(lines.text().find("scale"), std::string::npos) << "it says the default";
}

TEST(DetectNetTransformationTest, Errors) {
  const auto refused = [](const std::string& truth, const std::string& augmentation, const std::string& cause,
                          const std::string& field, const std::string& transform = "") {
    expect_config_error(layer(truth, augmentation, {1, 3, 8, 8}, 3, caffe::TRAIN, transform), cause, field);
  };
  const std::string truth = "detectnet_groundtruth_param.", augmentation = "detectnet_augmentation_param.";
  refused("stride: 0", "", "stride is 0", truth + "stride");
  refused("image_size_x: 0", "", "images of", truth + "image_size_x");
  refused("image_size_x: 8 image_size_y: 8 stride: 100", "", "a cell of 100 pixels", truth + "stride");
  refused("scale_cvg: nan", "", "scale_cvg is", truth + "scale_cvg");
  refused("object_class { src: 1 dst: 70000 }", "", "dst 70000", truth + "object_class");
  refused("", "crop_prob: 1.5", "a probability", augmentation + "crop_prob");
  refused("", "hue_rotation_prob: -1", "a probability", augmentation + "hue_rotation_prob");
  refused("", "desaturation_max: 2", "a probability", augmentation + "desaturation_max");
  refused("", "scale_min: 0", "it is 0", augmentation + "scale_min");
  refused("", "scale_min: 2 scale_max: 1", "less than the lower end", augmentation + "scale_max");
  refused("", "max_rotate_degree: inf", "max_rotate_degree is inf", augmentation + "max_rotate_degree");
  refused("", "shift_x: 4000000000", "it is", augmentation + "shift_x");
  refused("", "", "there are 2 values", "transform_param.mean_value", "mean_value: 1 mean_value: 2");
  refused("", "", "are both set", "transform_param.mean_value", "mean_value: 1 mean_file: 'm'");
  expect_config_error(layer("", "", {1, 1, 8, 8}), "images of 3 channels are wanted", "bottom");
  KernelCase what = layer("", "", {2, 3, 8, 8});
  what.bottoms[1] = {2, 5};
  expect_config_error(what, "rows of 16 numbers", "bottom");
  what.bottoms[1] = {3, 1, 2, 16};
  expect_config_error(what, "2 images and 3 lists", "bottom");
}

}  // namespace
}  // namespace robusta::test::detectnet_transformation_test
