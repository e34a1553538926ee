#include "layers/kit/filler.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "robusta/error.h"

namespace robusta::test::filler_test {
namespace {

caffe::FillerParameter filler(const std::string& text) {
  caffe::FillerParameter parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

std::vector<double> filled(const std::string& text, const Shape& shape, uint64_t key = 1) {
  std::vector<double> values(static_cast<size_t>(shape.count()));
  PhiloxStream random(key);
  fill(filler(text), shape, random, DType::kF64, values.data());
  return values;
}

struct Moments {
  double mean, deviation, least, most;
};

Moments moments(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / n), *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

const Shape kShape = {200, 50, 3, 2};  // 60,000 values, fan in 300, fan out 1200

TEST(FillerTest, Constant) {
  EXPECT_EQ(filled("", {2, 2}), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(filled("value: -1.5", {3}), (std::vector<double>{-1.5, -1.5, -1.5}));
  EXPECT_EQ(filled("value: 2", {}), (std::vector<double>{2}));
}

TEST(FillerTest, Uniform) {
  const Moments m = moments(filled("type: 'uniform' min: -1 max: 3", kShape));
  EXPECT_NEAR(m.mean, 1, 0.02);
  EXPECT_NEAR(m.deviation, 4 / std::sqrt(12), 0.01);
  EXPECT_GE(m.least, -1);
  EXPECT_LT(m.most, 3);
  EXPECT_LT(m.least, -0.999);
  EXPECT_GT(m.most, 2.999);
}

TEST(FillerTest, Gaussian) {
  const Moments m = moments(filled("type: 'gaussian' mean: 2 std: 0.5", kShape));
  EXPECT_NEAR(m.mean, 2, 0.01);
  EXPECT_NEAR(m.deviation, 0.5, 0.006);
  EXPECT_GT(m.most, 3.8);
}

TEST(FillerTest, SparseGaussian) {
  const std::vector<double> values = filled("type: 'gaussian' std: 1 sparse: 15", {100, 500});
  const auto zeros = std::count(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(zeros) / 50000, 0.85, 0.008);
}

TEST(FillerTest, PositiveUnitball) {
  const std::vector<double> values = filled("type: 'positive_unitball'", {4, 3, 5});
  for (int r = 0; r < 4; ++r) {
    EXPECT_NEAR(std::accumulate(values.begin() + 15 * r, values.begin() + 15 * (r + 1), 0.0), 1, 1e-12);
  }
  EXPECT_GE(moments(values).least, 0);
}

TEST(FillerTest, XavierAndMsraScaleByFan) {
  const std::pair<const char*, double> fans[] = {
      {"", 300}, {" variance_norm: FAN_OUT", 1200}, {" variance_norm: AVERAGE", 750}};
  for (const auto& [norm, fan] : fans) {
    const Moments xavier = moments(filled(std::string("type: 'xavier'") + norm, kShape));
    const double limit = std::sqrt(3 / fan);
    EXPECT_NEAR(xavier.deviation, std::sqrt(1 / fan), 0.01 * limit) << norm;
    EXPECT_LT(xavier.most, limit) << norm;
    EXPECT_GT(xavier.most, 0.999 * limit) << norm;
    EXPECT_GT(xavier.least, -limit - 1e-12) << norm;
    const Moments msra = moments(filled(std::string("type: 'msra'") + norm, kShape));
    EXPECT_NEAR(msra.deviation, std::sqrt(2 / fan), 0.015 * std::sqrt(2 / fan)) << norm;
    EXPECT_NEAR(msra.mean, 0, 0.02 * std::sqrt(2 / fan)) << norm;
  }
  EXPECT_NEAR(moments(filled("type: 'msra' scale: 3", kShape)).deviation, 3 * std::sqrt(2 / 300.0), 0.005);
  // A vector has one input per output, and as many outputs as elements.
  EXPECT_LT(moments(filled("type: 'xavier' variance_norm: FAN_OUT", {10000})).most, std::sqrt(3 / 10000.0));
}

TEST(FillerTest, Bilinear) {
  const std::vector<double> kernel = filled("type: 'bilinear'", {2, 1, 4, 4});
  const double row[] = {0.25, 0.75, 0.75, 0.25};
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(kernel[i], row[i / 4 % 4] * row[i % 4], 1e-15);
  const std::vector<double> odd = filled("type: 'bilinear'", {1, 1, 3, 3});
  EXPECT_NEAR(odd[0], 0.25, 1e-15);
  EXPECT_NEAR(odd[4], 1, 1e-15);
}

TEST(FillerTest, StaticNamesMeanTheSame) {
  for (const std::string type : {"uniform", "gaussian", "positive_unitball", "xavier", "msra"}) {
    EXPECT_EQ(filled("type: '" + type + "static'", {3, 4, 2, 2}), filled("type: '" + type + "'", {3, 4, 2, 2}));
  }
  EXPECT_EQ(filled("type: 'bilinearstatic'", {1, 1, 4, 4}), filled("type: 'bilinear'", {1, 1, 4, 4}));
}

TEST(FillerTest, DependsOnTheStreamAlone) {
  const std::string text = "type: 'xavier'";
  EXPECT_EQ(filled(text, {8, 8}, 5), filled(text, {8, 8}, 5));
  EXPECT_NE(filled(text, {8, 8}, 5), filled(text, {8, 8}, 6));
}

TEST(FillerTest, SinglePrecisionIsRounded) {
  const Shape shape = {6, 7};
  std::vector<float> single(42);
  PhiloxStream random(1);
  fill(filler("type: 'gaussian'"), shape, random, DType::kF32, single.data());
  const std::vector<double> full = filled("type: 'gaussian'", shape);
  for (size_t i = 0; i < 42; ++i) EXPECT_EQ(single[i], static_cast<float>(full[i]));
}

TEST(FillerTest, RefusesBadFillers) {
  const auto bad = [](const std::string& text, const Shape& shape, const std::string& cause, const std::string& field) {
    try {
      check_filler(filler(text), shape, "scale_param.filler");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kConfig);
      EXPECT_NE(error.cause().find(cause), std::string::npos) << error.what();
      EXPECT_EQ(error.field(), "scale_param.filler." + field);
    }
  };
  bad("type: 'xaviar'", {2, 2}, "did you mean \"xavier\"", "type");
  bad("type: 'constantstatic'", {2, 2}, "unknown filler type", "type");
  bad("type: 'static'", {2, 2}, "unknown filler type", "type");
  bad("type: 'uniform' min: 1 max: 0", {2, 2}, "min 1 above max 0", "min");
  bad("type: 'uniform' min: nan", {2, 2}, "min nan", "min");
  bad("type: 'gaussian' std: -1", {2, 2}, "negative std", "std");
  bad("type: 'gaussian' sparse: 3", {2, 2}, "sparse 3 exceeds", "sparse");
  bad("type: 'xavier' sparse: 1", {2, 2}, "cannot be sparse", "sparse");
  bad("type: 'xavier'", {}, "scalar", "type");
  bad("type: 'positive_unitball'", {}, "scalar", "type");
  bad("type: 'bilinear'", {2, 2, 3}, "bilinear", "type");
  bad("type: 'bilinear'", {2, 2, 3, 4}, "bilinear", "type");
}

}  // namespace
}  // namespace robusta::test::filler_test
