// Reorders of the GPU, emulated: every element arrives, from plain to channels last and back, between all types.

#include <gtest/gtest.h>

#include <vector>

#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// Small whole numbers, which all types hold.
float value_at(int64_t i) { return static_cast<float>(i * 37 % 251); }

/// `desc` filled so that logical element i (in plain order) holds value_at(i); `apart` elements in front of it.
template <typename T>
std::vector<T> filled(const TensorDesc& desc, size_t apart) {
  const ChannelExtents e = channel_extents(desc.shape);
  std::vector<T> memory(apart + static_cast<size_t>(desc.shape.count()), static_cast<T>(-1.0f));
  for (int64_t i = 0; i < desc.shape.count(); ++i) {
    const int64_t pixel = i % e.pixels, channel = i / e.pixels % e.channels, item = i / (e.pixels * e.channels);
    const int64_t place = is_channels_last(desc.layout) ? (item * e.pixels + pixel) * e.channels + channel : i;
    memory[apart + static_cast<size_t>(place)] = static_cast<T>(value_at(i));
  }
  return memory;
}

template <typename From, typename To>
void check(const TensorDesc& from, const TensorDesc& to, size_t apart) {
  const std::vector<From> given = filled<From>(from, 0);
  const std::vector<To> want = filled<To>(to, apart);
  std::vector<To> got(want.size(), static_cast<To>(-1.0f));
  make_reorder("emulated", from, to)->run(given.data(), got.data() + apart, nullptr, nullptr);
  int64_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) wrong += static_cast<float>(got[i]) != static_cast<float>(want[i]);
  EXPECT_EQ(wrong, 0) << from.shape.str() << " " << name_of(from.dtype) << " to " << name_of(to.dtype) << ", "
                      << (is_channels_last(to.layout) ? "channels last" : "plain") << ", " << apart << " apart";
}

TEST(ReorderGpu, EveryElementArrives) {
  const DType types[] = {DType::kF32, DType::kBF16, DType::kF16};
  for (const Shape& shape :
       {Shape{2, 3, 5, 7}, Shape{5, 3, 4, 4}, Shape{2, 16, 3, 3}, Shape{3, 2, 3}, Shape{0, 3, 2}}) {
    const Layout last = channels_last({shape, DType::kF32, nullptr});
    for (const DType a : types) {
      for (const DType b : types) {
        with_storage(a, [&](auto from) {
          with_storage(b, [&](auto to) {
            for (const size_t apart : {0, 1}) {
              check<decltype(from), decltype(to)>({shape, a, nullptr}, {shape, b, last}, apart);
              check<decltype(from), decltype(to)>({shape, a, last}, {shape, b, nullptr}, apart);
              if (a != b) check<decltype(from), decltype(to)>({shape, a, last}, {shape, b, last}, apart);
            }
          });
        });
      }
    }
  }
}

}  // namespace
}  // namespace robusta
