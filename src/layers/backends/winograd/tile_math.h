/// The transforms of Winograd's minimal filtering on six points: 0, 1, -1, 2, -2 and infinity.
///
/// A filter of r taps gives m = 7 - r results from six inputs with six products: F(4, 3) and F(2, 5), nested for two
/// axes (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4; the arithmetic is
/// Winograd's, "Arithmetic Complexity of Computations", 1980):
///
///     results = A^T [ (G taps) * (B^T inputs) ]
///             = output_transform<m>(kScale * filter_transform<r>(taps) * input_transform(inputs))
///
/// Taps and results are coefficients of polynomials, of which the filter transform G takes the values at the points (a
/// Vandermonde matrix; its row factors are kept apart in kScale). The output transform A^T is the transpose of the same
/// matrix with m columns, and the input transform B^T, which serves all r, interpolates. How the choice of points
/// bounds the rounding: Vincent et al., "On Improving the Numerical Stability of Winograd Convolutions", 2017.
///
/// For use inside of ROBUSTA_SIMD functions; as many channels at a time as a vector has lanes.
#pragma once

#include "base/vector_types.h"

namespace robusta::winograd {

inline constexpr int kPoints = 6;

/// Of the taps' values: 1 over the product of the distances to the other points.
inline constexpr float kScale[kPoints] = {1.0f / 4, -1.0f / 6, -1.0f / 6, 1.0f / 24, 1.0f / 24, 1.0f};

#define ROBUSTA_INLINE __attribute__((always_inline)) inline

/// G without its row factors, of K coefficients: y[i] = x[0] + p_i x[1] + p_i^2 x[2] + ...; at infinity the last
/// coefficient.
template <int K, typename Vector>
ROBUSTA_INLINE void filter_transform(const Vector (&x)[K], Vector (&y)[kPoints]) {
  Vector even1 = x[0], even2 = x[0], odd1 = x[1], odd2 = x[1];
  if constexpr (K > 2) even1 += x[2], even2 += 4.0f * x[2];
  if constexpr (K > 3) odd1 += x[3], odd2 += 4.0f * x[3];
  if constexpr (K > 4) even1 += x[4], even2 += 16.0f * x[4];
  y[0] = x[0];
  y[1] = even1 + odd1;
  y[2] = even1 - odd1;
  y[3] = even2 + 2.0f * odd2;
  y[4] = even2 - 2.0f * odd2;
  y[5] = x[K - 1];
}

/// A^T: x[j] = sum of p_i^j y[i], the transpose of filter_transform.
template <int K, typename Vector>
ROBUSTA_INLINE void output_transform(const Vector (&y)[kPoints], Vector (&x)[K]) {
  const Vector sum1 = y[1] + y[2], difference1 = y[1] - y[2];
  const Vector sum2 = y[3] + y[4], difference2 = 2.0f * (y[3] - y[4]);
  x[0] = y[0] + sum1 + sum2;
  x[1] = difference1 + difference2;
  if constexpr (K > 2) x[2] = sum1 + 4.0f * sum2;
  if constexpr (K > 3) x[3] = difference1 + 4.0f * difference2;
  if constexpr (K > 4) x[4] = sum1 + 16.0f * sum2;
  x[K - 1] += y[5];
}

/// B^T.
template <typename Vector>
ROBUSTA_INLINE void input_transform(const Vector (&x)[kPoints], Vector (&y)[kPoints]) {
  const Vector even1 = x[4] - 4.0f * x[2], odd1 = x[3] - 4.0f * x[1];
  const Vector even2 = x[4] - x[2], odd2 = 2.0f * (x[3] - x[1]);
  y[0] = 4.0f * x[0] - 5.0f * x[2] + x[4];
  y[1] = even1 + odd1;
  y[2] = even1 - odd1;
  y[3] = even2 + odd2;
  y[4] = even2 - odd2;
  y[5] = 4.0f * x[1] - 5.0f * x[3] + x[5];
}

/// Applies a transform of one axis to the rows, then to the columns.
template <int From, int To, typename Vector, typename Step>
ROBUSTA_INLINE void transform_2d(const Vector (&x)[From][From], Vector (&y)[To][To], const Step& step) {
  Vector half[From][To];
#pragma GCC unroll 6
  for (int i = 0; i < From; ++i) step(x[i], half[i]);
#pragma GCC unroll 6
  for (int j = 0; j < To; ++j) {
    Vector column[From], result[To];
#pragma GCC unroll 6
    for (int i = 0; i < From; ++i) column[i] = half[i][j];
    step(column, result);
#pragma GCC unroll 6
    for (int i = 0; i < To; ++i) y[i][j] = result[i];
  }
}

}  // namespace robusta::winograd
