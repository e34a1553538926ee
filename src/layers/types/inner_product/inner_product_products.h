/// The three matrix products of InnerProduct on the CPU, y = x W^T, dx = dy W and dW = dy^T x, for plain arrays of T:
/// what the reference and the native kernel share. They differ in who multiplies, and in the bias.
#pragma once

#include "layers/kit/kernel.h"
#include "layers/kit/matrix_product.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm.h"

namespace robusta {

enum class InnerProductStep { kForward, kDataGradient, kWeightGradient };

inline ProductShape product_shape(const InnerProductSize& size, InnerProductStep step) {
  const int64_t rows = size.rows, inputs = size.inputs, outputs = size.outputs;
  const Op w = size.transposed ? Op::kPlain : Op::kTransposed, back = size.transposed ? Op::kTransposed : Op::kPlain;
  if (step == InnerProductStep::kForward) return {Op::kPlain, w, rows, outputs, inputs};
  if (step == InnerProductStep::kDataGradient) return {Op::kPlain, back, rows, inputs, outputs};
  if (size.transposed) return {Op::kTransposed, Op::kPlain, inputs, outputs, rows};
  return {Op::kTransposed, Op::kPlain, outputs, inputs, rows};
}

template <typename T>
class InnerProductProducts : public Kernel {
 public:
  explicit InnerProductProducts(const KernelRequest& request) : size_(request.layer<InnerProductLayer>().size()) {
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
  }

  void backward(const KernelRun& run) override {
    T* dw = run.params[0]->learns ? run.params[0]->gradient().template as<T>() : nullptr;
    gradients(run, run.params[0]->tensor().template as<T>(), run.accumulate[0] != 0, dw);
  }

 protected:
  /// c = a b of the step's shape, or c += a b; `scratch`: the pass's.
  virtual void multiply(InnerProductStep step, const T* a, const T* b, bool add, T* c, void* /*scratch*/) const {
    const ProductShape shape = product_shape(size_, step);
    gemm<T>(shape.op_a, shape.op_b, shape.m, shape.n, shape.k, 1, a, b, add ? 1 : 0, c);
  }
  /// All gradients that are wanted, for weights w; theirs is written to dw, unless that is null, on top of what is
  /// there if `add`.
  void gradients(const KernelRun& run, const T* w, bool add, T* dw) const {
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    if (dw) {
      const T *a = size_.transposed ? x : dy, *b = size_.transposed ? dy : x;
      multiply(InnerProductStep::kWeightGradient, a, b, add, dw, run.scratch);
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      bias_gradient(dy, run.accumulate[1] != 0, run.params[1]->gradient().template as<T>());
    }
    if (run.bottom_diffs[0]) {
      multiply(InnerProductStep::kDataGradient, dy, w, false, run.bottom_diffs[0].as<T>(), run.scratch);
    }
  }
  /// The sums of dy over the rows, on top of what is there if `add`.
  virtual void bias_gradient(const T* dy, bool add, T* db) const = 0;

  const InnerProductSize size_;
};

}  // namespace robusta
