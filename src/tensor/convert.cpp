// Conversions as plain loops, which are bound by memory: a number is rounded to the nearest, as base/half.h says.

#include "tensor/convert.h"

#include "base/parallel.h"
#include "base/simd.h"

namespace robusta {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements

template <typename From, typename To>
ROBUSTA_SIMD void convert_run(const From* __restrict from, To* __restrict to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(static_cast<float>(from[i]), to[i]);
}

}  // namespace

void convert(DType from_type, const void* from, DType to_type, void* to, int64_t count) {
  with_storage(from_type, [&](auto a) {
    with_storage(to_type, [&](auto b) {
      const auto* source = static_cast<const decltype(a)*>(from);
      auto* target = static_cast<decltype(b)*>(to);
      parallel_ranges(count, kGrain,
                      [=](int64_t begin, int64_t end) { convert_run(source + begin, target + begin, end - begin); });
    });
  });
}

}  // namespace robusta
