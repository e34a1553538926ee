/// Ways to multiply matrices in f32, and the choice between them.
///
/// Which library is faster depends on extents and orders: for dx = dy W with 32 rows of dy and W of 4096 x 9216
/// OpenBLAS takes 0.57 of oneDNN's time, for dW = dy^T x 1.65 (AMD EPYC, Zen 3, 2 threads). So they are timed when a
/// net is planned, as the ways to convolve are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "ops/gemm.h"

namespace robusta {

/// C = op_a(A) op_b(B), or C += that: op_a(A) is m x k, op_b(B) is k x n, all dense and row-major.
struct ProductShape {
  Op op_a, op_b;
  int64_t m, n, k;

  bool operator==(const ProductShape&) const = default;
  /// For tuning records: no blanks.
  std::string key() const;
};

/// One way. The libraries may sum in another order with another number of threads; our own ways do not.
class ProductWay {
 public:
  virtual ~ProductWay() = default;
  virtual std::string name() const = 0;
  virtual size_t scratch_bytes(const ProductShape&) const { return 0; }
  /// Throws what gemm() throws.
  virtual void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c,
                   void* scratch) const = 0;
};

/// oneDNN's sgemm, and the BLAS's where it can be had: it does not do without the memory that it asks for, so not where
/// `ulimit -v` may refuse that.
std::span<const ProductWay* const> product_libraries();

/// The way that takes the least time for a product of this shape, which is timed on memory of its own; `ways[0]`
/// without a tuner, or where it is a matter of microseconds. `key` tells the shape from all others that are asked for:
/// `timed` may be a part of what will be computed, where time goes with that.
const ProductWay& fastest_product(const std::string& key, const ProductShape& timed,
                                  std::span<const ProductWay* const> ways, Tuner* tuner);

/// The products of a kernel that the libraries compute, each by the one that was faster for its shape.
class LibraryProducts {
 public:
  explicit LibraryProducts(Tuner* tuner) : tuner_(tuner) {}

  /// A product that will be run. Some of the rows of A, as it is stored, are timed, with which the time goes.
  void expect(const ProductShape& shape);
  /// c = a b, or c += that. A shape that was not expected is oneDNN's. Throws what gemm() throws.
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c) const;
  /// The libraries that were chosen, in the order in which products were expected.
  std::string describe() const;

 private:
  struct Choice {
    ProductShape shape;
    const ProductWay* way;
  };
  const Choice* find(const ProductShape& shape) const;

  Tuner* tuner_;
  std::vector<Choice> choices_;
};

}  // namespace robusta
