// AVE pooling of a row.

#include "base/simd.h"
#include "base/stored_lanes.h"
#include "layers/types/pooling/native_lanes.h"
#include "layers/types/pooling/native_rows.h"

namespace robusta {
namespace {

template <int N, typename Stored>
ROBUSTA_SIMD void average_lanes(const PoolLines& lines, int64_t row, const Stored* x, Stored* y) {
  const PoolLine::Range rows = lines.rows.inputs[static_cast<size_t>(row)];
  const PoolLine::Range* inputs = lines.columns.inputs.data();
  const float height = lines.rows.length[static_cast<size_t>(row)], *length = lines.columns.length.data();
  const int64_t row_step = lines.rows.window.dilation, column_step = lines.columns.window.dilation;
  const int64_t width = lines.columns.window.in, inner = lines.inner;
  for (int64_t o = 0; o < lines.columns.window.out; ++o) {
    const PoolLine::Range columns = inputs[o];
    Floats<N> sum = {};
    for (int64_t i = rows.begin; i < rows.end; i += row_step) {
      for (int64_t j = columns.begin; j < columns.end; j += column_step) {
        Floats<N> value;
        load<N>(x + (i * width + j) * inner, value);
        sum += value;
      }
    }
    store<N>(sum / (height * length[o]), y + o * inner);
  }
}

template <int N, typename Stored>
ROBUSTA_SIMD void average_lanes_gradient(const PoolLines& lines, int64_t row, const Stored* dy, Stored* dx) {
  const PoolLine::Range rows = lines.rows.outputs[static_cast<size_t>(row)];
  const PoolLine::Range* outputs = lines.columns.outputs.data();
  const int64_t row_step = lines.rows.output_step, column_step = lines.columns.output_step;
  const int64_t width = lines.columns.window.out, inner = lines.inner;
  const float *height = lines.rows.length.data(), *length = lines.columns.length.data();
  for (int64_t i = 0; i < lines.columns.window.in; ++i) {
    const PoolLine::Range columns = outputs[i];
    Floats<N> sum = {};
    for (int64_t r = rows.begin; r < rows.end; r += row_step) {
      for (int64_t c = columns.begin; c < columns.end; c += column_step) {
        Floats<N> gradient;
        load<N>(dy + (r * width + c) * inner, gradient);
        sum += gradient / (height[r] * length[c]);
      }
    }
    store<N>(sum, dx + i * inner);
  }
}

}  // namespace

template <typename Stored>
void average_pool_row(const PoolLines& lines, int64_t row, const Stored* x, Stored* y) {
  for_pool_lanes(lines.inner, [&](auto lanes, int64_t lane) { average_lanes<lanes>(lines, row, x + lane, y + lane); });
}

template <typename Stored>
void average_pool_row_gradient(const PoolLines& lines, int64_t row, const Stored* dy, Stored* dx) {
  for_pool_lanes(lines.inner,
                 [&](auto lanes, int64_t lane) { average_lanes_gradient<lanes>(lines, row, dy + lane, dx + lane); });
}

template void average_pool_row(const PoolLines&, int64_t, const float*, float*);
template void average_pool_row(const PoolLines&, int64_t, const BFloat16*, BFloat16*);
template void average_pool_row_gradient(const PoolLines&, int64_t, const float*, float*);
template void average_pool_row_gradient(const PoolLines&, int64_t, const BFloat16*, BFloat16*);

}  // namespace robusta
