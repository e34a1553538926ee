/// dx = dy W and dW = dy^T x for the few rows of a batch and large weights, where all that counts is to read the
/// weights, or to write their gradient, once and in the order in which they lie.
#pragma once

#include "layers/kit/matrix_product.h"

namespace robusta {

/// The most rows for which they are offered; with more, the arithmetic takes longer than memory does.
inline constexpr int64_t kMostGradientRows = 32;

/// True where the ways below are worth a try: a processor with vectors, few rows and weights beyond a cache.
bool may_pay_for_few_gradients(int64_t rows, int64_t outputs, int64_t inputs);
/// True where they beat the libraries for all that is known: what is taken when nothing is timed.
bool pays_for_few_gradients(int64_t rows);

/// dx = dy W. Each sum runs over the outputs in order, whatever the number of threads. REQUIRES: A and B plain,
/// m <= kMostGradientRows; it does not add.
class FewRowsData : public ProductWay {
 public:
  std::string name() const override { return "rows"; }
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void* scratch) const override;
};

/// dW = dy^T x, or dW += that. Each sum runs over the rows in order. REQUIRES: A transposed, B plain,
/// k <= kMostGradientRows.
class FewRowsWeights : public ProductWay {
 public:
  std::string name() const override { return "rows"; }
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void* scratch) const override;
};

}  // namespace robusta
