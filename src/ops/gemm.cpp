#include "ops/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <limits>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

CBLAS_TRANSPOSE blas_op(Op op) { return op == Op::kTransposed ? CblasTrans : CblasNoTrans; }

blasint extent(int64_t size) {
  if (size > std::numeric_limits<blasint>::max()) {
    throw Error(ErrorKind::kUnsupported, str("a matrix with ", size, " rows or columns is too large for the BLAS"),
                "split the batch or the layer");
  }
  return static_cast<blasint>(size);
}

}  // namespace

template <typename T>
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, const T* b, T beta, T* c) {
  if (m == 0 || n == 0) return;
  const blasint lda = extent(std::max<int64_t>(op_a == Op::kPlain ? k : m, 1));
  const blasint ldb = extent(std::max<int64_t>(op_b == Op::kPlain ? n : k, 1));
  if constexpr (sizeof(T) == sizeof(float)) {
    cblas_sgemm(CblasRowMajor, blas_op(op_a), blas_op(op_b), extent(m), extent(n), extent(k), alpha, a, lda, b, ldb,
                beta, c, extent(n));
  } else {
    cblas_dgemm(CblasRowMajor, blas_op(op_a), blas_op(op_b), extent(m), extent(n), extent(k), alpha, a, lda, b, ldb,
                beta, c, extent(n));
  }
}

template void gemm(Op, Op, int64_t, int64_t, int64_t, float, const float*, const float*, float, float*);
template void gemm(Op, Op, int64_t, int64_t, int64_t, double, const double*, const double*, double, double*);

}  // namespace robusta
