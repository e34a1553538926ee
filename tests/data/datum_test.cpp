// Datums: what protobuf itself writes, and bytes that are none.

#include "data/datum.h"

#include <gtest/gtest.h>

#include <limits>

#include "robusta/error.h"
#include "sample_db.h"

namespace robusta::datum_test {
namespace {

using test::encoded_datum;
using test::raw_datum;

/// The bytes of the item, or the cause of the error, which must be one about data.
std::string decode(const std::string& record, ColorMode mode = ColorMode::kAsStored) {
  DecodeBuffers buffers;
  try {
    const DatumView datum = parse_datum(record, buffers.floats);
    const Pixels pixels = decode_datum(datum, mode, buffers);
    const auto count = static_cast<size_t>(pixels.extent.count());
    EXPECT_EQ(datum_extent(datum, mode, buffers.floats.size()), pixels.extent);
    if (pixels.bytes) return std::string(reinterpret_cast<const char*>(pixels.bytes), count);
    return std::string(reinterpret_cast<const char*>(pixels.floats), count * sizeof(float));
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kData || error.kind() == ErrorKind::kUnsupported) << error.what();
    return error.cause();
  }
}

TEST(DatumTest, Raw) {
  const caffe::Datum datum = raw_datum({3, 5, 7}, -4, 1);
  std::vector<float> floats;
  const std::string record = datum.SerializeAsString();
  const DatumView view = parse_datum(record, floats);
  EXPECT_EQ(view.label, -4);
  EXPECT_EQ(view.channels, 3);
  EXPECT_EQ(view.height, 5);
  EXPECT_EQ(view.width, 7);
  EXPECT_FALSE(view.encoded);
  EXPECT_EQ(view.data, datum.data());
  EXPECT_GE(view.data.data(), record.data()) << "copied";
  EXPECT_LT(view.data.data(), record.data() + record.size()) << "copied";
  EXPECT_EQ(decode(record), datum.data());
}

TEST(DatumTest, Floats) {
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(1);
  datum.set_width(3);
  for (float value : {1.5f, -2.25f, 1e30f}) datum.add_float_data(value);
  DecodeBuffers buffers;
  const std::string record = datum.SerializeAsString();
  const Pixels pixels = decode_datum(parse_datum(record, buffers.floats), ColorMode::kAsStored, buffers);
  ASSERT_EQ(pixels.bytes, nullptr);
  EXPECT_EQ(std::vector<float>(pixels.floats, pixels.floats + 3), (std::vector<float>{1.5f, -2.25f, 1e30f}));
  // A packed list, as other writers make it, is the same.
  const std::string packed("\x08\x01\x10\x01\x18\x02\x32\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 16);
  const Pixels two = decode_datum(parse_datum(packed, buffers.floats), ColorMode::kAsStored, buffers);
  EXPECT_EQ(two.floats[0], 1.0f);
  EXPECT_EQ(two.floats[1], 2.0f);
}

TEST(DatumTest, BytesWinOverFloats) {
  caffe::Datum datum = raw_datum({1, 2, 2}, 0, 1);
  datum.add_float_data(1);
  EXPECT_EQ(decode(datum.SerializeAsString()), datum.data());
}

TEST(DatumTest, UnknownFieldsAreSkipped) {
  caffe::Datum datum = raw_datum({1, 2, 2}, 3, 1);
  datum.set_record_id(77);
  datum.GetReflection()->MutableUnknownFields(&datum)->AddLengthDelimited(99)->assign("abc");
  EXPECT_EQ(decode(datum.SerializeAsString()), datum.data());
}

TEST(DatumTest, ImpossibleSizes) {
  const int kMost = std::numeric_limits<int>::max();
  caffe::Datum datum = raw_datum({3, 4, 4}, 0, 1);
  const auto with = [&](int channels, int height, int width) {
    datum.set_channels(channels);
    datum.set_height(height);
    datum.set_width(width);
    return decode(datum.SerializeAsString());
  };
  EXPECT_EQ(with(3, 4, 5), "the record holds 48 bytes, but says that it is 3x4x5");
  EXPECT_EQ(with(3, 4, 3), "the record holds 48 bytes, but says that it is 3x4x3");
  EXPECT_EQ(with(0, 4, 4), "the size of the record is impossible: 0x4x4");
  EXPECT_EQ(with(-3, -4, 4), "the size of the record is impossible: -3x-4x4");
  EXPECT_NE(with(kMost, kMost, kMost).find("but says"), std::string::npos);
  // 2^16 * 2^16 * 2^32 wraps to 0 in 64 bits, 2^31 * 3 * 2^33 ... to small numbers in 32.
  EXPECT_NE(with(1 << 30, 1 << 30, 48).find("but says"), std::string::npos);
  EXPECT_NE(with(65536, 65536, 16).find("but says"), std::string::npos);
  EXPECT_EQ(decode(""), "the size of the record is impossible: 0x0x0");
}

TEST(DatumTest, FloatCountMustAgree) {
  caffe::Datum datum;
  datum.set_channels(2);
  datum.set_height(1);
  datum.set_width(1);
  datum.add_float_data(1);
  EXPECT_EQ(decode(datum.SerializeAsString()), "the record holds 1 floats, but says that it is 2x1x1");
}

TEST(DatumTest, EncodedImages) {
  const Image image = test::random_image({3, 6, 5}, 9);
  caffe::Datum datum = encoded_datum({3, 6, 5}, 1, 9, ImageFormat::kPng);
  EXPECT_EQ(decode(datum.SerializeAsString()), std::string(image.planes.begin(), image.planes.end()));
  datum.set_data("GIF89a....");
  EXPECT_EQ(decode(datum.SerializeAsString()), "it is a GIF image; JPEG, PNG, BMP and WebP are read");
  datum.set_data("");
  EXPECT_EQ(decode(datum.SerializeAsString()), "it is no image: its 0 bytes begin like no JPEG, PNG, BMP or WebP");
}

/// Each prefix, and each byte replaced. `decode` fails the test for an error of another kind; the sanitizers watch.
void mutilate(const std::string& record, uint64_t key) {
  for (size_t length = 0; length < record.size(); ++length) decode(record.substr(0, length));
  PhiloxStream random(key);
  for (int n = 0; n < 3000; ++n) {
    std::string spoilt = record;
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      spoilt[random.below(spoilt.size())] = static_cast<char>(random.below(256));
    }
    decode(spoilt, static_cast<ColorMode>(random.below(3)));
  }
}

TEST(DatumFuzzTest, Raw) { mutilate(raw_datum({3, 5, 7}, 300, 1).SerializeAsString(), 1); }

TEST(DatumFuzzTest, Floats) {
  caffe::Datum datum;
  datum.set_channels(2);
  datum.set_height(3);
  datum.set_width(2);
  for (int i = 0; i < 12; ++i) datum.add_float_data(static_cast<float>(i));
  mutilate(datum.SerializeAsString(), 2);
}

TEST(DatumFuzzTest, Png) { mutilate(encoded_datum({3, 9, 12}, 3, 3, ImageFormat::kPng).SerializeAsString(), 3); }

TEST(DatumFuzzTest, Jpeg) { mutilate(encoded_datum({3, 17, 23}, 3, 4, ImageFormat::kJpeg).SerializeAsString(), 4); }

TEST(DatumFuzzTest, Noise) {
  PhiloxStream random(5);
  for (int n = 0; n < 5000; ++n) {
    std::string noise(random.below(60), '\0');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    decode(noise);
  }
}

}  // namespace
}  // namespace robusta::datum_test
