/// Element types. A tensor carries its type at run time; templates stop at a kernel's dispatch.
///
/// Parameters, gradients of parameters and histories are f32 (f64 in tests). The 16-bit types store activations and
/// their gradients, f16 on a GPU alone; kernels compute in float.
#pragma once

#include <cassert>
#include <cstddef>

#include "base/half.h"

namespace robusta {

enum class DType { kF32, kF64, kBF16, kF16 };

constexpr bool is_16_bit(DType type) { return type == DType::kBF16 || type == DType::kF16; }
constexpr size_t size_of(DType type) { return is_16_bit(type) ? 2 : type == DType::kF32 ? 4 : 8; }
constexpr const char* name_of(DType type) {
  constexpr const char* kNames[] = {"f32", "f64", "bf16", "f16"};
  return kNames[static_cast<int>(type)];
}

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kF32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kF64;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::kBF16;
}
template <>
constexpr DType dtype_of<Half>() {
  return DType::kF16;
}

/// A value of type T that stands for the type in generic lambdas: `dispatch(dtype, [&](auto t) { using T = decltype(t);
/// })`. REQUIRES: f32 or f64, the types that the host computes in.
template <typename Body>
decltype(auto) dispatch(DType type, Body&& body) {
  assert(!is_16_bit(type));
  if (type == DType::kF64) return body(double{});
  return body(float{});
}

/// The same over the types that a GPU stores. REQUIRES: not f64.
template <typename Body>
decltype(auto) with_storage(DType type, Body&& body) {
  assert(type != DType::kF64);
  if (type == DType::kBF16) return body(BFloat16{});
  if (type == DType::kF16) return body(Half{});
  return body(float{});
}

/// The same over all types.
template <typename Body>
decltype(auto) with_any(DType type, Body&& body) {
  return is_16_bit(type) ? with_storage(type, body) : dispatch(type, body);
}

/// Between floats and elements of any type, in host memory.
inline void to_floats(DType type, const void* from, float* to, size_t count) {
  with_any(type, [&](auto t) {
    const auto* elements = static_cast<const decltype(t)*>(from);
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
  });
}
inline void from_floats(DType type, const float* from, void* to, size_t count) {
  with_any(type, [&](auto t) {
    auto* elements = static_cast<decltype(t)*>(to);
    for (size_t i = 0; i < count; ++i) elements[i] = static_cast<decltype(t)>(from[i]);
  });
}

}  // namespace robusta
