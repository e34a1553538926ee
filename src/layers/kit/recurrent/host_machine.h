/// RecurrentSteps on the host, in f32: the matrix products of ops/, and vectorised loops over the cells.
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
#include "layers/kit/finite_numbers.h"
#include "layers/kit/kernel.h"
#include "layers/kit/math.h"
#include "layers/kit/matrix_product.h"
#include "layers/kit/recurrent/right_factor.h"
#include "ops/packed_product.h"

namespace robusta {

namespace host_detail {

/// Flattened, as what is not inlined keeps the loop from being vectorised.
template <typename Body>
__attribute__((flatten)) ROBUSTA_SIMD void run_columns(Body body, int64_t row, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t j = begin; j < end; ++j) body(row, j);
}

}  // namespace host_detail

class HostMachine {
 public:
  using Stored = float;
  using Math = VectorMath;
  using Watch = HostFiniteWatch;
  static constexpr const char* kName = "native gemm";

  /// Weights that were packed when the parameter had this version.
  struct Kept {
    struct Free {
      void operator()(float* memory) const { std::free(memory); }
    };
    std::unique_ptr<float, Free> weights;
    uint64_t version = 0;
  };

  using Products = LibraryProducts;

  /// For cells alone.
  explicit HostMachine(const KernelRun&) {}
  HostMachine(const KernelRun&, const Products& products) : products_(&products) {}

  void product(const ProductShape& shape, const float* a, const float* b, bool add, float* c) const {
    products_->run(shape, a, b, add, c);
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
  /// Packed where each of several products has few rows, which oneDNN would pack for every product anew or read where
  /// they lie: 1.3 to 2.6 times as fast (Zen on AVX2, 16 rows, 512 x 2048 and 2048 x 512).
  RightFactor<float> right(const Param& param, const RightUse& use, Kept& kept, void* scratch) const {
    const float* weights = param.tensor().as<float>();
    if (!pays_to_pack(use)) return {weights, use.op};
    float* to = kept.weights ? kept.weights.get() : static_cast<float*>(scratch);
    if (!kept.weights || std::exchange(kept.version, param.version) != param.version) {
      pack_right(packed(use), use.op, weights, to);
    }
    return {to, Op::kPlain, true};
  }
  void times(int64_t m, int64_t n, int64_t k, const float* a, const RightFactor<float>& right, bool add,
             float* c) const {
    right.packed ? multiply_packed({k, n}, m, a, right.data, add, c)
                 : product({Op::kPlain, right.op, m, n, k}, a, right.data, add, c);
  }
  void sum_rows(int64_t rows, int64_t width, const float* a, bool add, float* sums, void*) const {
    ChannelRows{rows, width, 1}.sum(a, add, sums);
  }

  static void expect_right(const RightUse& use, Products& products) {
    if (!pays_to_pack(use)) products.expect(use.product());
  }

  static size_t weights_bytes(int64_t) { return 0; }
  static Kept keep(const RightUse& use) {
    const size_t bytes = packed_bytes(use);
    if (bytes == 0) return {};
    Kept kept{std::unique_ptr<float, Kept::Free>(static_cast<float*>(std::aligned_alloc(kLine, bytes)))};
    if (!kept.weights) throw std::bad_alloc();
    return kept;
  }
  static size_t right_bytes(const RightUse& use, const Kept& kept) { return kept.weights ? 0 : packed_bytes(use); }
  static size_t sum_bytes(int64_t, int64_t) { return 0; }

 private:
  const Products* products_ = nullptr;

  static constexpr size_t kLine = 64;  ///< of the cache: vectors are loaded whole

  static bool pays_to_pack(const RightUse& use) {
    constexpr int64_t kFewRows = 64, kProducts = 4;
    return use.left_rows <= kFewRows && use.products >= kProducts;
  }
  static PackedShape packed(const RightUse& use) {
    return use.op == Op::kPlain ? PackedShape{use.rows, use.columns} : PackedShape{use.columns, use.rows};
  }
  static size_t packed_bytes(const RightUse& use) {
    if (!pays_to_pack(use)) return 0;
    const size_t bytes = static_cast<size_t>(packed(use).elements()) * sizeof(float);
    return (bytes + kLine - 1) / kLine * kLine;
  }
};

}  // namespace robusta
