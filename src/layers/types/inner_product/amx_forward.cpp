// y^T = W x^T, since rows of weights are panels of rows as they lie: sums are [outputs, rows], and turned in the end.

#include <algorithm>

#include "base/half.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "layers/types/inner_product/amx_products.h"
#include "ops/amx/plain_factors.h"

namespace robusta::amx {
namespace {

// So many inputs at a time, of so many panels of outputs, which then go on: a panel of weights and what it is
// multiplied by stay in a first-level cache, and weights are fetched as far ahead as they are worked on.
constexpr int64_t kInputsAtATime = 256, kPanelsTogether = 4;

/// to[r, o] = sums[o, r] + bias[o] of 16 rows at most: so many lie in a line of the cache.
ROBUSTA_SIMD void turn_and_round(const float* sums, int64_t next_output, Range outputs, int64_t rows, const float* bias,
                                 uint16_t* to, int64_t next_row) {
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    const float shift = bias ? bias[o] : 0.0f;
    uint16_t rounded[kTile];
#pragma omp simd
    for (int64_t r = 0; r < kTile; ++r) rounded[r] = to_bf16(sums[o * next_output + r] + shift);
    for (int64_t r = 0; r < rows; ++r) to[r * next_row + o] = rounded[r];
  }
}

}  // namespace

ForwardProduct::ForwardProduct(const InnerProductSize& size, int64_t workers)
    : size_(size),
      workers_(workers),
      columns_at_(plan_.add(bytes_of_panels(std::min(size.rows, kRows), size.inputs))),
      weights_at_(plan_.add(static_cast<size_t>(workers) * bytes_of_panels(kPanelLines, kInputsAtATime))),
      sums_at_(
          plan_.add(static_cast<size_t>(padded(size.outputs) * padded(std::min(size.rows, kRows))) * sizeof(float))) {}

size_t ForwardProduct::packed_bytes() const { return bytes_of_panels(size_.outputs, size_.inputs); }

void ForwardProduct::pack(const float* w, uint32_t* packed) const {
  pack_rows(w, size_.outputs, size_.inputs, Side::kRows, {packed, size_.inputs});
}

float* ForwardProduct::sums(const Data& data) const { return static_cast<float*>(at_offset(data.scratch, sums_at_)); }

void ForwardProduct::run(const Data& data) const {
  const Panels<uint32_t> columns{static_cast<uint32_t*>(at_offset(data.scratch, columns_at_)), size_.inputs};
  in_pieces(size_.rows, kRows, [&](Range rows) {
    pack_rows(data.x + rows.begin * size_.inputs, rows.size(), size_.inputs, Side::kColumns, columns);
    parallel_for(workers_, 1, [&](int64_t worker) {
      const TilesInUse tiles;
      const Range panels = part_of(panels_of(size_.outputs), workers_, worker);
      auto* own =
          static_cast<uint32_t*>(at_offset(data.scratch, weights_at_)) + worker * pairs_of(kPanelLines, kInputsAtATime);
      in_pieces(panels.size(), kPanelsTogether, [&](Range some) {
        in_pieces(size_.inputs, kInputsAtATime, [&](Range terms) {
          for (int64_t panel = some.begin; panel < some.end; ++panel) {
            add_panel(data, rows, terms, panels.begin + panel, own);
          }
        });
      });
      round_sums(data, rows, {panels.begin * kPanelLines, std::min(panels.end * kPanelLines, size_.outputs)});
    });
  });
}

/// What these inputs add to a panel of outputs.
void ForwardProduct::add_panel(const Data& data, Range rows, Range terms, int64_t panel, uint32_t* own) const {
  const Range outputs = lines_of(size_.outputs, panel);
  const uint32_t* weights = own;
  if (data.packed) {
    weights = Panels<const uint32_t>{data.packed, size_.inputs}.at(panel, terms.begin);
  } else {
    pack_lines(data.w + outputs.begin * size_.inputs + terms.begin, size_.inputs, outputs.size(), terms.size(),
               Side::kRows, own, kInputsAtATime);
  }
  const Panels<const uint32_t> columns{static_cast<uint32_t*>(at_offset(data.scratch, columns_at_)), size_.inputs};
  const int64_t next_row = padded(rows.size());
  for (int64_t column = 0; column < panels_of(rows.size()); ++column) {
    multiply_panels({.steps = steps_of(terms.size()),
                     .rows = weights,
                     .columns = columns.at(column, terms.begin),
                     .sums = sums(data) + outputs.begin * next_row + column * kPanelLines,
                     .next_row = next_row,
                     .add = terms.begin > 0},
                    tiles_of(size_.outputs, panel), tiles_of(rows.size(), column));
  }
}

void ForwardProduct::round_sums(const Data& data, Range rows, Range outputs) const {
  in_pieces(rows.size(), kTile, [&](Range some) {
    turn_and_round(sums(data) + some.begin, padded(rows.size()), outputs, some.size(), data.b,
                   data.y + (rows.begin + some.begin) * size_.outputs, size_.outputs);
  });
}

}  // namespace robusta::amx
