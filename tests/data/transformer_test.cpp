// Crops, mirrors, means and resizes, against plain loops.

#include "data/transformer.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>

#include "robusta/error.h"
#include "sample_db.h"
#include "schema/blob_proto.h"
#include "support/files.h"

namespace robusta {
namespace {

caffe::TransformationParameter parse(const std::string& text) {
  caffe::TransformationParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

std::vector<float> run(const Transformer& transformer, const Pixels& item, uint64_t key = 1, uint64_t position = 0) {
  std::vector<float> out(static_cast<size_t>(transformer.output(item.extent).count()));
  Image resized;
  transformer.run(item, key, position, resized, out.data());
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
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 interp_mode: AREA }"),
            (Result{ErrorKind::kUnsupported, "transform_param.resize_param.interp_mode"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 resize_mode: FIT_SMALL_SIZE }"),
            (Result{ErrorKind::kUnsupported, "transform_param.resize_param.resize_mode"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 height_scale: 2 }"),
            (Result{ErrorKind::kUnsupported, "transform_param.resize_param.height_scale"}));
  EXPECT_EQ(kind_and_field("resize_param { height: 3 width: 3 } resize_param { height: 4 width: 4 }"),
            (Result{ErrorKind::kUnsupported, "transform_param.resize_param"}));
  EXPECT_EQ(kind_and_field("bgr2rgb: true"), (Result{ErrorKind::kUnsupported, "transform_param.bgr2rgb"}));
  EXPECT_EQ(kind_and_field("img_rand_resize_lower: 256"),
            (Result{ErrorKind::kUnsupported, "transform_param.img_rand_resize_lower"}));
  EXPECT_EQ(kind_and_field("noise_param { prob: 0.5 }"),
            (Result{ErrorKind::kUnsupported, "transform_param.noise_param"}));
  EXPECT_NO_THROW(Transformer(parse("bgr2rgb: false pad: 0 vertical_stretch_lower: 1 use_gpu_transform: true"), true));
}

TEST(TransformerTest, ItemsThatDoNotFit) {
  const Error small = error_of([] { Transformer(parse("crop_size: 227"), true).output({3, 200, 300}); });
  EXPECT_EQ(small.cause(), "the item is 3x200x300, smaller than the crop of 227x227");
  EXPECT_EQ(small.kind(), ErrorKind::kData);
  const Error values = error_of([] { Transformer(parse("mean_value: 1 mean_value: 2"), true).output({3, 4, 4}); });
  EXPECT_EQ(values.cause(), "there are 2 values of mean_value, the item has 3 channels");
}

}  // namespace
}  // namespace robusta
