/// The arithmetic of a batch normalisation on one block of N channels of one sample, which lie side by side, and one
/// pixel after the other (as in nChw16c). Per-channel arrays have N elements.
#pragma once

#include <cstdint>

namespace robusta::channel_blocks {

/// Sums over pixels go through floats in runs this long, and from there into doubles. Longer runs would round more,
/// shorter ones convert more often than they add.
inline constexpr int64_t kRun = 256;

/// y = relu((x - mean) * factor + shift), where relu multiplies what is not positive by `slope`; slope 1: no ReLU.
struct Affine {
  const float *mean, *factor, *shift;
  float slope;
};

/// What a result has to which something was added after the normalisation: its gradient, which may be a sum of two, and
/// the one before the ReLU, which is also that of what was added.
template <typename Stored>
struct JoinedGradients {
  const Stored* dy;
  const Stored* more;  ///< the second term; null: zeros
  const Stored* y;     ///< the result; null: there is no ReLU
  Stored* g;           ///< is written; may be dy

  JoinedGradients from(int64_t at) const { return {dy + at, more ? more + at : nullptr, y ? y + at : nullptr, g + at}; }
};

/// first += sum(x - origin), second += sum((x - origin)^2).
template <int N>
void add_moments(const float* x, int64_t pixels, const float* origin, double* first, double* second);

/// May work in place.
template <int N>
void normalise(const float* x, int64_t pixels, const Affine& affine, float* y);

/// The same of (x - mean) * factor + shift + other. May work in place on either.
template <int N>
void normalise_joined(const float* x, const float* other, int64_t pixels, const Affine& affine, float* y);

/// With g the gradient before the ReLU: first += sum(g), second += sum(g * (x - mean)).
template <int N>
void add_gradient_sums(const float* x, const float* dy, int64_t pixels, const Affine& affine, double* first,
                       double* second);

/// The same where something was added: g = dy + more, times affine.slope where y is not positive, is written, too.
template <int N>
void add_joined_sums(const float* x, const JoinedGradients<float>& gradients, int64_t pixels, const Affine& affine,
                     double* first, double* second);

/// dx = factor * g - constant - (x - mean) * linear. May work in place on dy.
template <int N>
void propagate(const float* x, const float* dy, int64_t pixels, const Affine& affine, const float* constant,
               const float* linear, float* dx);

}  // namespace robusta::channel_blocks
