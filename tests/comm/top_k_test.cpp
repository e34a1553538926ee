// The largest elements of a span, with their places.
#include "comm/reduce/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace robusta::test::top_k_test {
namespace {

/// Through the packed form and back.
std::vector<float> largest(const std::vector<float>& values, double share, std::vector<float>* left = nullptr) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<float> packed(top_k::bytes(count, share) / sizeof(float) + 1), back(values.size(), 7);
  auto* const bytes = reinterpret_cast<std::byte*>(packed.data());
  top_k::pack(values.data(), left ? left->data() : nullptr, bytes, count, share);
  top_k::unpack(bytes, back.data(), count, share);
  std::vector<float> sum = back;
  top_k::add_unpacked(bytes, sum.data(), count, share);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_TRUE(sum[i] == back[i] + back[i] || std::isnan(back[i]));
  return back;
}

TEST(TopKTest, TheLargestTravelAndTheRestIsLeft) {
  std::vector<float> left(5);
  EXPECT_EQ(largest({1, -5, 0.5f, 4, -2}, 0.4, &left), (std::vector<float>{0, -5, 0, 4, 0}));
  EXPECT_EQ(left, (std::vector<float>{1, 0, 0.5f, 0, -2}));
  EXPECT_EQ(largest({1, 0, 0.5f, 0, -2}, 0.4, &left), (std::vector<float>{2, 0, 0, 0, -4}))
      << "what was left comes too";
  EXPECT_EQ(left, (std::vector<float>{0, 0, 1, 0, 0}));
}

TEST(TopKTest, AsManyAsTheShareAndAtLeastOne) {
  EXPECT_EQ(top_k::kept(1000, 0.01), 10);
  EXPECT_EQ(top_k::kept(1001, 0.01), 11);
  EXPECT_EQ(top_k::kept(3, 0.01), 1);
  EXPECT_EQ(top_k::kept(0, 0.01), 0);
  EXPECT_EQ(top_k::bytes(1000, 0.01), 60u);
  EXPECT_EQ(largest({}, 0.5), std::vector<float>());
}

TEST(TopKTest, OfEqualOnesTheFirst) {
  EXPECT_EQ(largest({1, -1, 1, 1, 2}, 0.4), (std::vector<float>{1, 0, 0, 0, 2}));
  EXPECT_EQ(largest({0, 0, 0}, 0.5), (std::vector<float>{0, 0, 0}));
}

/// The threshold against a sort, at sizes up to the largest and magnitudes of all exponents.
TEST(TopKTest, AgreesWithASort) {
  for (const int64_t count : {7, 1000, 16384, 65536}) {
    for (const double share : {0.001, 0.1, 0.5}) {
      std::vector<float> values(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        const auto x = static_cast<double>(i * 7919 % 65537);
        values[static_cast<size_t>(i)] = static_cast<float>(std::sin(x) * std::exp2(std::fmod(x, 200) - 100));
      }
      std::vector<float> sorted = values;
      const auto larger = [](float a, float b) { return std::abs(a) > std::abs(b); };
      std::sort(sorted.begin(), sorted.end(), larger);
      const float least = std::abs(sorted[static_cast<size_t>(top_k::kept(count, share) - 1)]);
      const std::vector<float> back = largest(values, share);
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(back[i], std::abs(values[i]) >= least ? values[i] : 0) << i << " of " << count << ", " << share;
      }
    }
  }
}

TEST(TopKTest, WhatIsNotFiniteTravelsFirstAndIsNeverLeft) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> left(4);
  const std::vector<float> back = largest({1e30f, nan, -infinity, 3}, 0.25, &left);
  EXPECT_TRUE(std::isnan(back[1]));
  EXPECT_EQ(left, (std::vector<float>{1e30f, 0, 0, 3}));
}

TEST(TopKTest, PlacesBeyondTheSpanAreThoseOfNobody) {
  std::vector<std::byte> packed(6, std::byte{0xff});
  float values[2] = {1, 2};
  top_k::unpack(packed.data(), values, 2, 0.5);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 0);
}

}  // namespace
}  // namespace robusta::test::top_k_test
