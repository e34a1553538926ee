/// The three matrix products of InnerProduct on the CPU, y = x W^T, dx = dy W and dW = dy^T x, for plain arrays of T:
/// what the reference and the native kernel share. They differ in how forward multiplies few rows, and in the bias.
#pragma once

#include "layers/kit/kernel.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm.h"

namespace robusta {

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
  /// y = x W^T + beta y
  void multiply(const T* x, const T* w, T beta, T* y) const {
    gemm<T>(Op::kPlain, size_.transposed ? Op::kPlain : Op::kTransposed, size_.rows, size_.outputs, size_.inputs, 1, x,
            w, beta, y);
  }
  /// All gradients that are wanted, for weights w; theirs is written to dw, unless that is null, on top of what is
  /// there if `add`.
  void gradients(const KernelRun& run, const T* w, bool add, T* dw) const {
    const T* dy = run.top_diffs[0].as<T>();
    if (dw) weight_gradient(run.bottoms[0].as<T>(), dy, add ? 1 : 0, dw);
    if (run.params.size() > 1 && run.params[1]->learns) {
      bias_gradient(dy, run.accumulate[1] != 0, run.params[1]->gradient().as<T>());
    }
    if (run.bottom_diffs[0]) {
      gemm<T>(Op::kPlain, size_.transposed ? Op::kTransposed : Op::kPlain, size_.rows, size_.inputs, size_.outputs, 1,
              dy, w, 0, run.bottom_diffs[0].as<T>());
    }
  }
  /// The sums of dy over the rows, on top of what is there if `add`.
  virtual void bias_gradient(const T* dy, bool add, T* db) const = 0;

  const InnerProductSize size_;

 private:
  void weight_gradient(const T* x, const T* dy, T beta, T* dw) const {
    if (size_.transposed) {
      gemm<T>(Op::kTransposed, Op::kPlain, size_.inputs, size_.outputs, size_.rows, 1, x, dy, beta, dw);
    } else {
      gemm<T>(Op::kTransposed, Op::kPlain, size_.outputs, size_.inputs, size_.rows, 1, dy, x, beta, dw);
    }
  }
};

}  // namespace robusta
