/// The products of InnerProduct by matrix units: activations and their gradients are bf16, weights and their gradients
/// f32, as they lie in memory.
///
/// Weights are rounded into panels (ops/amx/panels.h) a few at a time, in the caches, and so read once for 512 rows:
/// where rows are few, that is what takes the time, and a copy in 16 bits for each pass would take more.
///
/// All of them REQUIRE amx::is_there() and !size.transposed. `workers`: how many threads share the work; the results
/// do not depend on it.
#pragma once

#include "layers/kit/scratch_plan.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/amx/ranges.h"

namespace robusta::amx {

/// Rows of activations at a time, lest sums leave the caches.
inline constexpr int64_t kRows = 512;

/// y = x W^T + b
class ForwardProduct {
 public:
  ForwardProduct(const InnerProductSize& size, int64_t workers);
  size_t scratch_bytes() const { return plan_.bytes(); }

  /// Of weights that are rounded once.
  size_t packed_bytes() const;
  void pack(const float* w, uint32_t* packed) const;

  struct Data {
    const uint16_t* x;
    const float* w;
    const uint32_t* packed;  ///< made of w; null: w is rounded on the way
    const float* b;          ///< null: zeros
    uint16_t* y;
    void* scratch;
  };
  void run(const Data& data) const;

 private:
  float* sums(const Data& data) const;
  void add_panel(const Data& data, Range rows, Range terms, int64_t panel, uint32_t* own) const;
  void round_sums(const Data& data, Range rows, Range outputs) const;

  InnerProductSize size_;
  int64_t workers_;
  ScratchPlan plan_;
  size_t columns_at_, weights_at_, sums_at_;
};

/// dx = dy W
class DataGradient {
 public:
  DataGradient(const InnerProductSize& size, int64_t workers);
  size_t scratch_bytes() const { return plan_.bytes(); }

  struct Data {
    const uint16_t* dy;
    const float* w;
    uint16_t* dx;
    void* scratch;
  };
  void run(const Data& data) const;

 private:
  int64_t strip_sums() const;
  void run_strip(const Data& data, const uint32_t* gradients, Range rows, Range inputs, int64_t worker) const;
  void add_strip(const uint32_t* gradients, int64_t rows, Range terms, int64_t inputs, uint32_t* weights,
                 float* sums) const;

  InnerProductSize size_;
  int64_t workers_, strip_;  // inputs at a time
  ScratchPlan plan_;
  size_t gradients_at_, weights_at_, sums_at_;
};

/// dW = dy^T x, or dW += that; db = the sums of dy over the rows, or db += that.
class WeightGradient {
 public:
  WeightGradient(const InnerProductSize& size, int64_t workers);
  size_t scratch_bytes() const;

  struct Data {
    const uint16_t *dy, *x;
    bool add;
    float* dw;
    void* scratch;
  };
  void run(const Data& data) const;
  void run_bias(const uint16_t* dy, bool add, float* db) const;

 private:
  InnerProductSize size_;
  int64_t workers_;
};

}  // namespace robusta::amx
