/// The leaky rectifier, max(0, x) + slope * min(0, x) (Maas, Hannun, Ng 2013): ReLU, PReLU, and sums with a ReLU on
/// top.
///
/// constexpr: GPU kernels may call it, too.
#pragma once

namespace robusta {

template <typename T>
constexpr T rectified(T x, T slope) {
  return x > 0 ? x : slope * x;
}

/// The gradient with respect to x, of the one with respect to the result. `sign`: x, or the result where slope >= 0.
template <typename T>
constexpr T rectified_gradient(T sign, T dy, T slope) {
  return sign > 0 ? dy : slope * dy;
}

}  // namespace robusta
