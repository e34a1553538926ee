/// The extents of an N-dimensional array in C order (last axis fastest).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace robusta {

class Shape {
 public:
  Shape() = default;  ///< no axes: a scalar, one element
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int axes() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }

  /// Number of elements in axes begin..end-1.
  int64_t count(int begin, int end) const;
  int64_t count(int begin = 0) const { return count(begin, axes()); }

  /// An axis counted from the front; negative ones count from the back. Throws Error{kConfig} when there is no such
  /// axis.
  int canonical_axis(int axis) const;

  /// The axes begin..end-1 alone.
  Shape slice(int begin, int end) const;

  /// "64 1 28 28 (50176)", as Caffe prints it.
  std::string str() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

/// a x b of two that are not negative, the largest number where it would be larger: it fits nothing then.
inline int64_t product_or_most(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

/// Throws Error{kConfig} when an extent is negative or the array would have more than 2^40 elements.
void check_extents(const Shape& shape);

}  // namespace robusta
