// The transforms of filters. Some outputs of one input are turned into vectors first, since plain weights have the
// taps innermost.

#include "layers/backends/winograd/filters.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/winograd/tile_math.h"

namespace robusta::winograd {
namespace {

/// Outputs of one input, of which a vector has `lanes`.
template <int kLanes, int R>
ROBUSTA_SIMD void filter_block(const FilterView& view, const float* weights, int64_t lanes, int64_t stride, float* to) {
  using Vector = Floats<kLanes>;
  alignas(64) float taps[R * R][kLanes] = {};
  for (int64_t lane = 0; lane < lanes; ++lane) {
    for (int t = 0; t < R * R; ++t) {
      taps[t][lane] = weights[lane * view.output_stride + (view.mirrored ? R * R - 1 - t : t)];
    }
  }
  Vector filter[R][R], points[kPoints][kPoints];
  for (int t = 0; t < R * R; ++t) filter[t / R][t % R] = floats_at<kLanes>(taps[t]);
  transform_2d<R, kPoints>(
      filter, points,
      [](const Vector(&x)[R], Vector(&y)[kPoints]) __attribute__((always_inline)) { filter_transform<R>(x, y); });
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      floats_at<kLanes>(to + (i * kPoints + j) * stride) = points[i][j] * (kScale[i] * kScale[j]);
    }
  }
}

template <int kLanes, int R>
ROBUSTA_SIMD void filter_gradient_block(const FilterView& view, const float* sums, int64_t parts, int64_t lanes,
                                        bool add, float* weights) {
  using Vector = Floats<kLanes>;
  Vector points[kPoints][kPoints], filter[R][R];
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      Vector sum = {};
      for (int64_t part = 0; part < parts; ++part) {
        sum += floats_at<kLanes>(sums + part * view.transformed() + (i * kPoints + j) * view.stride());
      }
      points[i][j] = sum * (kScale[i] * kScale[j]);
    }
  }
  transform_2d<kPoints, R>(
      points, filter,
      [](const Vector(&x)[kPoints], Vector(&y)[R]) __attribute__((always_inline)) { output_transform<R>(x, y); });
  for (int t = 0; t < R * R; ++t) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      float& weight = weights[lane * view.output_stride + t];
      weight = (add ? weight : 0.0f) + filter[t / R][t % R][lane];
    }
  }
}

template <int kLanes>
void transform(const FilterView& view, const float* weights, float* to) {
  const auto block = view.taps == 3 ? filter_block<kLanes, 3> : filter_block<kLanes, 5>;
  const int64_t inputs = view.padded_inputs(), outputs = view.padded_outputs();
  parallel_for(outputs / kLanes * inputs, 64, [=, &view](int64_t i) {
    const int64_t output = i / inputs * kLanes, input = i % inputs;
    const int64_t lanes = input < view.inputs ? std::min<int64_t>(kLanes, view.outputs - output) : 0;
    const float* from = lanes > 0 ? weights + output * view.output_stride + input * view.input_stride : weights;
    block(view, from, lanes, view.stride(), to + i * kLanes);
  });
}

template <int kLanes>
void transform_back(const FilterView& view, const float* sums, int64_t parts, bool add, float* weights) {
  const auto block = view.taps == 3 ? filter_gradient_block<kLanes, 3> : filter_gradient_block<kLanes, 5>;
  const int64_t blocks = view.padded_outputs() / kLanes;
  parallel_for(blocks * view.inputs, 64, [=, &view](int64_t i) {
    const int64_t output = i % blocks * kLanes, input = i / blocks;
    block(view, sums + input * view.padded_outputs() + output, parts, std::min<int64_t>(kLanes, view.outputs - output),
          add, weights + output * view.output_stride + input * view.input_stride);
  });
}

}  // namespace

void transform_filters(const FilterView& view, const float* weights, float* to) {
  (view.lanes == 16 ? transform<16> : transform<8>)(view, weights, to);
}

void transform_filter_gradients(const FilterView& view, const float* sums, int64_t parts, bool add, float* weights) {
  (view.lanes == 16 ? transform_back<16> : transform_back<8>)(view, sums, parts, add, weights);
}

}  // namespace robusta::winograd
