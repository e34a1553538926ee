// Blocks of 8 bits with a scale.
#include "comm/reduce/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace robusta::test::int8_test {
namespace {

/// Through 8 bits and back.
std::vector<float> rounded(const std::vector<float>& values, std::vector<float>* left = nullptr) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<float> packed((int8::bytes(count) + 3) / sizeof(float)), back(values.size());
  auto* const bytes = reinterpret_cast<std::byte*>(packed.data());
  int8::pack(values.data(), left ? left->data() : nullptr, bytes, count);
  int8::unpack(bytes, back.data(), count);
  std::vector<float> sum = back;
  int8::add_unpacked(bytes, sum.data(), count);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_TRUE(sum[i] == back[i] + back[i] || std::isnan(back[i]));
  return back;
}

TEST(Int8Test, ABlockHasItsScale) {
  std::vector<float> values(2 * int8::kBlock + 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * (i < 256 ? 1e-3f : 1e3f);
  values[7] = 1.27e-3f;
  std::vector<float> left(values.size());
  const std::vector<float> back = rounded(values, &left);
  EXPECT_EQ(int8::bytes(static_cast<int64_t>(values.size())), values.size() + 3 * sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::abs(values[i] - back[i]), (i < 256 ? 1.27e-3f : 1e3f) / 127 * 0.501f) << i;
    EXPECT_FLOAT_EQ(left[i] + back[i], values[i]) << i;
  }
  EXPECT_FLOAT_EQ(back[7], values[7]) << "the largest is exact";
}

TEST(Int8Test, WhatIsLeftComesNextTime) {
  std::vector<float> left(2);
  const std::vector<float> values{127, 0.3f};
  double sum = 0;
  for (int i = 0; i < 10; ++i) sum += rounded(values, &left)[1];
  EXPECT_EQ(sum, 3);
}

TEST(Int8Test, TiesGoToEven) {
  const std::vector<float> values{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.4f, -127};
  EXPECT_EQ(rounded(values), (std::vector<float>{127, 0, 2, 2, 0, -2, 126, -127}));
}

TEST(Int8Test, ZeroesAndDust) {
  EXPECT_EQ(rounded({0, -0.0f}), (std::vector<float>{0, 0}));
  std::vector<float> left(1);
  EXPECT_EQ(rounded({1e-38f}, &left)[0], 0);
  EXPECT_EQ(left[0], 1e-38f) << "it is not lost";
}

TEST(Int8Test, WhatIsNotFiniteStaysSo) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {kInf, -kInf, std::nanf("")}) {
    std::vector<float> left{1, 2};
    EXPECT_TRUE(std::isnan(rounded({1, bad}, &left)[0]));
    EXPECT_EQ(left, (std::vector<float>{0, 0}));
  }
}

}  // namespace
}  // namespace robusta::test::int8_test
