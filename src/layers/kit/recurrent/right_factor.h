/// Weights as the right factor of the products of recurrent layers.
#pragma once

#include "layers/kit/matrix_product.h"

namespace robusta {

/// Which product wants them: a b, with op(W) for b.
struct RightUse {
  Op op;  ///< of W, rows x columns, as its parameter has it
  int64_t rows, columns;
  int64_t products;   ///< how many there are in a run
  int64_t left_rows;  ///< of each product's left factor

  int64_t count() const { return rows * columns; }
  ProductShape product() const {
    return op == Op::kPlain ? ProductShape{Op::kPlain, op, left_rows, columns, rows}
                            : ProductShape{Op::kPlain, op, left_rows, rows, columns};
  }
};

/// The same where products find it.
template <typename Stored>
struct RightFactor {
  const Stored* data;
  Op op;
  bool packed = false;  ///< as ops/packed_product.h says; else plain, or to be transposed, as `op` says
};

}  // namespace robusta
