#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.h"
#include "tensor/tensor.h"

namespace robusta::test {
namespace {

TEST(Shape, TextOfAnyExtents) {
  EXPECT_EQ(Shape({2, 3}).str(), "2 3 (6)");
  EXPECT_EQ(Shape({INT64_MAX, 3, 0}).str(), "9223372036854775807 3 0 (too many)");
}

TEST(Shape, CountsRangesOfAxes) {
  const Shape shape{2, 3, 5, 7};
  EXPECT_EQ(shape.count(), 210);
  EXPECT_EQ(shape.count(1), 105);
  EXPECT_EQ(shape.count(1, 3), 15);
  EXPECT_EQ(shape.count(2, 2), 1);
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ((Shape{4, 0, 3}).count(), 0);
  EXPECT_EQ(shape.str(), "2 3 5 7 (210)");
  EXPECT_EQ(shape.slice(1, 3), (Shape{3, 5}));
}

TEST(Shape, AxesCountFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.canonical_axis(1), 1);
  EXPECT_EQ(shape.canonical_axis(-1), 2);
  EXPECT_EQ(shape.canonical_axis(-3), 0);
  for (const int axis : {3, -4}) {
    EXPECT_EQ(error_of([&] { shape.canonical_axis(axis); }).kind(), ErrorKind::kConfig);
  }
}

TEST(Shape, RefusesExtentsThatCannotBe) {
  check_extents({1 << 20, 1 << 20});
  for (const Shape& shape : {Shape{2, -1}, Shape{1 << 20, 1 << 21}, Shape{1ll << 40, 1ll << 40}}) {
    EXPECT_EQ(error_of([&] { check_extents(shape); }).kind(), ErrorKind::kConfig);
  }
}

/// Elements in reverse order, with one more at the end.
class Reversed : public StoredLayout {
 public:
  explicit Reversed(int64_t elements) : elements_(elements) {}
  int64_t elements() const override { return elements_ + 1; }
  std::string name() const override { return "reversed"; }
  bool padded() const override { return true; }
  bool same_as(const StoredLayout& other) const override { return dynamic_cast<const Reversed*>(&other) != nullptr; }
  std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to) const override {
    struct Turn : Reorder {
      int64_t count;
      void run(const void* in, void* out, void*, Stream*) override {
        for (int64_t i = 0; i < count; ++i) static_cast<float*>(out)[count - 1 - i] = static_cast<const float*>(in)[i];
      }
    };
    auto turn = std::make_unique<Turn>();
    turn->count = from.count();
    return turn;
  }

 private:
  int64_t elements_;
};

TEST(Tensor, ALayoutDecidesTheBytesAndTheReorder) {
  const TensorDesc plain{{2, 2}, DType::kF32, nullptr};
  const TensorDesc stored{{2, 2}, DType::kF32, std::make_shared<Reversed>(4)};
  EXPECT_EQ(plain.bytes(), 16u);
  EXPECT_EQ(stored.bytes(), 20u);
  EXPECT_EQ((TensorDesc{{2, 2}, DType::kF64, nullptr}).bytes(), 32u);
  EXPECT_TRUE(is_padded(stored.layout));
  EXPECT_FALSE(is_padded(nullptr));
  EXPECT_TRUE(same_layout(stored.layout, std::make_shared<Reversed>(4)));
  EXPECT_FALSE(same_layout(stored.layout, nullptr));
  EXPECT_TRUE(same_layout(nullptr, nullptr));
  const float numbers[] = {1, 2, 3, 4};
  float there[5] = {}, back[4] = {};
  make_reorder(plain, stored)->run(numbers, there, nullptr);
  EXPECT_EQ(there[0], 4);
  make_reorder(stored, plain)->run(there, back, nullptr);
  EXPECT_TRUE(std::equal(numbers, numbers + 4, back));
}

/// Every finite value of a 16-bit type, its neighbours' midpoint included: ties go to the even one.
template <typename T>
void expect_rounds_to_nearest_even(uint16_t infinity) {
  const auto value = [](uint16_t bits) {
    T stored;
    stored.bits = bits;
    return static_cast<float>(stored);
  };
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const float here = value(bits), sign = -here;
    ASSERT_EQ(T(here).bits, bits);
    ASSERT_EQ(T(sign).bits, bits | 0x8000);
    if (bits + 1 == infinity) break;
    const float next = value(static_cast<uint16_t>(bits + 1));
    ASSERT_LT(here, next);
    const float middle = static_cast<float>((static_cast<double>(here) + next) / 2);
    const auto even = static_cast<uint16_t>(bits + (bits & 1));
    ASSERT_EQ(T(middle).bits, even) << middle;
    ASSERT_EQ(T(std::nextafter(middle, here)).bits, bits);
    ASSERT_EQ(T(std::nextafter(middle, next)).bits, bits + 1);
  }
  EXPECT_EQ(T(std::numeric_limits<float>::infinity()).bits, infinity);
  EXPECT_EQ(T(std::numeric_limits<float>::max()).bits, infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, SixteenBitsRoundToNearestEven) {
  expect_rounds_to_nearest_even<Half>(0x7c00);
  expect_rounds_to_nearest_even<BFloat16>(0x7f80);
  EXPECT_EQ(static_cast<float>(Half(65519.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Half(65520.0f)), std::numeric_limits<float>::infinity());
}

TEST(DType, ArraysOfAnyTypeComeAndGoAsFloats) {
  const std::vector<float> numbers = {1, -2.5f, 0, 1024, 0.0078125f};
  for (const DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    std::vector<char> memory(numbers.size() * size_of(type));
    std::vector<float> back(numbers.size());
    from_floats(type, numbers.data(), memory.data(), numbers.size());
    to_floats(type, memory.data(), back.data(), back.size());
    EXPECT_EQ(back, numbers) << name_of(type);
  }
  EXPECT_EQ((TensorDesc{{2, 3}, DType::kF16, nullptr}).bytes(), 12u);
  EXPECT_EQ((TensorDesc{{2, 3}, DType::kBF16, std::make_shared<Reversed>(6)}).bytes(), 14u);
}

}  // namespace
}  // namespace robusta::test
