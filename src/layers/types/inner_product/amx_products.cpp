// Forward multiplies W with x^T, since rows of weights are panels of rows as they lie; dx = dy W takes strips of
// columns of W, whose rows are packed in pairs; dW = dy^T x is written tile by tile where it belongs. Of many rows some
// are multiplied at a time, lest sums leave the caches.

#include "layers/types/inner_product/amx_products.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "base/half.h"
#include "base/parallel.h"
#include "layers/kit/scratch_plan.h"
#include "ops/amx/panels.h"
#include "ops/amx/ranges.h"

namespace robusta::amx {

namespace {

constexpr int64_t kRows = 512;    // at a time
constexpr int64_t kPlaces = 256;  // of terms, at a time: whole steps

size_t bytes_of_panels(int64_t lines, int64_t terms) {
  return static_cast<size_t>(pairs_of(lines, terms)) * sizeof(uint32_t);
}
int64_t padded(int64_t lines) { return panels_of(lines) * kPanelLines; }
/// The lines of panel `panel`.
Range lines_of(int64_t lines, int64_t panel) {
  return {panel * kPanelLines, std::min((panel + 1) * kPanelLines, lines)};
}

/// A factor in panels.
template <typename Pairs>
struct Panels {
  Pairs* pairs;
  int64_t terms;
  /// Panel `panel` from term `term` on, where a step begins.
  Pairs* at(int64_t panel, int64_t term = 0) const {
    return pairs + (panel * steps_of(terms) + term / kStepTerms) * kStepPairs;
  }
};

/// Rows of a plain array as lines, on all threads.
template <typename T>
void pack_rows(const T* first, int64_t rows, int64_t terms, Side side, const Panels<uint32_t>& to) {
  parallel_for(panels_of(rows), 1, [=](int64_t panel) {
    const Range lines = lines_of(rows, panel);
    pack_lines(first + lines.begin * terms, terms, lines.size(), terms, side, to.at(panel));
  });
}

/// Where some rows of a plain array begin, which are `next` numbers apart.
template <typename T>
class RowPlaces {
 public:
  RowPlaces(const T* first, int64_t next, int64_t count) {
    for (int64_t i = 0; i < count; ++i) rows_[static_cast<size_t>(i)] = first + i * next;
  }
  const T* const* data() const { return rows_.data(); }

 private:
  std::array<const T*, kPlaces> rows_;
};

/// Columns of a plain array as lines, on all threads.
void pack_columns(const uint16_t* first, int64_t rows, int64_t columns, Side side, const Panels<uint32_t>& to) {
  parallel_for(panels_of(columns), 1, [=](int64_t panel) {
    const Range lines = lines_of(columns, panel);
    in_pieces(rows, kPlaces, [&](Range terms) {
      const RowPlaces<uint16_t> places(first + terms.begin * columns + lines.begin, columns, terms.size());
      pack_terms(places.data(), terms.size(), lines.size(), side, to.at(panel, terms.begin));
    });
  });
}

/// y^T = W x^T: [outputs, rows], then turned.
class Forward {
 public:
  Forward(const InnerProductSize& size, int64_t workers)
      : size_(size),
        workers_(workers),
        columns_at_(plan_.add(bytes_of_panels(std::min(size.rows, kRows), size.inputs))),
        weights_at_(plan_.add(static_cast<size_t>(workers) * bytes_of_panels(kPanelLines, kTerms))),
        sums_at_(
            plan_.add(static_cast<size_t>(padded(size.outputs) * padded(std::min(size.rows, kRows))) * sizeof(float))) {
  }
  size_t scratch_bytes() const { return plan_.bytes(); }

  struct Data {
    const uint16_t* x;
    const float* w;
    const uint32_t* packed;
    const float* b;
    uint16_t* y;
    void* scratch;
  };
  void run(const Data& data) const {
    in_pieces(size_.rows, kRows, [&](Range rows) {
      pack_rows(data.x + rows.begin * size_.inputs, rows.size(), size_.inputs, Side::kColumns, columns(data));
      parallel_for(workers_, 1, [&](int64_t worker) {
        const TilesInUse tiles;
        const Range panels = part_of(panels_of(size_.outputs), workers_, worker);
        uint32_t* own =
            static_cast<uint32_t*>(at_offset(data.scratch, weights_at_)) + worker * pairs_of(kPanelLines, kTerms);
        in_pieces(size_.inputs, kTerms, [&](Range terms) {
          for (int64_t panel = panels.begin; panel < panels.end; ++panel) add_panel(data, rows, terms, panel, own);
        });
        round_sums(data, rows, {panels.begin * kPanelLines, std::min(panels.end * kPanelLines, size_.outputs)});
      });
    });
  }

 private:
  static constexpr int64_t kTerms = 512;  // inputs at a time: 32 KiB of a panel of weights

  Panels<uint32_t> columns(const Data& data) const {
    return {static_cast<uint32_t*>(at_offset(data.scratch, columns_at_)), size_.inputs};
  }
  float* sums(const Data& data) const { return static_cast<float*>(at_offset(data.scratch, sums_at_)); }

  /// What these inputs add to a panel of outputs.
  void add_panel(const Data& data, Range rows, Range terms, int64_t panel, uint32_t* own) const {
    const Range outputs = lines_of(size_.outputs, panel);
    const uint32_t* weights = own;
    if (data.packed) {
      weights = Panels<const uint32_t>{data.packed, size_.inputs}.at(panel, terms.begin);
    } else {
      pack_lines(data.w + outputs.begin * size_.inputs + terms.begin, size_.inputs, outputs.size(), terms.size(),
                 Side::kRows, own);
    }
    const int64_t next_row = padded(rows.size());
    for (int64_t column = 0; column < panels_of(rows.size()); ++column) {
      multiply_panels({.steps = steps_of(terms.size()),
                       .rows = weights,
                       .columns = columns(data).at(column, terms.begin),
                       .sums = sums(data) + outputs.begin * next_row + column * kPanelLines,
                       .next_row = next_row,
                       .add = terms.begin > 0},
                      tiles_of(size_.outputs, panel), tiles_of(rows.size(), column));
    }
  }

  void round_sums(const Data& data, Range rows, Range outputs) const {
    const int64_t next = padded(rows.size());
    for (int64_t row = 0; row < rows.size(); ++row) {
      const float* from = sums(data) + row;
      uint16_t* to = data.y + (rows.begin + row) * size_.outputs;
      for (int64_t o = outputs.begin; o < outputs.end; ++o) {
        to[o] = to_bf16(from[o * next] + (data.b ? data.b[o] : 0.0f));
      }
    }
  }

  InnerProductSize size_;
  int64_t workers_;
  ScratchPlan plan_;
  size_t columns_at_, weights_at_, sums_at_;
};

/// dx = dy W, some columns of W at a time.
class DataGradient {
 public:
  DataGradient(const InnerProductSize& size, int64_t workers)
      : size_(size),
        workers_(workers),
        gradients_at_(plan_.add(bytes_of_panels(std::min(size.rows, kRows), size.outputs))),
        weights_at_(plan_.add(static_cast<size_t>(workers) * bytes_of_panels(kStrip, kTerms))),
        sums_at_(plan_.add(static_cast<size_t>(workers * strip_sums()) * sizeof(float))) {}
  size_t scratch_bytes() const { return plan_.bytes(); }

  struct Data {
    const uint16_t* dy;
    const float* w;
    uint16_t* dx;
    void* scratch;
  };
  void run(const Data& data) const {
    in_pieces(size_.rows, kRows, [&](Range rows) {
      const Panels<uint32_t> gradients{static_cast<uint32_t*>(at_offset(data.scratch, gradients_at_)), size_.outputs};
      pack_rows(data.dy + rows.begin * size_.outputs, rows.size(), size_.outputs, Side::kRows, gradients);
      parallel_for(workers_, 1, [&](int64_t worker) {
        const TilesInUse tiles;
        auto* weights =
            static_cast<uint32_t*>(at_offset(data.scratch, weights_at_)) + worker * pairs_of(kStrip, kTerms);
        float* sums = static_cast<float*>(at_offset(data.scratch, sums_at_)) + worker * strip_sums();
        const Range strips = part_of((size_.inputs + kStrip - 1) / kStrip, workers_, worker);
        for (int64_t strip = strips.begin; strip < strips.end; ++strip) {
          const Range inputs{strip * kStrip, std::min((strip + 1) * kStrip, size_.inputs)};
          in_pieces(size_.outputs, kTerms, [&](Range terms) {
            const RowPlaces<float> places(data.w + terms.begin * size_.inputs + inputs.begin, size_.inputs,
                                          terms.size());
            pack_terms(places.data(), terms.size(), inputs.size(), Side::kColumns, weights);
            add_strip(gradients, rows.size(), terms, inputs.size(), weights, sums);
          });
          round_sums(data, rows, inputs, sums);
        }
      });
    });
  }

 private:
  static constexpr int64_t kTerms = kPlaces;  // outputs at a time
  static constexpr int64_t kStrip = 256;      // inputs at a time: 1 KiB of each row of weights

  int64_t strip_sums() const { return padded(std::min(size_.rows, kRows)) * kStrip; }

  static void add_strip(const Panels<uint32_t>& gradients, int64_t rows, Range terms, int64_t inputs, uint32_t* weights,
                        float* sums) {
    for (int64_t row = 0; row < panels_of(rows); ++row) {
      for (int64_t column = 0; column < panels_of(inputs); ++column) {
        multiply_panels({.steps = steps_of(terms.size()),
                         .rows = gradients.at(row, terms.begin),
                         .columns = Panels<uint32_t>{weights, terms.size()}.at(column),
                         .sums = sums + row * kPanelLines * kStrip + column * kPanelLines,
                         .next_row = kStrip,
                         .add = terms.begin > 0},
                        tiles_of(rows, row), tiles_of(inputs, column));
      }
    }
  }

  void round_sums(const Data& data, Range rows, Range inputs, const float* sums) const {
    for (int64_t row = 0; row < rows.size(); ++row) {
      uint16_t* to = data.dx + (rows.begin + row) * size_.inputs + inputs.begin;
      for (int64_t i = 0; i < inputs.size(); ++i) to[i] = to_bf16(sums[row * kStrip + i]);
    }
  }

  InnerProductSize size_;
  int64_t workers_;
  ScratchPlan plan_;
  size_t gradients_at_, weights_at_, sums_at_;
};

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

InnerProducts::InnerProducts(const InnerProductSize& size) : size_(size), workers_(omp_get_max_threads()) {}

size_t InnerProducts::forward_scratch() const { return Forward(size_, workers_).scratch_bytes(); }
size_t InnerProducts::data_scratch() const { return DataGradient(size_, workers_).scratch_bytes(); }
size_t InnerProducts::packed_bytes() const { return bytes_of_panels(size_.outputs, size_.inputs); }

void InnerProducts::pack(const float* w, uint32_t* packed) const {
  pack_rows(w, size_.outputs, size_.inputs, Side::kRows, {packed, size_.inputs});
}

void InnerProducts::forward(const uint16_t* x, const float* w, const uint32_t* packed, const float* b, uint16_t* y,
                            void* scratch) const {
  Forward(size_, workers_).run({x, w, packed, b, y, scratch});
}

void InnerProducts::data_gradient(const uint16_t* dy, const float* w, uint16_t* dx, void* scratch) const {
  DataGradient(size_, workers_).run({dy, w, dx, scratch});
}

size_t InnerProducts::weight_scratch() const {
  return bytes_of_panels(size_.outputs, size_.rows) + bytes_of_panels(size_.inputs, size_.rows);
}

void InnerProducts::weight_gradient(const uint16_t* dy, const uint16_t* x, bool add, float* dw, void* scratch) const {
  const Panels<uint32_t> gradients{static_cast<uint32_t*>(scratch), size_.rows};
  const Panels<uint32_t> inputs{gradients.pairs + pairs_of(size_.outputs, size_.rows), size_.rows};
  pack_columns(dy, size_.rows, size_.outputs, Side::kRows, gradients);
  pack_columns(x, size_.rows, size_.inputs, Side::kColumns, inputs);
  parallel_ranges(panels_of(size_.outputs), 1, [&](int64_t begin, int64_t end) {
    const TilesInUse tiles;
    for (int64_t row = begin; row < end; ++row) {
      const Range outputs = lines_of(size_.outputs, row);
      for (int64_t column = 0; column < panels_of(size_.inputs); ++column) {
        const Range of_inputs = lines_of(size_.inputs, column);
        multiply_corner({.steps = steps_of(size_.rows),
                         .rows = gradients.at(row),
                         .columns = inputs.at(column),
                         .sums = dw + outputs.begin * size_.inputs + of_inputs.begin,
                         .next_row = size_.inputs,
                         .add = add},
                        outputs.size(), of_inputs.size());
      }
    }
  });
}

void InnerProducts::bias_gradient(const uint16_t* dy, bool add, float* db) const {
  if (!add) std::fill_n(db, size_.outputs, 0.0f);
  in_pieces(size_.rows, kPlaces, [&](Range rows) {
    const RowPlaces<uint16_t> places(dy + rows.begin * size_.outputs, size_.outputs, rows.size());
    add_terms(places.data(), rows.size(), size_.outputs, db);
  });
}

}  // namespace robusta::amx
