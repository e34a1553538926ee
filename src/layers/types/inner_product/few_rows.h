/// y = x W^T for the few rows of a batch and large weights, where all that counts is to read the weights once.
#pragma once

#include <cstdint>

#include "layers/kit/matrix_product.h"

namespace robusta {

inline constexpr int64_t kFewRows = 64;

/// y = x W^T as a way to multiply. REQUIRES: A plain, B transposed, m <= kFewRows; it does not add.
class FewRows : public ProductWay {
 public:
  std::string name() const override { return "rows"; }
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void* scratch) const override;
};

/// True where multiply_few_rows beats the general matrix product: wide vectors, 1 to kFewRows rows, long sums.
bool pays_for_few_rows(int64_t rows, int64_t inputs);

/// y[rows, outputs] = x[rows, inputs] w[outputs, inputs]^T, all dense and row-major. Outputs are split over the
/// threads, sums are not: the same bits for any number of threads. REQUIRES: rows <= kFewRows.
void multiply_few_rows(const float* x, const float* w, int64_t rows, int64_t outputs, int64_t inputs, float* y);

}  // namespace robusta
