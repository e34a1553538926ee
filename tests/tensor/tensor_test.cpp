#include <gtest/gtest.h>

#include "support/errors.h"
#include "tensor/tensor.h"

namespace robusta::test {
namespace {

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
  explicit Reversed(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const override { return bytes_ + 4; }
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
  size_t bytes_;
};

TEST(Tensor, ALayoutDecidesTheBytesAndTheReorder) {
  const TensorDesc plain{{2, 2}, DType::kF32, nullptr};
  const TensorDesc stored{{2, 2}, DType::kF32, std::make_shared<Reversed>(16)};
  EXPECT_EQ(plain.bytes(), 16u);
  EXPECT_EQ(stored.bytes(), 20u);
  EXPECT_EQ((TensorDesc{{2, 2}, DType::kF64, nullptr}).bytes(), 32u);
  EXPECT_TRUE(is_padded(stored.layout));
  EXPECT_FALSE(is_padded(nullptr));
  EXPECT_TRUE(same_layout(stored.layout, std::make_shared<Reversed>(16)));
  EXPECT_FALSE(same_layout(stored.layout, nullptr));
  EXPECT_TRUE(same_layout(nullptr, nullptr));
  const float numbers[] = {1, 2, 3, 4};
  float there[5] = {}, back[4] = {};
  make_reorder(plain, stored)->run(numbers, there, nullptr);
  EXPECT_EQ(there[0], 4);
  make_reorder(stored, plain)->run(there, back, nullptr);
  EXPECT_TRUE(std::equal(numbers, numbers + 4, back));
}

}  // namespace
}  // namespace robusta::test
