/// Element types. A tensor carries its type at run time; templates stop at a kernel's dispatch.
#pragma once

#include <cstddef>

namespace robusta {

enum class DType { kF32, kF64 };

constexpr size_t size_of(DType type) { return type == DType::kF32 ? 4 : 8; }
constexpr const char* name_of(DType type) { return type == DType::kF32 ? "f32" : "f64"; }

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

/// A value of type T that stands for the type in generic lambdas: `dispatch(dtype, [&](auto t) { using T = decltype(t);
/// })`.
template <typename Body>
decltype(auto) dispatch(DType type, Body&& body) {
  if (type == DType::kF64) return body(double{});
  return body(float{});
}

}  // namespace robusta
