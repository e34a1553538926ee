/// Matrix products with few rows whose right factor is packed once for many of them: the steps of recurrent layers.
///
/// Such a product reads the right factor as fast as it multiplies, hence how that lies in memory decides (Goto and van
/// de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication", sections 4 and 5): in panels of as many columns
/// as two registers hold, row after row of a panel, so that memory is read from end to end. In a plain matrix those
/// rows are a whole row of the matrix apart, and with powers of two between them they fall on the same lines of the
/// cache.
///
/// Every element is summed in one order, whatever the number of rows and of threads.
#pragma once

#include <cstdint>

#include "ops/gemm.h"

namespace robusta {

/// The right factor B, k x n, of products that take it packed.
struct PackedShape {
  int64_t k, n;
  int lanes = widest_lanes();  ///< floats of a register: 8 or 16

  int64_t width() const { return 2 * int64_t{lanes}; }            ///< columns of a panel
  int64_t panels() const { return (n + width() - 1) / width(); }  ///< the last one may lack columns
  int64_t elements() const { return panels() * width() * k; }     ///< floats to be allocated
  static int widest_lanes();                                      ///< of the processor's registers
};

/// packed = op(B): B is k x n, or n x k if transposed. Columns that the last panel lacks are zeros.
void pack_right(const PackedShape& shape, Op op, const float* b, float* packed);

/// C = A B, or C += A B: A is m x k, C is m x n, dense and row-major. Call from outside of parallel regions.
void multiply_packed(const PackedShape& shape, int64_t m, const float* a, const float* packed, bool add, float* c);

}  // namespace robusta
