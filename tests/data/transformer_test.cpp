// Crops, mirrors, means and resizes, against plain loops.

#include "data/transformer.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "robusta/error.h"
#include "sample_db.h"
#include "schema/blob_proto.h"
#include "support/files.h"

namespace robusta::transformer_test {
namespace {

caffe::TransformationParameter parse(const std::string& text) {
  caffe::TransformationParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

std::vector<float> run(const Transformer& transformer, const Pixels& item, uint64_t key = 1, uint64_t position = 0) {
  std::vector<float> out(static_cast<size_t>(transformer.output(item.extent).count()));
  TransformMemory memory;
  transformer.run(item, key, position, memory, out.data());
  return out;
}

template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInternal, "");
}

/// 2 x 4 x 5, pixel = 20c + 5y + x.
Image counting_image() {
  Image image;
  image.reset({2, 4, 5});
  for (size_t i = 0; i < image.planes.size(); ++i) image.planes[i] = static_cast<uint8_t>(i);
  return image;
}

TEST(TransformerTest, AsItIs) {
  const Image image = counting_image();
  const auto out = run(Transformer(parse(""), true), image.pixels());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(i));
}

TEST(TransformerTest, MeanBeforeScale) {
  const Image image = counting_image();
  const auto one = run(Transformer(parse("mean_value: 3 scale: 0.5"), true), image.pixels());
  const auto two = run(Transformer(parse("mean_value: 3 mean_value: 10 scale: 0.5"), true), image.pixels());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i], (static_cast<float>(i) - 3) * 0.5f);
    EXPECT_EQ(two[i], (static_cast<float>(i) - (i < 20 ? 3 : 10)) * 0.5f);
  }
}

TEST(TransformerTest, FloatItems) {
  const std::vector<float> values{0.5f, -1, 2, 8};
  const Pixels item{{1, 2, 2}, nullptr, values.data()};
  EXPECT_EQ(run(Transformer(parse("mean_value: 1 scale: 2"), true), item), (std::vector<float>{-1, -4, 2, 14}));
}

TEST(TransformerTest, CenterCropInTesting) {
  const Image image = counting_image();
  // floor((4 - 3) / 2) = 0 rows and floor((5 - 3) / 2) = 1 column are left out before the window.
  const auto out = run(Transformer(parse("crop_size: 3"), false), image.pixels());
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 6, 7, 8, 11, 12, 13, 21, 22, 23, 26, 27, 28, 31, 32, 33}));
  const auto oblong = run(Transformer(parse("crop_h: 2 crop_w: 1"), false), image.pixels());
  EXPECT_EQ(oblong, (std::vector<float>{7, 12, 27, 32}));
}

TEST(TransformerTest, RandomCropsAreUniform) {
  const Image image = counting_image();
  const Transformer transformer(parse("crop_size: 3"), true);
  std::map<float, int> corners;
  for (uint64_t p = 0; p < 6000; ++p) ++corners[run(transformer, image.pixels(), 5, p)[0]];
  ASSERT_EQ(corners.size(), 6u);  // 2 rows and 3 columns to begin at
  for (const auto& [corner, hits] : corners) EXPECT_NEAR(hits, 1000, 150) << corner;
}

TEST(TransformerTest, MirrorsHalfOfThemInTestingToo) {
  const Image image = counting_image();
  for (bool training : {true, false}) {
    const Transformer transformer(parse("mirror: true"), training);
    int mirrored = 0;
    for (uint64_t p = 0; p < 1000; ++p) {
      const auto out = run(transformer, image.pixels(), 5, p);
      const bool turned = out[0] == 4;
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t x = i % 5, want = turned ? i - x + 4 - x : i;
        ASSERT_EQ(out[i], static_cast<float>(want));
      }
      mirrored += turned;
    }
    EXPECT_NEAR(mirrored, 500, 80);
  }
}

TEST(TransformerTest, DrawsDependOnKeyAndPositionAlone) {
  const Image image = counting_image();
  const Transformer transformer(parse("crop_size: 2 mirror: true"), true);
  std::vector<std::vector<float>> first, other_key;
  for (uint64_t p = 0; p < 50; ++p) first.push_back(run(transformer, image.pixels(), 1, p));
  for (uint64_t p = 50; p-- > 0;) EXPECT_EQ(run(transformer, image.pixels(), 1, p), first[p]);
  for (uint64_t p = 0; p < 50; ++p) other_key.push_back(run(transformer, image.pixels(), 2, p));
  EXPECT_NE(first, other_key);
}

// The mean image is cropped with the item but not mirrored by itself.
TEST(TransformerTest, MeanFileFollowsTheSourcePixel) {
  test::TempDir dir;
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(2);
  mean.set_height(4);
  mean.set_width(5);
  for (int i = 0; i < 40; ++i) mean.add_data(static_cast<float>(i));
  write_binary_proto(dir / "mean.binaryproto", mean);
  const std::string field = "mean_file: '" + (dir / "mean.binaryproto") + "' ";
  const Image image = counting_image();
  const Transformer transformer(parse(field + "crop_size: 3 mirror: true"), true);
  for (uint64_t p = 0; p < 20; ++p) {
    for (float value : run(transformer, image.pixels(), 1, p)) EXPECT_EQ(value, 0);
  }
  const Error error = error_of([&] { transformer.output({2, 5, 4}); });
  EXPECT_EQ(error.cause(), "the mean image is 2x4x5, the item 2x5x4");
  EXPECT_EQ(error_of([&] { Transformer(parse(field + "mean_value: 1"), true); }).kind(), ErrorKind::kConfig);
}

TEST(TransformerTest, ResizesBeforeTheCrop) {
  const Image image = counting_image();
  const Transformer transformer(parse("resize_param { height: 8 width: 10 } crop_size: 4"), false);
  EXPECT_EQ(transformer.output(image.extent), (Extent{2, 4, 4}));
  Image doubled;
  resize_bilinear(image.pixels(), 8, 10, doubled);
  EXPECT_EQ(run(transformer, image.pixels()), run(Transformer(parse("crop_size: 4"), false), doubled.pixels()));
}

TEST(TransformerTest, SettingsThatCannotBe) {
  const auto kind_and_field = [](const std::string& text) {
    const Error error = error_of([&] { Transformer(parse(text), true); });
    EXPECT_FALSE(error.cause().empty());
    return std::pair{error.kind(), error.field()};
  };
  using Result = std::pair<ErrorKind, std::string>;
  EXPECT_EQ(kind_and_field("force_color: true force_gray: true"),
            (Result{ErrorKind::kConfig, "transform_param.force_gray"}));
  EXPECT_EQ(kind_and_field("crop_h: 3"), (Result{ErrorKind::kConfig, "transform_param.crop_h"}));
  EXPECT_EQ(kind_and_field("crop_size: 3 crop_w: 3"), (Result{ErrorKind::kConfig, "transform_param.crop_w"}));
  EXPECT_EQ(kind_and_field("mean_file: '/none/mean'"), (Result{ErrorKind::kData, "transform_param.mean_file"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 }"),
            (Result{ErrorKind::kConfig, "transform_param.resize_param.width"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 16777217 width: 8 }"),
            (Result{ErrorKind::kConfig, "transform_param.resize_param.height"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 height_scale: 2 }"),
            (Result{ErrorKind::kConfig, "transform_param.resize_param.width_scale"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 pad_value: 300 }"),
            (Result{ErrorKind::kConfig, "transform_param.resize_param.pad_value"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 prob: 0.5 }"),
            (Result{ErrorKind::kConfig, "transform_param.resize_param"}))
      << "images of two sizes";
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 } resize_param { height: 4 width: 4 }"),
            (Result{ErrorKind::kUnsupported, "transform_param.resize_param"}));
  EXPECT_EQ(kind_and_field("bgr2rgb: true"), (Result{ErrorKind::kUnsupported, "transform_param.bgr2rgb"}));
  EXPECT_EQ(kind_and_field("img_rand_resize_lower: 256 img_rand_resize_upper: 300"),
            (Result{ErrorKind::kConfig, "transform_param.crop_size"}));
  EXPECT_EQ(kind_and_field("img_rand_resize_lower: 256 crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.img_rand_resize_upper"}));
  EXPECT_EQ(kind_and_field("rand_resize_ratio_lower: 0.5 rand_resize_ratio_upper: 2 crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.rand_resize_ratio_lower"}));
  EXPECT_EQ(kind_and_field("horizontal_stretch_upper: inf crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.horizontal_stretch_upper"}));
  EXPECT_EQ(kind_and_field("random_resize_param { min_size: 3 } crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.random_resize_param.min_size"}));
  EXPECT_EQ(kind_and_field("random_aspect_ratio_param { aspect_ratio_change: 0 } crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.random_aspect_ratio_param.aspect_ratio_change"}));
  EXPECT_EQ(kind_and_field("random_aspect_ratio_param { max_attempt: 4000000000 } crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.random_aspect_ratio_param.max_attempt"}));
  EXPECT_EQ(kind_and_field("random_resize_param { } random_aspect_ratio_param { } crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.random_aspect_ratio_param"}));
  EXPECT_EQ(kind_and_field("expand_param { max_expand_ratio: 4 }"),
            (Result{ErrorKind::kConfig, "transform_param.expand_param"}));
  EXPECT_EQ(kind_and_field("expand_param { max_expand_ratio: 0.5 } crop_size: 4"),
            (Result{ErrorKind::kConfig, "transform_param.expand_param.max_expand_ratio"}));
  EXPECT_EQ(kind_and_field("emit_constraint { emit_overlap: 7 }"),
            (Result{ErrorKind::kConfig, "transform_param.emit_constraint.emit_overlap"}));
  EXPECT_NO_THROW(Transformer(parse("bgr2rgb: false pad: 0 vertical_stretch_lower: 1 use_gpu_transform: true"), true));
}

TEST(TransformerTest, ItemsThatDoNotFit) {
  const Error small = error_of([] { Transformer(parse("crop_size: 227"), true).output({3, 200, 300}); });
  EXPECT_EQ(small.cause(), "the item is 3x200x300, smaller than the crop of 227x227");
  EXPECT_EQ(small.kind(), ErrorKind::kData);
  const Error values = error_of([] { Transformer(parse("mean_value: 1 mean_value: 2"), true).output({3, 4, 4}); });
  EXPECT_EQ(values.cause(), "there are 2 values of mean_value, the item has 3 channels");
}

TEST(TransformerTest, InProportionByTheSmallSide) {
  const Transformer transformer(parse("resize_param { height: 6 width: 6 resize_mode: FIT_SMALL_SIZE }"), true);
  EXPECT_EQ(transformer.output({3, 10, 20}), (Extent{3, 6, 12}));
  EXPECT_EQ(transformer.output({3, 20, 10}), (Extent{3, 12, 6}));
  EXPECT_EQ(transformer.output({3, 7, 7}), (Extent{3, 6, 6}));
  const Transformer oblong(parse("resize_param { height: 6 width: 9 resize_mode: FIT_SMALL_SIZE }"), true);
  EXPECT_EQ(oblong.output({3, 10, 10}), (Extent{3, 9, 9}));
  EXPECT_EQ(oblong.output({3, 10, 30}), (Extent{3, 6, 18}));
  const Error error = error_of([&] { transformer.output({3, 1, int64_t{1} << 26}); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
}

TEST(TransformerTest, InProportionAndPadded) {
  Image row;
  row.reset({1, 1, 2});
  row.planes = {10, 30};
  // 1 x 2 into 4 x 4: 2 x 4 pixels between two rows of padding on either side... of one each.
  const Transformer transformer(
      parse(
          "resize_param { height: 4 width: 4 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 7 interp_mode: NEAREST }"),
      true);
  EXPECT_EQ(run(transformer, row.pixels()),
            (std::vector<float>{7, 7, 7, 7, 10, 10, 30, 30, 10, 10, 30, 30, 7, 7, 7, 7}));
  const Transformer repeated(parse("resize_param { height: 3 width: 2 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_mode: "
                                   "REPEAT_NEAREST }"),
                             true);
  EXPECT_EQ(run(repeated, row.pixels()), (std::vector<float>{10, 30, 10, 30, 10, 30}));
  const Transformer values(parse("resize_param { height: 4 width: 4 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 7 "
                                 "pad_value: 8 }"),
                           true);
  EXPECT_EQ(error_of([&] { run(values, row.pixels()); }).kind(), ErrorKind::kData);
}

TEST(TransformerTest, InterpolationIsDrawnFromThoseThatAreNamed) {
  const Image image = counting_image();
  const Transformer both(parse("resize_param { height: 2 width: 2 interp_mode: NEAREST interp_mode: AREA }"), true);
  const auto nearest =
      run(Transformer(parse("resize_param { height: 2 width: 2 interp_mode: NEAREST }"), true), image.pixels());
  const auto area =
      run(Transformer(parse("resize_param { height: 2 width: 2 interp_mode: AREA }"), true), image.pixels());
  ASSERT_NE(nearest, area);
  int count = 0;
  for (uint64_t p = 0; p < 400; ++p) {
    const auto got = run(both, image.pixels(), 3, p);
    EXPECT_TRUE(got == nearest || got == area);
    count += got == area;
  }
  EXPECT_NEAR(count, 200, 50);
}

TEST(TransformerTest, ExpandedOnACanvasOfTheMean) {
  Image image;
  image.reset({1, 2, 2});
  image.planes = {1, 2, 3, 4};
  const Transformer transformer(
      parse("expand_param { max_expand_ratio: 3 } mean_value: 9 resize_param { height: 6 width: 6 }"), true);
  EXPECT_EQ(transformer.output(image.extent), (Extent{1, 6, 6}));
  std::map<int64_t, int> sizes;
  for (uint64_t p = 0; p < 600; ++p) {
    const Drawn drawn = transformer.draw(image.extent, 1, p);
    ASSERT_GE(drawn.steps.size(), 1u);
    const ImageStep& canvas = drawn.steps[0];
    ++sizes[canvas.height];
    EXPECT_EQ(canvas.height, canvas.width);
    EXPECT_GE(canvas.rect.top, 0);
    EXPECT_LE(canvas.rect.top, canvas.height - 2);
    EXPECT_GE(canvas.rect.left, 0);
    EXPECT_LE(canvas.rect.left, canvas.width - 2);
    Image memory, to;
    take_step(canvas, image.pixels(), memory, to);
    for (int64_t y = 0; y < canvas.height; ++y) {
      for (int64_t x = 0; x < canvas.width; ++x) {
        const int64_t row = y - canvas.rect.top, column = x - canvas.rect.left;
        const bool inside = row >= 0 && row < 2 && column >= 0 && column < 2;
        ASSERT_EQ(to.row(0, y)[x], inside ? 1 + 2 * row + column : 9);
      }
    }
  }
  // 2 times 1 to 3, rounded down.
  EXPECT_EQ(sizes.size(), 4u);
  for (const int64_t size : {2, 3, 4, 5}) EXPECT_NEAR(sizes[size], 150, 45) << size;
  const Error error = error_of([&] {
    Transformer(parse("expand_param { max_expand_ratio: 30000 } crop_size: 2"), true).draw({1, 9000, 9000}, 1, 1);
  });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
}

TEST(TransformerTest, NvidiasSizes) {
  const auto sizes = [](const std::string& text, const Extent& item) {
    const Transformer transformer(parse(text + " crop_size: 10"), true);
    std::map<std::pair<int64_t, int64_t>, int> counts;
    for (uint64_t p = 0; p < 300; ++p) {
      const Extent whole = transformer.draw(item, 1, p).whole;
      ++counts[{whole.height, whole.width}];
    }
    return counts;
  };
  using Sizes = std::map<std::pair<int64_t, int64_t>, int>;
  const Sizes short_sides = sizes("img_rand_resize_lower: 20 img_rand_resize_upper: 22", {3, 40, 80});
  ASSERT_EQ(short_sides.size(), 3u);
  EXPECT_NEAR((short_sides.at({20, 40})), 100, 35);
  EXPECT_NEAR((short_sides.at({21, 42})), 100, 35);
  EXPECT_NEAR((short_sides.at({22, 44})), 100, 35);
  EXPECT_EQ(sizes("img_rand_resize_lower: 50 img_rand_resize_upper: 50", {3, 40, 80}), (Sizes{{{40, 80}, 300}}))
      << "made larger only if allow_upscale says so";
  EXPECT_EQ(sizes("img_rand_resize_lower: 50 img_rand_resize_upper: 50 allow_upscale: true", {3, 40, 80}),
            (Sizes{{{50, 100}, 300}}));
  EXPECT_EQ(sizes("vertical_stretch_lower: 0.5 vertical_stretch_upper: 0.5", {3, 40, 80}), (Sizes{{{20, 80}, 300}}));
  EXPECT_EQ(sizes("rand_resize_ratio_lower: 1.5 rand_resize_ratio_upper: 1.5", {3, 40, 80}), (Sizes{{{40, 60}, 300}}));
  EXPECT_EQ(sizes("img_rand_resize_lower: 4 img_rand_resize_upper: 4", {3, 40, 80}), (Sizes{{{10, 10}, 300}}))
      << "no smaller than the crop";
}

TEST(TransformerTest, IntelsShortSides) {
  const Transformer transformer(parse("random_resize_param { min_size: 12 max_size: 14 } crop_size: 12"), true);
  std::map<int64_t, int> widths;
  for (uint64_t p = 0; p < 300; ++p) {
    const Extent whole = transformer.draw({3, 40, 60}, 1, p).whole;
    EXPECT_EQ(whole.width, whole.height * 3 / 2);
    ++widths[whole.height];
  }
  ASSERT_EQ(widths.size(), 3u);
  for (const auto& [height, count] : widths) EXPECT_NEAR(count, 100, 35) << height;
}

TEST(TransformerTest, IntelsRegions) {
  const Transformer transformer(parse("random_aspect_ratio_param { min_area_ratio: 0.25 max_area_ratio: 0.25 "
                                      "aspect_ratio_change: 0.5 } crop_size: 8"),
                                true);
  int tall = 0;
  for (uint64_t p = 0; p < 400; ++p) {
    const Drawn drawn = transformer.draw({3, 100, 100}, 1, p);
    EXPECT_EQ(drawn.whole, (Extent{3, 8, 8}));
    ASSERT_EQ(drawn.steps.size(), 2u);
    const PixelRect& part = drawn.steps[0].rect;
    // A quarter of 10,000 pixels, both sides rounded down; sides of 25 to 100.
    EXPECT_LE(part.height * part.width, 2500);
    EXPECT_GE((part.height + 1) * (part.width + 1), 2500);
    EXPECT_GE(std::min(part.height, part.width), 24);
    EXPECT_LE(part.top + part.height, 100);
    EXPECT_LE(part.left + part.width, 100);
    tall += part.height > part.width;
  }
  EXPECT_NEAR(tall, 200, 50);
  // No region of twice the area fits: the whole image with its short side as the crop.
  const Transformer whole(
      parse("random_aspect_ratio_param { min_area_ratio: 2 max_area_ratio: 2 max_attempt: 3 } crop_size: 8"), true);
  EXPECT_EQ(whole.draw({3, 20, 30}, 1, 0).whole, (Extent{3, 8, 12}));
}

/// Everything at once: no draw may depend on anything but key and position.
constexpr char kEverything[] =
    "distort_param { brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.5 contrast_lower: 0.5 contrast_upper: "
    "1.5 "
    "hue_prob: 0.5 hue_delta: 18 saturation_prob: 0.5 saturation_lower: 0.5 saturation_upper: 1.5 random_order_prob: "
    "0.3 } "
    "expand_param { prob: 0.5 max_expand_ratio: 2 } noise_param { prob: 0.5 saltpepper: true "
    "saltpepper_param { fraction: 0.05 value: 255 } } "
    "resize_param { height: 20 width: 24 interp_mode: LINEAR interp_mode: AREA interp_mode: CUBIC } "
    "crop_size: 16 mirror: true mean_value: 100";

TEST(TransformerTest, EverythingDependsOnKeyAndPositionAlone) {
  const Image image = test::random_image({3, 30, 25}, 1);
  const Transformer transformer(parse(kEverything), true);
  std::vector<std::vector<float>> first;
  for (uint64_t p = 0; p < 40; ++p) first.push_back(run(transformer, image.pixels(), 1, p));
  for (uint64_t p = 40; p-- > 0;) EXPECT_EQ(run(transformer, image.pixels(), 1, p), first[p]);
  int other = 0;
  for (uint64_t p = 0; p < 40; ++p) other += run(transformer, image.pixels(), 2, p) != first[p];
  EXPECT_EQ(other, 40);
}

/// Of one channel, 12 x 16, pixel = 16y + x.
Image wide_image() {
  Image image;
  image.reset({1, 12, 16});
  for (size_t i = 0; i < image.planes.size(); ++i) image.planes[i] = static_cast<uint8_t>(i);
  return image;
}

TEST(TransformerTest, CropsAtAFewPlaces) {
  const Image image = wide_image();
  const auto corners = [&](const std::string& settings, bool training) {
    std::set<float> found;
    const Transformer transformer(parse("crop_size: 4 fix_crop: true " + settings), training);
    for (uint64_t p = 0; p < 300; ++p) {
      const auto out = run(transformer, image.pixels(), 1, p);
      EXPECT_EQ(out[5], out[0] + 17);
      found.insert(out[0]);
    }
    return found;
  };
  const std::set<float> few{0, 12, 8 * 16, 8 * 16 + 12, 4 * 16 + 6};
  EXPECT_EQ(corners("", true), few);
  EXPECT_EQ(corners("", false), (std::set<float>{4 * 16 + 6}));
  std::set<float> more = few;
  more.insert({6, 8 * 16 + 6, 4 * 16, 4 * 16 + 12, 2 * 16 + 3, 2 * 16 + 9, 6 * 16 + 3, 6 * 16 + 9});
  EXPECT_EQ(corners("more_fix_crop: true", true), more);
}

TEST(TransformerTest, CropsOfAFewSizes) {
  const Image image = wide_image();
  // What a part of the image becomes.
  const auto scaled = [&](int64_t top, int64_t left, int64_t height, int64_t width) {
    Image part, out;
    part.reset({1, height, width});
    for (int64_t y = 0; y < height; ++y) std::copy_n(image.row(0, top + y) + left, width, part.row(0, y));
    if (height == 4 && width == 4)
      out = part;
    else
      resize_bilinear(part.pixels(), 4, 4, out);
    return std::vector<float>(out.planes.begin(), out.planes.end());
  };
  // The shorter side is 12; of a third of it, which is 4, and of a half, 6, comes the crop itself.
  const auto sizes = [&](const std::string& settings) {
    const Transformer transformer(parse("crop_size: 4 multi_scale: true " + settings), true);
    std::set<std::pair<int64_t, int64_t>> found;
    for (uint64_t p = 0; p < 400; ++p) {
      const auto out = run(transformer, image.pixels(), 1, p);
      bool any = false;
      for (const int64_t height : {4, 9, 12}) {
        for (const int64_t width : {4, 9, 12}) {
          for (int64_t top = 0; !any && top + height <= 12; ++top) {
            for (int64_t left = 0; !any && left + width <= 16; ++left) {
              any = out == scaled(top, left, height, width);
              if (any) found.insert({height, width});
            }
          }
        }
      }
      EXPECT_TRUE(any) << p;
    }
    return found;
  };
  using Sizes = std::set<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(sizes("scale_ratios: 1 scale_ratios: 0.75 scale_ratios: 0.5 max_distort: 0"),
            (Sizes{{12, 12}, {9, 9}, {4, 4}}));
  EXPECT_EQ(sizes("scale_ratios: 1 scale_ratios: 0.75 scale_ratios: 0.5"),
            (Sizes{{12, 12}, {12, 9}, {9, 12}, {9, 9}, {9, 4}, {4, 9}, {4, 4}}));
}

TEST(TransformerTest, CropsOfAFewSizesNeedTheirSettings) {
  const auto field_of = [](const std::string& settings) {
    return error_of([&] { Transformer(parse(settings), false); }).field();
  };
  EXPECT_EQ(field_of("multi_scale: true"), "transform_param.multi_scale");
  EXPECT_EQ(field_of("fix_crop: true"), "transform_param.fix_crop");
  EXPECT_EQ(field_of("crop_size: 4 multi_scale: true scale_ratios: 1.5"), "transform_param.scale_ratios");
  EXPECT_EQ(field_of("crop_size: 4 multi_scale: true scale_ratios: nan"), "transform_param.scale_ratios");
  EXPECT_EQ(field_of("crop_size: 4 multi_scale: true max_distort: -1"), "transform_param.max_distort");
  EXPECT_EQ(field_of("crop_size: 4 fix_crop: true mean_file: 'm'"), "transform_param.mean_file");
  const Image small = counting_image();
  EXPECT_EQ(error_of([&] { run(Transformer(parse("crop_size: 5 multi_scale: true"), true), small.pixels()); }).kind(),
            ErrorKind::kData);
}

TEST(TransformerTest, BytesForADeviceAreThoseOfTheHost) {
  const Image image = test::random_image({3, 30, 25}, 1);
  const Transformer transformer(parse(kEverything), true);
  TransformMemory memory;
  std::vector<uint8_t> bytes(3 * 16 * 16);
  for (uint64_t p = 0; p < 40; ++p) {
    const auto numbers = run(transformer, image.pixels(), 1, p);
    const PixelWindow window = transformer.cut(image.pixels(), 1, p, memory, bytes.data());
    for (size_t i = 0; i < bytes.size(); ++i) {
      const size_t x = i % 16, at = window.mirror ? i - x + 15 - x : i;
      ASSERT_EQ(numbers[i], static_cast<float>(bytes[at]) - 100);
    }
  }
}

TEST(TransformerTest, OneTransformationMovesNoDrawOfAnother) {
  const Image image = counting_image();
  const Transformer alone(parse("crop_size: 2 mirror: true"), true);
  const Transformer besides(
      parse("crop_size: 2 mirror: true distort_param { brightness_prob: 0 } noise_param { prob: 0 inverse: true }"),
      true);
  for (uint64_t p = 0; p < 30; ++p) EXPECT_EQ(run(alone, image.pixels(), 1, p), run(besides, image.pixels(), 1, p));
}

TEST(TransformerTest, FloatsAreCroppedAndMirroredAlone) {
  const std::vector<float> values{0.5f, -1, 2, 8};
  const Pixels item{{1, 2, 2}, nullptr, values.data()};
  const Error error = error_of([&] { run(Transformer(parse("noise_param { inverse: true }"), true), item); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.field(), "transform_param.noise_param");
  EXPECT_EQ(error_of([&] { run(Transformer(parse("resize_param { height: 3 width: 3 }"), true), item); }).kind(),
            ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace robusta::transformer_test
