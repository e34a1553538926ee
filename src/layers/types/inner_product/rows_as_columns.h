/// y = x W^T for the rows of a small batch, as y^T = W x^T: the rows of x lie beside each other as the columns of a
/// panel, and each weight is read once, where it lies, and multiplied with all of them.
///
/// A general product packs both factors first, which for weights that are used for few rows takes as long as the
/// arithmetic. Every sum runs over the inputs in order, whatever the number of threads.
#pragma once

#include "layers/kit/matrix_product.h"

namespace robusta {

/// The most rows for which it is offered; with more, packing pays.
inline constexpr int64_t kMostColumns = 128;

/// True where it beats the libraries for all that is known: what is taken when nothing is timed.
bool pays_for_columns(int64_t rows, int64_t inputs);

/// REQUIRES: A plain, B transposed, m <= kMostColumns; it does not add.
class RowsAsColumns : public ProductWay {
 public:
  std::string name() const override { return "columns"; }
  size_t scratch_bytes(const ProductShape& shape) const override;
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void* scratch) const override;
};

}  // namespace robusta
