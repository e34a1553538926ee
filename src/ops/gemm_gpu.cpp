#include "ops/gemm_gpu.h"

#include <algorithm>

#ifdef __CUDACC__
#include "base/str.h"
#include "device/cuda/cuda_stream.h"
#include "robusta/error.h"
#endif

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

#ifdef __CUDACC__

void gpu_gemm(Stream* stream, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
              const float* b, float beta, float* c) {
  if (m == 0 || n == 0) return;
  const auto blas_op = [](Op op) { return op == Op::kTransposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const int64_t lda = std::max<int64_t>(op_a == Op::kPlain ? k : m, 1);
  const int64_t ldb = std::max<int64_t>(op_b == Op::kPlain ? n : k, 1);
  // cuBLAS thinks in columns: what it sees are the transposes, and C^T = op_b(B)^T op_a(A)^T.
  const cublasStatus_t status = cublasSgemm_64(static_cast<CudaStream*>(stream)->blas(), blas_op(op_b), blas_op(op_a),
                                               n, m, k, &alpha, b, ldb, a, lda, &beta, c, n);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kDevice,
              str("cuBLAS: ", cublasGetStatusString(status), " (product of ", m, "x", k, " and ", k, "x", n, ")"),
              "see dmesg for Xid messages; go on from the last snapshot (-snapshot auto)");
}

#else

void gpu_gemm(Stream*, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, const float* b,
              float beta, float* c) {
  gemm(op_a, op_b, m, n, k, alpha, a, b, beta, c);
}

#endif

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
