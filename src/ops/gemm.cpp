// Matrix products by oneDNN and the BLAS.

#include "ops/gemm.h"

#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "base/address_space.h"
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

[[noreturn]] void refuse_memory() {
  throw Error(ErrorKind::kMemory, "there is no memory left for a product of matrices",
              is_address_space_limited() ? "raise `ulimit -v`, or lower the batch size (-batch)"
                                         : "lower the batch size (-batch)");
}

/// For its first product oneDNN writes code, and crashes where it gets no memory for that.
bool require_room_for_code() {
  constexpr size_t kLeast = size_t{32} << 20;
  if (!has_address_space(kLeast)) refuse_memory();
  return true;
}

}  // namespace

template <typename T>
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, const T* b, T beta, T* c,
          GemmLibrary library) {
  if (m == 0 || n == 0) return;
  const blasint lda = extent(std::max<int64_t>(op_a == Op::kPlain ? k : m, 1));
  const blasint ldb = extent(std::max<int64_t>(op_b == Op::kPlain ? n : k, 1));
  if constexpr (sizeof(T) == sizeof(float)) {
    if (library == GemmLibrary::kBlas) {
      cblas_sgemm(CblasRowMajor, blas_op(op_a), blas_op(op_b), extent(m), extent(n), extent(k), alpha, a, lda, b, ldb,
                  beta, c, extent(n));
      return;
    }
    // Measured on AVX-512 against OpenBLAS 0.3.21: twice as fast at LeNet's sizes, 1.2 times at AlexNet's.
    const char trans_a = op_a == Op::kTransposed ? 'T' : 'N', trans_b = op_b == Op::kTransposed ? 'T' : 'N';
    [[maybe_unused]] static const bool has_room = require_room_for_code();
    const dnnl_status_t status = dnnl_sgemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, n);
    if (status == dnnl_out_of_memory) refuse_memory();
    if (status != dnnl_success) {
      throw Error(ErrorKind::kUnsupported,
                  str("oneDNN refuses a product of ", m, " x ", k, " and ", k, " x ", n, ", status ", status),
                  "split the batch or the layer");
    }
  } else {
    cblas_dgemm(CblasRowMajor, blas_op(op_a), blas_op(op_b), extent(m), extent(n), extent(k), alpha, a, lda, b, ldb,
                beta, c, extent(n));
  }
}

std::jthread warm_up_gemm() {
  if (is_address_space_limited()) return {};
  // A product that is too small for several threads, and for nothing else of what it takes.
  constexpr auto kMultiply = [] {
    constexpr dnnl_dim_t kSize = 4;
    constexpr float kFactor[kSize * kSize] = {};
    float product[kSize * kSize];
    try {
      dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1, kFactor, kSize, kFactor, kSize, 0, product, kSize);
    } catch (...) {
      // There is too little memory, or whatever else the first product will meet and tell.
    }
  };
  try {
    return std::jthread(kMultiply);
  } catch (const std::system_error&) {
    return {};  // the first product waits
  }
}

template void gemm(Op, Op, int64_t, int64_t, int64_t, float, const float*, const float*, float, float*, GemmLibrary);
template void gemm(Op, Op, int64_t, int64_t, int64_t, double, const double*, const double*, double, double*,
                   GemmLibrary);

}  // namespace robusta
