/// How layers whose outputs are shared out (model_group.h) take whole arrays apart and put them together again.
///
/// An array [rows, parts * length] is made of pieces [parts, rows, length]: `length` elements of each row belong to a
/// part, and lie together. So do channels of images: a row is a sample, and a part has some of its planes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"

namespace robusta {

/// Not kit/pieces.h, where a piece is a part of a top.
struct PartsOfRows {
  int64_t parts, rows, length;

  /// whole[r, p length + i] = pieces[p, r, i]
  template <typename T>
  void join(const T* pieces, T* whole) const {
    for_each([=, *this](int64_t p, int64_t r) {
      std::copy_n(pieces + (p * rows + r) * length, length, whole + (r * parts + p) * length);
    });
  }
  /// pieces[p, r, i] = whole[r, p length + i]
  template <typename T>
  void slice(const T* whole, T* pieces) const {
    for_each([=, *this](int64_t p, int64_t r) {
      std::copy_n(whole + (r * parts + p) * length, length, pieces + (p * rows + r) * length);
    });
  }

 private:
  template <typename Body>
  void for_each(const Body& body) const {
    parallel_for(parts * rows, 1 + (1 << 13) / length, [&](int64_t i) { body(i / rows, i % rows); });
  }
};

/// sum[i] = the sum of terms[p, i] over the parts, in their order: the same bits in each run.
template <typename T>
void sum_parts(const T* terms, int parts, int64_t count, T* sum) {
  parallel_for(count, 1 << 13, [=](int64_t i) {
    T total = terms[i];
    for (int64_t p = 1; p < parts; ++p) total += terms[p * count + i];
    sum[i] = total;
  });
}

}  // namespace robusta
