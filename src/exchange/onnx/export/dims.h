/// Extents of a value in an exported graph, of which some may follow the batch.
///
/// With a batch that is known they are plain numbers. With a dynamic one the net has been built for two batches, and
/// what has grown with them is a multiple of the batch: `value` is its extent in the first of the two.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace robusta {

struct Dim {
  int64_t value = 1;
  int batch_power = 0;  ///< 1: proportional to the batch; more cannot be said in ONNX
  friend bool operator==(const Dim&, const Dim&) = default;
};
inline Dim operator*(const Dim& a, const Dim& b) { return {a.value * b.value, a.batch_power + b.batch_power}; }

using Dims = std::vector<Dim>;

/// Axes begin..end-1 as one.
inline Dim merged(const Dims& dims, int begin, int end) {
  Dim product;
  for (int axis = begin; axis < end; ++axis) product = product * dims[static_cast<size_t>(axis)];
  return product;
}

inline Dims fixed(const Shape& shape) {
  Dims dims;
  for (const int64_t extent : shape.dims()) dims.push_back({extent});
  return dims;
}

inline Shape shape_of(const Dims& dims) {
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) extents.push_back(dim.value);
  return Shape(std::move(extents));
}

}  // namespace robusta
