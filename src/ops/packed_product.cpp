// A block of up to six rows by a panel's columns stays in registers while it is summed.

#include "ops/packed_product.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta {
namespace {

constexpr int kRows = 6;             // with two vectors of columns: 12 sums, of the 16 registers of AVX2
constexpr int64_t kDepth = 256;      // rows of a panel that stay in the first-level cache for all rows of A
constexpr int64_t kAhead = 256;      // floats between what is multiplied and what is fetched
constexpr int64_t kGrain = 1 << 16;  // products for which a thread is woken

/// A block of A, from `depth` columns of it, times as many rows of a panel.
struct Block {
  int64_t depth, a_row, c_row;  ///< elements from one row to the next
  bool add;
};

/// kCount rows of C, all columns of the panel.
template <int kLanes, int kCount>
ROBUSTA_SIMD void multiply_rows(const Block& block, const float* a, const float* panel, float* c) {
  using Vector = Floats<kLanes>;
  const int64_t depth = block.depth, a_row = block.a_row, c_row = block.c_row;
  Vector sum[kCount][2] = {};
  if (block.add) {
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < 2; ++v) sum[r][v] = floats_at<kLanes>(c + r * c_row + v * kLanes);
    }
  }
  for (int64_t i = 0; i < depth; ++i) {
    const float* row = panel + i * 2 * kLanes;
    const Vector left = floats_at<kLanes>(row), right = floats_at<kLanes>(row + kLanes);
    __builtin_prefetch(row + kAhead);
#pragma GCC unroll 6
    for (int r = 0; r < kCount; ++r) {
      const float value = a[r * a_row + i];
      sum[r][0] += value * left;
      sum[r][1] += value * right;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < 2; ++v) floats_at<kLanes>(c + r * c_row + v * kLanes) = sum[r][v];
  }
}

using Rows = void (*)(const Block&, const float*, const float*, float*);
template <int kLanes>
constexpr Rows kMultiply[kRows] = {multiply_rows<kLanes, 1>, multiply_rows<kLanes, 2>, multiply_rows<kLanes, 3>,
                                   multiply_rows<kLanes, 4>, multiply_rows<kLanes, 5>, multiply_rows<kLanes, 6>};

/// All m rows of C by one panel, in groups of rows that differ by one at most.
template <int kLanes>
void multiply_panel(const Block& block, int64_t m, const float* a, const float* panel, float* c) {
  const int64_t groups = (m + kRows - 1) / kRows;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = m * g / groups, end = m * (g + 1) / groups;
    kMultiply<kLanes>[end - begin - 1](block, a + begin * block.a_row, panel, c + begin * block.c_row);
  }
}

/// The same where the panel is wider than what is left of C: through memory that is as wide.
template <int kLanes>
void multiply_last_panel(const Block& block, int64_t m, int64_t columns, const float* a, const float* panel, float* c) {
  constexpr int64_t kWidth = 2 * kLanes;
  for (int64_t begin = 0; begin < m; begin += kRows) {
    const int64_t count = std::min<int64_t>(kRows, m - begin);
    float whole[kRows * kWidth] = {};
    const auto copy_rows = [&](float* to, int64_t to_row, const float* from, int64_t from_row) {
      for (int64_t r = 0; r < count; ++r) std::copy_n(from + r * from_row, columns, to + r * to_row);
    };
    if (block.add) copy_rows(whole, kWidth, c + begin * block.c_row, block.c_row);
    kMultiply<kLanes>[count - 1]({block.depth, block.a_row, kWidth, block.add}, a + begin * block.a_row, panel, whole);
    copy_rows(c + begin * block.c_row, block.c_row, whole, kWidth);
  }
}

template <int kLanes>
void multiply_panels(const PackedShape& shape, int64_t m, const float* a, const float* packed, bool add, float* c) {
  const int64_t width = shape.width(), k = shape.k, n = shape.n;
  parallel_ranges(shape.panels(), 1 + kGrain / (1 + m * k * width), [&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < k; i += kDepth) {
      const Block block{std::min(kDepth, k - i), k, n, add || i > 0};
      for (int64_t p = first; p < last; ++p) {
        const float* panel = packed + (p * k + i) * width;
        const int64_t columns = std::min(width, n - p * width);
        columns == width ? multiply_panel<kLanes>(block, m, a + i, panel, c + p * width)
                         : multiply_last_panel<kLanes>(block, m, columns, a + i, panel, c + p * width);
      }
    }
  });
}

}  // namespace

int PackedShape::widest_lanes() {
#if defined(__x86_64__)
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  return has_avx512 ? 16 : 8;
#else
  return 8;
#endif
}

void pack_right(const PackedShape& shape, Op op, const float* b, float* packed) {
  const int64_t width = shape.width(), k = shape.k, n = shape.n;
  parallel_for(shape.panels(), 1 + kGrain / (1 + k * width), [=](int64_t p) {
    float* panel = packed + p * k * width;
    const int64_t first = p * width, columns = std::min(width, n - first);
    if (columns < width) std::fill_n(panel, k * width, 0.0f);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        panel[i * width + j] = op == Op::kPlain ? b[i * n + first + j] : b[(first + j) * k + i];
      }
    }
  });
}

void multiply_packed(const PackedShape& shape, int64_t m, const float* a, const float* packed, bool add, float* c) {
  if (m == 0 || shape.n == 0) return;
  if (shape.k == 0 && !add) std::fill_n(c, m * shape.n, 0.0f);
  shape.lanes == 16 ? multiply_panels<16>(shape, m, a, packed, add, c)
                    : multiply_panels<8>(shape, m, a, packed, add, c);
}

}  // namespace robusta
