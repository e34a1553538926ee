/// The three products of InnerProduct by matrix units: activations and their gradients are bf16, weights and their
/// gradients f32, as they lie in memory.
///
/// Weights are rounded into panels (ops/amx/panels.h) a few at a time, in the caches, and so read once in a pass: where
/// rows are few, that is what takes the time, and a copy in 16 bits for each pass would take more.
#pragma once

#include "layers/types/inner_product/inner_product.h"

namespace robusta::amx {

class InnerProducts {
 public:
  /// REQUIRES: is_there(), !size.transposed.
  explicit InnerProducts(const InnerProductSize& size);

  size_t forward_scratch() const;
  size_t data_scratch() const;
  size_t weight_scratch() const;

  /// Of weights that are packed once, for forward.
  size_t packed_bytes() const;
  void pack(const float* w, uint32_t* packed) const;

  /// y = x W^T + b. `packed`: made of w; null: w is packed on the way. `b`: null: zeros.
  void forward(const uint16_t* x, const float* w, const uint32_t* packed, const float* b, uint16_t* y,
               void* scratch) const;
  /// dx = dy W
  void data_gradient(const uint16_t* dy, const float* w, uint16_t* dx, void* scratch) const;
  /// dW = dy^T x, or dW += that.
  void weight_gradient(const uint16_t* dy, const uint16_t* x, bool add, float* dw, void* scratch) const;
  /// db = the sums of dy over the rows, or db += that.
  void bias_gradient(const uint16_t* dy, bool add, float* db) const;

 private:
  InnerProductSize size_;
  int64_t workers_;
};

}  // namespace robusta::amx
