// Loops over one block of channels, vectorised over its N lanes. Sums are carried in floats over a run of pixels, then
// in doubles.

#include "layers/types/batch_norm/channel_blocks.h"

#include <algorithm>

#include "base/simd.h"
#include "base/stored_lanes.h"

namespace robusta::channel_blocks {
namespace {

template <int N>
__attribute__((always_inline)) inline void add_lanes(const Floats<N>& from, double* to) {
  for (int lane = 0; lane < N; ++lane) to[lane] += from[lane];
}

/// The gradient before the ReLU, whose argument is computed as normalise_run does it: forward keeps no mask.
template <int N>
__attribute__((always_inline)) inline void mask(const Floats<N>& centred, const Floats<N>& factor,
                                                const Floats<N>& shift, float slope, const Floats<N>& dy,
                                                Floats<N>& g) {
  g = centred * factor + shift > 0 ? dy : dy * slope;
}

// Two chains of sums per result, because one addition waits several cycles for the last.
template <int N>
ROBUSTA_SIMD void moments_run(const float* x, int64_t pixels, const float* origin, double* first, double* second) {
  Floats<N> start, a0 = {}, a1 = {}, b0 = {}, b1 = {};
  load<N>(origin, start);
  int64_t p = 0;
  for (; p + 2 <= pixels; p += 2) {
    Floats<N> u, v;
    load<N>(x + p * N, u);
    load<N>(x + (p + 1) * N, v);
    u -= start, v -= start;
    a0 += u, a1 += v;
    b0 += u * u, b1 += v * v;
  }
  if (p < pixels) {
    Floats<N> u;
    load<N>(x + p * N, u);
    u -= start;
    a0 += u;
    b0 += u * u;
  }
  a0 += a1;
  b0 += b1;
  add_lanes<N>(a0, first);
  add_lanes<N>(b0, second);
}

template <int N>
ROBUSTA_SIMD void normalise_run(const float* x, int64_t pixels, const Affine& affine, float* y) {
  const Floats<N> mean = floats_at<N>(affine.mean), factor = floats_at<N>(affine.factor);
  const Floats<N> shift = floats_at<N>(affine.shift);
  const float slope = affine.slope;
  for (int64_t p = 0; p < pixels; ++p) {
    Floats<N> z;
    load<N>(x + p * N, z);
    z = (z - mean) * factor + shift;
    store<N>(z > 0 ? z : z * slope, y + p * N);
  }
}

template <int N>
ROBUSTA_SIMD void normalise_joined_run(const float* x, const float* other, int64_t pixels, const Affine& affine,
                                       float* y) {
  const Floats<N> mean = floats_at<N>(affine.mean), factor = floats_at<N>(affine.factor);
  const Floats<N> shift = floats_at<N>(affine.shift);
  for (int64_t p = 0; p < pixels; ++p) {
    Floats<N> z, added;
    load<N>(x + p * N, z);
    load<N>(other + p * N, added);
    z = (z - mean) * factor + shift + added;
    store<N>(z > 0 ? z : z * affine.slope, y + p * N);
  }
}

template <int N>
ROBUSTA_SIMD void joined_gradient_run(const float* x, const JoinedGradients<float>& gradients, int64_t pixels,
                                      const Affine& affine, double* first, double* second) {
  const Floats<N> mean = floats_at<N>(affine.mean);
  const float *more = gradients.more, *result = gradients.y;
  Floats<N> a = {}, b = {};
  for (int64_t at = 0; at < pixels * N; at += N) {
    Floats<N> centred, g;
    load<N>(x + at, centred);
    load<N>(gradients.dy + at, g);
    if (more) {
      Floats<N> term;
      load<N>(more + at, term);
      g += term;
    }
    if (result) {
      Floats<N> y;
      load<N>(result + at, y);
      g = y > 0 ? g : g * affine.slope;
    }
    store<N>(g, gradients.g + at);
    a += g;
    b += g * (centred - mean);
  }
  add_lanes<N>(a, first);
  add_lanes<N>(b, second);
}

template <int N>
ROBUSTA_SIMD void gradient_run(const float* x, const float* dy, int64_t pixels, const Affine& affine, double* first,
                               double* second) {
  const Floats<N> mean = floats_at<N>(affine.mean), factor = floats_at<N>(affine.factor);
  const Floats<N> shift = floats_at<N>(affine.shift);
  Floats<N> a = {}, b = {};
  for (int64_t p = 0; p < pixels; ++p) {
    Floats<N> centred, above, g;
    load<N>(x + p * N, centred);
    load<N>(dy + p * N, above);
    centred -= mean;
    mask<N>(centred, factor, shift, affine.slope, above, g);
    a += g;
    b += g * centred;
  }
  add_lanes<N>(a, first);
  add_lanes<N>(b, second);
}

template <int N>
ROBUSTA_SIMD void propagate_run(const float* x, const float* dy, int64_t pixels, const Affine& affine,
                                const float* constant, const float* linear, float* dx) {
  const Floats<N> mean = floats_at<N>(affine.mean), factor = floats_at<N>(affine.factor);
  const Floats<N> shift = floats_at<N>(affine.shift), c = floats_at<N>(constant), l = floats_at<N>(linear);
  for (int64_t p = 0; p < pixels; ++p) {
    Floats<N> centred, above, g;
    load<N>(x + p * N, centred);
    load<N>(dy + p * N, above);
    centred -= mean;
    mask<N>(centred, factor, shift, affine.slope, above, g);
    store<N>(factor * g - c - centred * l, dx + p * N);
  }
}

}  // namespace

template <int N>
void add_moments(const float* x, int64_t pixels, const float* origin, double* first, double* second) {
  for (int64_t p = 0; p < pixels; p += kRun) {
    moments_run<N>(x + p * N, std::min(kRun, pixels - p), origin, first, second);
  }
}

template <int N>
void normalise(const float* x, int64_t pixels, const Affine& affine, float* y) {
  normalise_run<N>(x, pixels, affine, y);
}

template <int N>
void add_gradient_sums(const float* x, const float* dy, int64_t pixels, const Affine& affine, double* first,
                       double* second) {
  for (int64_t p = 0; p < pixels; p += kRun) {
    gradient_run<N>(x + p * N, dy + p * N, std::min(kRun, pixels - p), affine, first, second);
  }
}

template <int N>
void normalise_joined(const float* x, const float* other, int64_t pixels, const Affine& affine, float* y) {
  normalise_joined_run<N>(x, other, pixels, affine, y);
}

template <int N>
void add_joined_sums(const float* x, const JoinedGradients<float>& gradients, int64_t pixels, const Affine& affine,
                     double* first, double* second) {
  for (int64_t p = 0; p < pixels; p += kRun) {
    joined_gradient_run<N>(x + p * N, gradients.from(p * N), std::min(kRun, pixels - p), affine, first, second);
  }
}

template <int N>
void propagate(const float* x, const float* dy, int64_t pixels, const Affine& affine, const float* constant,
               const float* linear, float* dx) {
  propagate_run<N>(x, dy, pixels, affine, constant, linear, dx);
}

#define ROBUSTA_CHANNEL_BLOCKS(N)                                                                                \
  template void add_moments<N>(const float*, int64_t, const float*, double*, double*);                           \
  template void normalise<N>(const float*, int64_t, const Affine&, float*);                                      \
  template void add_gradient_sums<N>(const float*, const float*, int64_t, const Affine&, double*, double*);      \
  template void normalise_joined<N>(const float*, const float*, int64_t, const Affine&, float*);                 \
  template void add_joined_sums<N>(const float*, const JoinedGradients<float>&, int64_t, const Affine&, double*, \
                                   double*);                                                                     \
  template void propagate<N>(const float*, const float*, int64_t, const Affine&, const float*, const float*, float*);
ROBUSTA_CHANNEL_BLOCKS(8)
ROBUSTA_CHANNEL_BLOCKS(16)
#undef ROBUSTA_CHANNEL_BLOCKS

}  // namespace robusta::channel_blocks
