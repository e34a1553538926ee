/// RecurrentSteps on the host, in f32: the matrix products of ops/gemm.h, and vectorised loops over the cells.
///
/// Sums are split over the threads by columns alone, so that every bit is the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/channel_rows.h"
#include "layers/kit/kernel.h"
#include "layers/kit/math.h"
#include "layers/kit/recurrent/right_factor.h"

namespace robusta {

namespace host_detail {

/// Flattened, as what is not inlined keeps the loop from being vectorised.
template <typename Body>
__attribute__((flatten)) ROBUSTA_SIMD void run_columns(Body body, int64_t row, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t j = begin; j < end; ++j) body(row, j);
}

}  // namespace host_detail

/// to[columns, rows] = from[rows, columns]^T
void transpose(const float* from, int64_t rows, int64_t columns, float* to);

class HostMachine {
 public:
  using Stored = float;
  using Math = VectorMath;
  static constexpr const char* kName = "native gemm";

  /// Weights that were turned when the parameter had this version.
  struct Kept {
    struct Free {
      void operator()(float* memory) const { std::free(memory); }
    };
    std::unique_ptr<float, Free> weights;
    uint64_t version = 0;
  };

  explicit HostMachine(const KernelRun&) {}

  void product(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float beta,
               float* c) const {
    gemm(op_a, op_b, m, n, k, 1.0f, a, b, beta, c);
  }

  template <typename Body>
  void each(int64_t rows, int64_t width, const Body& body) const {
    constexpr int64_t kGrain = 1 << 11;  // cells are slow: five transcendental functions in an LSTM's
    parallel_ranges(rows * width, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin / width; row * width < end; ++row) {
        const int64_t first = row * width;
        host_detail::run_columns(body, row, std::max(begin - first, int64_t{0}), std::min(end - first, width));
      }
    });
  }

  void clear(void* memory, size_t bytes) const { std::memset(memory, 0, bytes); }

  const float* weights(const Param& param, void*) const { return param.tensor().as<float>(); }
  /// oneDNN packs a right factor that is transposed in every call, and multiplies a plain one where it lies: with the
  /// few rows of a step, 2 to 6 times as fast (Zen 5, 16 to 64 rows, 512 x 2048).
  RightFactor<float> turned(const Param& param, int64_t rows, Kept& kept, void* scratch) const {
    const float* weights = param.tensor().as<float>();
    if (!pays_to_turn(rows)) return {weights, Op::kTransposed};
    float* to = kept.weights ? kept.weights.get() : static_cast<float*>(scratch);
    if (!kept.weights || std::exchange(kept.version, param.version) != param.version) {
      transpose(weights, param.desc.shape[0], param.desc.shape[1], to);
    }
    return {to, Op::kPlain};
  }
  void sum_rows(int64_t rows, int64_t width, const float* a, bool add, float* sums, void*) const {
    ChannelRows{rows, width, 1}.sum(a, add, sums);
  }

  static size_t weights_bytes(int64_t) { return 0; }
  static Kept keep(int64_t count, int64_t rows) {
    if (count == 0 || !pays_to_turn(rows)) return {};
    constexpr size_t kLine = 64;  ///< of the cache: vectors are loaded whole
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + kLine - 1) / kLine * kLine;
    Kept kept{std::unique_ptr<float, Kept::Free>(static_cast<float*>(std::aligned_alloc(kLine, bytes)))};
    if (!kept.weights) throw std::bad_alloc();
    return kept;
  }
  static size_t turned_bytes(int64_t count, int64_t rows, const Kept& kept) {
    return !kept.weights && pays_to_turn(rows) ? static_cast<size_t>(count) * sizeof(float) : 0;
  }
  static size_t sum_bytes(int64_t, int64_t) { return 0; }

 private:
  /// With so many rows in all steps; fewer do not pay for turning.
  static bool pays_to_turn(int64_t rows) { return rows >= 64; }
};

}  // namespace robusta
