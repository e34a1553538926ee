// dx = dy W takes strips of columns of W, whose rows are packed in pairs; dW = dy^T x is written tile by tile where it
// belongs.

#include <algorithm>
#include <array>

#include "base/half.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "base/stored_lanes.h"
#include "base/streaming_stores.h"
#include "layers/types/inner_product/amx_products.h"
#include "ops/amx/plain_factors.h"

namespace robusta::amx {
namespace {

// Outputs at a time, for dx, of a strip of inputs; floats of a strip's sums, which stay in a second-level cache; and
// inputs of a strip, at least and at most: rows of weights are read in long runs.
constexpr int64_t kOutputsAtATime = 128, kStripSums = 1 << 16, kNarrowStrip = 512, kWideStrip = 2048;

/// The inputs of a strip: each worker has the same number of strips, and as few as these bounds allow.
int64_t strip_for(const InnerProductSize& size, int64_t workers) {
  const auto cut = [](int64_t inputs, int64_t parts) { return padded((inputs + parts - 1) / parts); };
  const int64_t rows = padded(std::min(size.rows, kRows)), own = cut(size.inputs, workers);
  const int64_t widest = std::clamp(kStripSums / rows, kNarrowStrip, kWideStrip);
  return cut(own, (own + widest - 1) / widest);
}

ROBUSTA_SIMD void round_row(const float* from, int64_t count, uint16_t* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}

/// Whole vectors of a panel's sums.
ROBUSTA_LANES_16 void stream_sums(const float* sums, int64_t rows, int64_t columns, float* to, int64_t next_row) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; c += kTile) {
      Floats<kTile> lanes;
      load<kTile>(sums + r * kPanelLines + c, lanes);
      ROBUSTA_STREAM(lanes, *reinterpret_cast<Floats<kTile>*>(to + r * next_row + c));
    }
  }
}

/// As multiply_panels, past the caches. REQUIRES: memory that is aligned for that, and !product.add.
void multiply_and_stream(const PanelProduct& product, int64_t rows, int64_t columns) {
  alignas(64) float sums[kPanelLines * kPanelLines];
  PanelProduct aside = product;
  aside.sums = sums;
  aside.next_row = kPanelLines;
  multiply_panels(aside, tiles_of(rows, 0), tiles_of(columns, 0));
  stream_sums(sums, rows, columns, product.sums, product.next_row);
}

/// As multiply_panels, but only so many rows and columns are written.
void multiply_corner(const PanelProduct& product, int64_t rows, int64_t columns) {
  const int row_tiles = tiles_of(rows, 0), column_tiles = tiles_of(columns, 0);
  if (rows == row_tiles * kTile && columns == column_tiles * kTile) {
    return multiply_panels(product, row_tiles, column_tiles);
  }
  float sums[kPanelLines * kPanelLines];
  PanelProduct aside = product;
  aside.sums = sums;
  aside.next_row = kPanelLines;
  aside.add = false;
  multiply_panels(aside, row_tiles, column_tiles);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      float& to = product.sums[r * product.next_row + c];
      to = sums[r * kPanelLines + c] + (product.add ? to : 0.0f);
    }
  }
}

}  // namespace

DataGradient::DataGradient(const InnerProductSize& size, int64_t workers)
    : size_(size),
      workers_(workers),
      strip_(strip_for(size, workers)),
      gradients_at_(plan_.add(bytes_of_panels(std::min(size.rows, kRows), size.outputs))),
      weights_at_(plan_.add(static_cast<size_t>(workers) * bytes_of_panels(strip_, kOutputsAtATime))),
      sums_at_(plan_.add(static_cast<size_t>(workers * strip_sums()) * sizeof(float))) {}

int64_t DataGradient::strip_sums() const { return padded(std::min(size_.rows, kRows)) * strip_; }

void DataGradient::run(const Data& data) const {
  auto* gradients = static_cast<uint32_t*>(at_offset(data.scratch, gradients_at_));
  in_pieces(size_.rows, kRows, [&](Range rows) {
    pack_rows(data.dy + rows.begin * size_.outputs, rows.size(), size_.outputs, Side::kRows,
              {gradients, size_.outputs});
    parallel_for(workers_, 1, [&](int64_t worker) {
      const TilesInUse tiles;
      const Range strips = part_of((size_.inputs + strip_ - 1) / strip_, workers_, worker);
      for (int64_t strip = strips.begin; strip < strips.end; ++strip) {
        run_strip(data, gradients, rows, {strip * strip_, std::min((strip + 1) * strip_, size_.inputs)}, worker);
      }
    });
  });
}

void DataGradient::run_strip(const Data& data, const uint32_t* gradients, Range rows, Range inputs,
                             int64_t worker) const {
  auto* weights =
      static_cast<uint32_t*>(at_offset(data.scratch, weights_at_)) + worker * pairs_of(strip_, kOutputsAtATime);
  float* sums = static_cast<float*>(at_offset(data.scratch, sums_at_)) + worker * strip_sums();
  in_pieces(size_.outputs, kOutputsAtATime, [&](Range terms) {
    const float* first = data.w + terms.begin * size_.inputs + inputs.begin;
    pack_terms(RowPlaces<float>(first, size_.inputs, terms.size()).data(), terms.size(), inputs.size(), Side::kColumns,
               weights);
    add_strip(gradients, rows.size(), terms, inputs.size(), weights, sums);
  });
  for (int64_t row = 0; row < rows.size(); ++row) {
    round_row(sums + row * strip_, inputs.size(), data.dx + (rows.begin + row) * size_.inputs + inputs.begin);
  }
}

/// What these outputs add.
void DataGradient::add_strip(const uint32_t* gradients, int64_t rows, Range terms, int64_t inputs, uint32_t* weights,
                             float* sums) const {
  for (int64_t row = 0; row < panels_of(rows); ++row) {
    for (int64_t column = 0; column < panels_of(inputs); ++column) {
      multiply_panels({.steps = steps_of(terms.size()),
                       .rows = Panels<const uint32_t>{gradients, size_.outputs}.at(row, terms.begin),
                       .columns = Panels<const uint32_t>{weights, terms.size()}.at(column),
                       .sums = sums + row * kPanelLines * strip_ + column * kPanelLines,
                       .next_row = strip_,
                       .add = terms.begin > 0},
                      tiles_of(rows, row), tiles_of(inputs, column));
    }
  }
}

WeightGradient::WeightGradient(const InnerProductSize& size, int64_t workers) : size_(size), workers_(workers) {}

size_t WeightGradient::scratch_bytes() const {
  return bytes_of_panels(size_.outputs, size_.rows) + bytes_of_panels(size_.inputs, size_.rows);
}

void WeightGradient::run(const Data& data) const {
  const Panels<uint32_t> gradients{static_cast<uint32_t*>(data.scratch), size_.rows};
  const Panels<uint32_t> inputs{gradients.pairs + pairs_of(size_.outputs, size_.rows), size_.rows};
  pack_columns(data.dy, size_.rows, size_.outputs, Side::kRows, gradients);
  pack_columns(data.x, size_.rows, size_.inputs, Side::kColumns, inputs);
  const bool streams = vector_lanes() == kTile && !data.add && goes_past_caches(data.dw, size_.outputs, size_.inputs);
  const auto multiply = streams ? multiply_and_stream : multiply_corner;
  // Of few outputs the inputs are shared out, too.
  const int64_t down = panels_of(size_.outputs), across = panels_of(size_.inputs);
  const int64_t cuts = std::min((workers_ + down - 1) / down, across);
  parallel_ranges(down * cuts, 1, [&](int64_t begin, int64_t end) {
    const TilesInUse tiles;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / cuts;
      const Range outputs = lines_of(size_.outputs, row), columns = part_of(across, cuts, piece % cuts);
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        const Range of_inputs = lines_of(size_.inputs, column);
        multiply({.steps = steps_of(size_.rows),
                  .rows = gradients.at(row),
                  .columns = inputs.at(column),
                  .sums = data.dw + outputs.begin * size_.inputs + of_inputs.begin,
                  .next_row = size_.inputs,
                  .add = data.add},
                 outputs.size(), of_inputs.size());
      }
    }
    if (streams) finish_streams();
  });
}

void WeightGradient::run_bias(const uint16_t* dy, bool add, float* db) const {
  constexpr int64_t kOutputs = 256;
  parallel_for((size_.outputs + kOutputs - 1) / kOutputs, 1, [&](int64_t block) {
    const Range outputs{block * kOutputs, std::min((block + 1) * kOutputs, size_.outputs)};
    std::array<double, kOutputs> sums = {};
    in_pieces(size_.rows, kPlaces, [&](Range rows) {
      std::array<float, kOutputs> some = {};
      const RowPlaces<uint16_t> places(dy + rows.begin * size_.outputs + outputs.begin, size_.outputs, rows.size());
      add_terms(places.data(), rows.size(), outputs.size(), some.data());
      for (size_t o = 0; o < some.size(); ++o) sums[o] += static_cast<double>(some[o]);
    });
    for (int64_t o = outputs.begin; o < outputs.end; ++o) {
      const double sum = sums[static_cast<size_t>(o - outputs.begin)];
      db[o] = static_cast<float>(sum + (add ? static_cast<double>(db[o]) : 0.0));
    }
  });
}

}  // namespace robusta::amx
