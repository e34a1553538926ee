// Eltwise for any layout: products and maxima, whose gradients are in eltwise_reference.cpp, in blocks that stay in the
// first-level cache from one bottom to the next.

#include "layers/types/eltwise/eltwise_native.h"

#include "layers/kit/blocks.h"
#include "layers/types/eltwise/eltwise_chain.h"

namespace robusta {
namespace {

ROBUSTA_SIMD void multiply(const float* a, const float* b, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] * b[i];
}

/// The larger one, b where they are equal.
ROBUSTA_SIMD void larger(const float* a, const float* b, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] > b[i] ? a[i] : b[i];
}

/// Keeps dx where a > b (`greater`) or where not, and clears it elsewhere.
ROBUSTA_SIMD void keep_where(const float* a, const float* b, bool greater, const float* from, float* dx,
                             int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dx[i] = (a[i] > b[i]) == greater ? from[i] : 0.0f;
}

/// What products and maxima share: the bottoms are needed again, and the result builds up pair by pair.
class PairwiseKernel : public Kernel {
 public:
  explicit PairwiseKernel(const KernelRequest& request) {
    count_ = book_shared_layout(request, true, booking_);
    booking_.repeatable = true;
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.forward_aliases = {{0, 0, false}, {1, 0, false}};
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    parallel_blocks(count_, [&, y](int64_t at, int64_t n) {
      combine(value(run, 0) + at, value(run, 1) + at, y + at, n);
      for (size_t b = 2; b < run.bottoms.size(); ++b) combine(value(run, b) + at, y + at, y + at, n);
    });
  }

  void backward(const KernelRun& run) override {
    for (size_t b = 0; b < run.bottom_diffs.size(); ++b) {
      if (!run.bottom_diffs[b]) continue;
      float* dx = run.bottom_diffs[b].as<float>();
      parallel_blocks(count_, [&, b, dx](int64_t at, int64_t n) {
        pass_down(run, b, run.top_diffs[0].as<float>() + at, dx + at, at, n);
      });
    }
  }

 protected:
  static const float* value(const KernelRun& run, size_t bottom) { return run.bottoms[bottom].as<float>(); }
  virtual void combine(const float* a, const float* b, float* to, int64_t n) const = 0;
  /// Elements at..at+n-1 of the gradient of one bottom; dy and dx point to the first of them.
  virtual void pass_down(const KernelRun& run, size_t bottom, const float* dy, float* dx, int64_t at,
                         int64_t n) const = 0;

 private:
  int64_t count_;
};

class ProductKernel : public PairwiseKernel {
 public:
  using PairwiseKernel::PairwiseKernel;

 private:
  void combine(const float* a, const float* b, float* to, int64_t n) const override { multiply(a, b, to, n); }
  void pass_down(const KernelRun& run, size_t bottom, const float* dy, float* dx, int64_t at,
                 int64_t n) const override {
    const float* so_far = dy;
    for (size_t b = 0; b < run.bottoms.size(); ++b) {
      if (b == bottom) continue;
      multiply(so_far, value(run, b) + at, dx, n);
      so_far = dx;
    }
  }
};

/// Ties as in the reference kernel: of the first two bottoms the second wins, later ones must be larger.
class MaximumKernel : public PairwiseKernel {
 public:
  using PairwiseKernel::PairwiseKernel;

 private:
  void combine(const float* a, const float* b, float* to, int64_t n) const override { larger(a, b, to, n); }
  void pass_down(const KernelRun& run, size_t bottom, const float* dy, float* dx, int64_t at,
                 int64_t n) const override {
    // It won if it beat what came before ...
    const float* mine = value(run, bottom) + at;
    const float* x0 = value(run, 0) + at;
    const float* x1 = value(run, 1) + at;
    if (bottom < 2) {
      keep_where(x0, x1, bottom == 0, dy, dx, n);
    } else {
      keep_where(mine, x0, true, dy, dx, n);
      for (size_t b = 1; b < bottom; ++b) keep_where(mine, value(run, b) + at, true, dx, dx, n);
    }
    // ... and nothing that came after beat it.
    for (size_t b = std::max<size_t>(bottom + 1, 2); b < run.bottoms.size(); ++b) {
      keep_where(value(run, b) + at, mine, false, dx, dx, n);
    }
  }
};

std::unique_ptr<Kernel> make_eltwise_native(const KernelRequest& request, std::string& why_not) {
  const EltwiseChain chain(request);
  if (!(chain.eltwise->is_sum() ? is_f32_or_bf16(request, why_not) : is_f32(request, why_not))) return nullptr;
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  switch (chain.eltwise->operation()) {
    case caffe::EltwiseParameter::SUM:
      return make_eltwise_sum(request);
    case caffe::EltwiseParameter::MAX:
      return make_eltwise_max(request);
    case caffe::EltwiseParameter::PROD:
      break;
  }
  if (chain.eltwise->stable_prod_grad()) return make_eltwise_prod(request);
  why_not = "does not divide (stable_prod_grad: false)";
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> make_eltwise_max(const KernelRequest& request) {
  return std::make_unique<MaximumKernel>(request);
}

std::unique_ptr<Kernel> make_eltwise_prod(const KernelRequest& request) {
  return std::make_unique<ProductKernel>(request);
}

ROBUSTA_REGISTER_KERNEL(EltwiseChain::pattern(), "native", 10, make_eltwise_native);

}  // namespace robusta
