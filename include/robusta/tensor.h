/// Views of arrays that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "robusta/export.h"

namespace robusta::ROBUSTA_V1 {

enum class DType { kF32, kF64, kBF16, kF16 };

/// Bytes of an element.
constexpr size_t size_of(DType type) { return type == DType::kF64 ? 8 : type == DType::kF32 ? 4 : 2; }

/// The extents of an array, slowest axis first (images: batch, channels, height, width). None: a scalar, one element.
using Shape = std::vector<int64_t>;

constexpr int64_t count(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

/// An array in memory of the host, or, for the layers of a plugin that runs on a GPU, of the device.
///
/// Who hands out a view says how long it holds. Null data: the array is not there (a gradient that nobody wants).
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<int64_t> strides;  ///< per axis, in elements; C order has {..., shape[2], 1}

  explicit operator bool() const { return data != nullptr; }
  int64_t count() const { return v1::count(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(dtype); }
  /// REQUIRES: T is the type that dtype says, and the strides are those of C order.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <typename T>
  std::span<T> elements() const {
    return {as<T>(), static_cast<size_t>(count())};
  }
};

/// The view of a whole array in C order.
inline TensorView plain_view(void* data, DType dtype, Shape shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return {data, dtype, std::move(shape), std::move(strides)};
}

}  // namespace robusta::ROBUSTA_V1
