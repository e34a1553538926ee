#include "comm/reduce/arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace robusta::test::arithmetic_test {
namespace {

uint16_t packed(Compression format, float value) {
  uint16_t result = 0;
  pack(format, &value, &result, 1);
  return result;
}

float unpacked(Compression format, uint16_t value) {
  float result = 0;
  unpack(format, &value, &result, 1);
  return result;
}

/// The value of an fp16 by its definition.
double fp16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

TEST(ArithmeticTest, EveryFp16IsUnpackedExactlyAndPackedBack) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = unpacked(Compression::kFp16, bits);
    if ((bits & 0x7c00) != 0x7c00) {
      ASSERT_EQ(value, fp16_value(bits));
      ASSERT_EQ(packed(Compression::kFp16, value), bits);
    } else if (bits & 0x3ff) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_TRUE(std::isnan(unpacked(Compression::kFp16, packed(Compression::kFp16, value))));
    } else {
      ASSERT_EQ(value, bits & 0x8000 ? -INFINITY : INFINITY);
      ASSERT_EQ(packed(Compression::kFp16, value), bits);
    }
  }
}

// Halfway between two neighbours goes to the even one, a hair beside it to the nearer.
TEST(ArithmeticTest, Fp16RoundsToNearestEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto next = static_cast<uint16_t>(bits + 1);
    const auto middle = static_cast<float>((fp16_value(bits) + fp16_value(next)) / 2);
    ASSERT_EQ(packed(Compression::kFp16, middle), bits % 2 ? next : bits) << bits;
    ASSERT_EQ(packed(Compression::kFp16, std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(packed(Compression::kFp16, -std::nextafter(middle, 1e9f)), next | 0x8000);
  }
  EXPECT_EQ(packed(Compression::kFp16, 65519.99f), 0x7bff);
  EXPECT_EQ(packed(Compression::kFp16, 65520.0f), 0x7c00);
  EXPECT_EQ(packed(Compression::kFp16, -1e30f), 0xfc00);
  EXPECT_EQ(packed(Compression::kFp16, 1e-30f), 0);
}

TEST(ArithmeticTest, Bf16RoundsToNearestEven) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = unpacked(Compression::kBf16, bits);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), i << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(unpacked(Compression::kBf16, packed(Compression::kBf16, value))));
      continue;
    }
    ASSERT_EQ(packed(Compression::kBf16, value), bits);
    if (std::isinf(value)) continue;
    const auto middle = std::bit_cast<float>(i << 16 | 0x8000u);
    ASSERT_EQ(packed(Compression::kBf16, middle), bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(packed(Compression::kBf16, std::bit_cast<float>(i << 16 | 0x7fffu)), bits);
    ASSERT_EQ(packed(Compression::kBf16, std::bit_cast<float>(i << 16 | 0x8001u)), bits + 1);
  }
  // A NaN all of whose upper bits are clear must not become infinite.
  EXPECT_TRUE(std::isnan(unpacked(Compression::kBf16, packed(Compression::kBf16, std::bit_cast<float>(0x7f800001u)))));
}

TEST(ArithmeticTest, Sums) {
  for (const size_t count : {0u, 1u, 7u, 64u, 1001u}) {
    std::vector<float> a(count), b(count), sum(count);
    std::vector<uint16_t> half(count);
    for (size_t i = 0; i < count; ++i) a[i] = static_cast<float>(i), b[i] = 0.5f;
    const Span into{reinterpret_cast<std::byte*>(sum.data()), static_cast<int64_t>(count), DType::kF32};
    add_into(into, a.data(), b.data());
    add(into, b.data());
    for (const Compression format : {Compression::kFp16, Compression::kBf16}) {
      pack(format, b.data(), half.data(), into.count);
      add_unpacked(format, half.data(), sum.data(), into.count);
    }
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], static_cast<float>(i) + 2);
  }
}

TEST(SpanTest, PiecesCoverTheWholeOnce) {
  for (const int64_t count : {0, 1, 15, 16, 17, 100, 1000}) {
    for (int pieces = 1; pieces <= 9; ++pieces) {
      std::vector<float> data(static_cast<size_t>(count) + 1);
      const Span span{reinterpret_cast<std::byte*>(data.data()), count, DType::kF32};
      std::byte* next = span.data;
      for (int i = 0; i < pieces; ++i) {
        const Span piece = span.piece(i, pieces);
        ASSERT_EQ(piece.data, next);
        ASSERT_GE(piece.count, 0);
        ASSERT_LE(piece.count, count / pieces + 2 * Span::kGrain);
        next = piece.data + piece.bytes();
      }
      ASSERT_EQ(next, span.data + span.bytes());
    }
  }
}

}  // namespace robusta::test::arithmetic_test
