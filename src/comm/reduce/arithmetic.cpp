// Loops without branches over arrays that do not overlap, which the compiler turns into vectors.

#include "comm/reduce/arithmetic.h"

#include "base/half.h"
#include "base/simd.h"

namespace robusta {
namespace {

ROBUSTA_SIMD void sum(float* __restrict to, const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}
ROBUSTA_SIMD void sum(double* __restrict to, const double* a, const double* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}
ROBUSTA_SIMD void accumulate(float* __restrict to, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}
ROBUSTA_SIMD void accumulate(double* __restrict to, const double* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

ROBUSTA_SIMD void pack_bf16(const float* __restrict from, uint16_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}
ROBUSTA_SIMD void pack_fp16(const float* __restrict from, uint16_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_fp16(from[i]);
}
ROBUSTA_SIMD void unpack_bf16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from_bf16(from[i]);
}
ROBUSTA_SIMD void unpack_fp16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from_fp16(from[i]);
}
ROBUSTA_SIMD void add_bf16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from_bf16(from[i]);
}
ROBUSTA_SIMD void add_fp16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from_fp16(from[i]);
}

}  // namespace

void add_into(const Span& to, const void* a, const void* b) {
  dispatch(to.type, [&](auto t) {
    using T = decltype(t);
    sum(reinterpret_cast<T*>(to.data), static_cast<const T*>(a), static_cast<const T*>(b), to.count);
  });
}

void add(const Span& to, const void* from) {
  dispatch(to.type, [&](auto t) {
    using T = decltype(t);
    accumulate(reinterpret_cast<T*>(to.data), static_cast<const T*>(from), to.count);
  });
}

void pack(Compression format, const float* from, uint16_t* to, int64_t count) {
  (format == Compression::kFp16 ? pack_fp16 : pack_bf16)(from, to, count);
}

void unpack(Compression format, const uint16_t* from, float* to, int64_t count) {
  (format == Compression::kFp16 ? unpack_fp16 : unpack_bf16)(from, to, count);
}

void add_unpacked(Compression format, const uint16_t* from, float* to, int64_t count) {
  (format == Compression::kFp16 ? add_fp16 : add_bf16)(from, to, count);
}

}  // namespace robusta
