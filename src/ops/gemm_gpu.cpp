// Matrix products on a GPU by cuBLAS; emulated, by those of the host, through copies in f32 where 16 bits are stored.

#include "ops/gemm_gpu.h"

#include <algorithm>
#include <vector>

#include "device/gpu/calls.h"
#include "tensor/dtype.h"
#ifdef __CUDACC__
#include "base/str.h"
#include "device/cuda/cuda_stream.h"
#include "robusta/error.h"
#endif

namespace robusta {
#ifdef __CUDACC__
namespace {

template <typename T>
constexpr cudaDataType_t kBlasType = CUDA_R_32F;
template <>
constexpr cudaDataType_t kBlasType<BFloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t kBlasType<Half> = CUDA_R_16F;

}  // namespace
#endif
inline namespace ROBUSTA_GPU_TARGET {

#ifdef __CUDACC__

template <typename In, typename Out>
void gpu_gemm(Stream* stream, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const In* a, const In* b,
              float beta, Out* c) {
  if (m == 0 || n == 0) return;
  const auto blas_op = [](Op op) { return op == Op::kTransposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const int64_t lda = std::max<int64_t>(op_a == Op::kPlain ? k : m, 1);
  const int64_t ldb = std::max<int64_t>(op_b == Op::kPlain ? n : k, 1);
  const cublasHandle_t blas = static_cast<CudaStream*>(stream)->blas();
  // cuBLAS thinks in columns: what it sees are the transposes, and C^T = op_b(B)^T op_a(A)^T.
  cublasStatus_t status;
  if constexpr (dtype_of<In>() == DType::kF32) {
    status = cublasSgemm_64(blas, blas_op(op_b), blas_op(op_a), n, m, k, &alpha, b, ldb, a, lda, &beta, c, n);
  } else {
    status = cublasGemmEx_64(blas, blas_op(op_b), blas_op(op_a), n, m, k, &alpha, b, kBlasType<In>, ldb, a,
                             kBlasType<In>, lda, &beta, c, kBlasType<Out>, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kDevice,
              str("cuBLAS: ", cublasGetStatusString(status), " (product of ", m, "x", k, " and ", k, "x", n, ")"),
              "see dmesg for Xid messages; go on from the last snapshot (-snapshot auto)");
}

#else

template <typename In, typename Out>
void gpu_gemm(Stream* stream, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const In* a, const In* b,
              float beta, Out* c) {
  if (m == 0 || n == 0) return;
  const auto list = [=](KernelArrays& to) {
    to.add(a, m * k);
    to.add(b, k * n);
    to.add(c, m * n, beta == 0 ? 1 : 2);
  };
  if (!detail::runs_call(stream, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                         list)) {
    return;
  }
  if constexpr (dtype_of<In>() == DType::kF32) {
    gemm(op_a, op_b, m, n, k, alpha, a, b, beta, c);
  } else {
    const auto floats = [](const auto* from, int64_t count) {
      std::vector<float> copy(static_cast<size_t>(count));
      for (size_t i = 0; i < copy.size(); ++i) copy[i] = static_cast<float>(from[i]);
      return copy;
    };
    const std::vector<float> left = floats(a, m * k), right = floats(b, k * n);
    std::vector<float> product = beta == 0 ? std::vector<float>(static_cast<size_t>(m * n)) : floats(c, m * n);
    gemm(op_a, op_b, m, n, k, alpha, left.data(), right.data(), beta, product.data());
    std::transform(product.begin(), product.end(), c, [](float x) { return static_cast<Out>(x); });
  }
}

#endif

#define ROBUSTA_GPU_GEMM(In, Out) \
  template void gpu_gemm<In, Out>(Stream*, Op, Op, int64_t, int64_t, int64_t, float, const In*, const In*, float, Out*)
ROBUSTA_GPU_GEMM(float, float);
ROBUSTA_GPU_GEMM(BFloat16, BFloat16);
ROBUSTA_GPU_GEMM(BFloat16, float);
ROBUSTA_GPU_GEMM(Half, Half);
ROBUSTA_GPU_GEMM(Half, float);
#undef ROBUSTA_GPU_GEMM

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
