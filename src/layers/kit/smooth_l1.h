/// The smooth L1 distance (Girshick 2015, "Fast R-CNN", equation 3; with sigma: Ren et al. 2015, "Faster R-CNN"):
///   f(d) = (sigma d)^2 / 2 for |d| < 1 / sigma^2, |d| - 1 / (2 sigma^2) else
///
/// For formulas over the functions of math.h, on GPUs, too.
#pragma once

#include "base/half.h"

namespace robusta {

template <typename Math>
struct SmoothL1 {
  using T = typename Math::T;
  ROBUSTA_HOST_DEVICE explicit SmoothL1(T sigma = 1) : square(sigma * sigma), end(1 / square) {}
  ROBUSTA_HOST_DEVICE T value(T d) const {
    const T size = Math::abs(d);
    return size < end ? square * d * d / 2 : size - end / 2;
  }
  ROBUSTA_HOST_DEVICE T slope(T d) const { return Math::abs(d) < end ? square * d : static_cast<T>((d > 0) - (d < 0)); }

  T square, end;  ///< sigma^2, and where the parabola ends
};

}  // namespace robusta
