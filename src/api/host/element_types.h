/// The arrays of a net in f32 or f64 as floats, which is what the code of layers of type "Python" sees.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace robusta::v1 {

/// `from`: on the host, plain, f32 or f64.
inline std::vector<float> to_floats(const Tensor& from) {
  std::vector<float> floats(static_cast<size_t>(from.count()));
  dispatch(from.desc.dtype, [&](auto t) {
    const auto* numbers = from.as<decltype(t)>();
    std::transform(numbers, numbers + floats.size(), floats.begin(), [](auto x) { return static_cast<float>(x); });
  });
  return floats;
}

/// REQUIRES: as many floats as `to` has elements.
inline void from_floats(std::span<const float> floats, const Tensor& to) {
  dispatch(to.desc.dtype, [&](auto t) {
    using T = decltype(t);
    std::transform(floats.begin(), floats.end(), to.as<T>(), [](float x) { return static_cast<T>(x); });
  });
}

}  // namespace robusta::v1
