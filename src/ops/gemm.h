/// Matrix products: oneDNN in f32 unless told otherwise, the BLAS in f64, both threaded by OpenMP. Call from outside of
/// parallel regions.
#pragma once

#include <cstdint>
#include <thread>

namespace robusta {

enum class Op { kPlain, kTransposed };

/// Who multiplies in f32. In f64 it is the BLAS.
enum class GemmLibrary { kOneDnn, kBlas };

/// C = alpha * op_a(A) * op_b(B) + beta * C with dense row-major matrices: op_a(A) is m x k, op_b(B) is k x n, C is
/// m x n. With beta 0 what C held does not matter, NaN included. Throws Error{kUnsupported} when an extent does not
/// fit the 32 bits of the BLAS interface, Error{kMemory} where there is none left. T is float or double.
template <typename T>
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, const T* b, T beta, T* c,
          GemmLibrary library = GemmLibrary::kOneDnn);

/// Does in the background what the first f32 product would wait for: oneDNN compiles its kernels for this processor,
/// which takes as long as reading and planning a small net. Empty where no thread is to be had.
///
/// Let the thread go before the process ends: oneDNN's own objects go then, while it might use them.
std::jthread warm_up_gemm();

}  // namespace robusta
