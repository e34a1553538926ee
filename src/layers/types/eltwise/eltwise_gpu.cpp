// Eltwise on the GPU, for any layout, in packs: products and maxima, whose gradients are in eltwise_reference.cpp. Sums
// are in eltwise_sum_gpu.cpp.

#include "layers/types/eltwise/eltwise_gpu.h"

#include <algorithm>

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/eltwise/eltwise_chain.h"

namespace robusta {
namespace {

template <typename T>
struct EltwiseMultiply {
  static constexpr int kWidth = kPackWidth<T>;
  const T *a, *b;
  T* to;
  bool in_packs() const { return on_packs(a, b, to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> values = load_pack<N>(a + i);
    const Pack<float, N> others = load_pack<N>(b + i);
    for (int k = 0; k < N; ++k) values.at[k] *= others.at[k];
    store_pack(values, to + i);
  }
};

/// dx = dy * (y / x)
template <typename T>
struct EltwiseProductSlope {
  static constexpr int kWidth = kPackWidth<T>;
  const T *dy, *y, *x;
  T* dx;
  bool in_packs() const { return on_packs(dy, y, x, dx); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> gradients = load_pack<N>(dy + i);
    const Pack<float, N> products = load_pack<N>(y + i), factors = load_pack<N>(x + i);
    for (int k = 0; k < N; ++k) gradients.at[k] *= products.at[k] / factors.at[k];
    store_pack(gradients, dx + i);
  }
};

/// The larger one, b where they are equal.
template <typename T>
struct EltwiseLarger {
  static constexpr int kWidth = kPackWidth<T>;
  const T *a, *b;
  T* to;
  bool in_packs() const { return on_packs(a, b, to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    const Pack<float, N> first = load_pack<N>(a + i), second = load_pack<N>(b + i);
    Pack<float, N> larger;
    for (int k = 0; k < N; ++k) larger.at[k] = first.at[k] > second.at[k] ? first.at[k] : second.at[k];
    store_pack(larger, to + i);
  }
};

/// Keeps `from` where a > b (`greater`) or where not, and is zero elsewhere.
template <typename T>
struct EltwiseKeep {
  static constexpr int kWidth = kPackWidth<T>;
  const T *a, *b;
  bool greater;
  const T* from;
  T* to;
  bool in_packs() const { return on_packs(a, b, from, to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    const Pack<float, N> first = load_pack<N>(a + i), second = load_pack<N>(b + i);
    Pack<float, N> kept = load_pack<N>(from + i);
    for (int k = 0; k < N; ++k) kept.at[k] = (first.at[k] > second.at[k]) == greater ? kept.at[k] : 0.0f;
    store_pack(kept, to + i);
  }
};

/// What products and maxima share: the bottoms are needed again, and the result builds up pair by pair.
template <typename T>
class EltwisePairGpu : public Kernel {
 public:
  explicit EltwisePairGpu(const KernelRequest& request) {
    count_ = book_shared_layout(request, true, booking_);
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.repeatable = true;
    booking_.forward_aliases = {{0, 0, false}, {1, 0, false}};
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    combine(run.stream, value(run, 0), value(run, 1), y);
    for (size_t b = 2; b < run.bottoms.size(); ++b) combine(run.stream, value(run, b), y, y);
  }

  void backward(const KernelRun& run) override {
    for (size_t b = 0; b < run.bottom_diffs.size(); ++b) {
      if (run.bottom_diffs[b]) pass_down(run, b, run.top_diffs[0].as<T>(), run.bottom_diffs[b].as<T>());
    }
  }

 protected:
  static const T* value(const KernelRun& run, size_t bottom) { return run.bottoms[bottom].as<T>(); }
  virtual void combine(Stream* stream, const T* a, const T* b, T* to) const = 0;
  virtual void pass_down(const KernelRun& run, size_t bottom, const T* dy, T* dx) const = 0;

  int64_t count_;
};

template <typename T>
class EltwiseProductGpu : public EltwisePairGpu<T> {
 public:
  explicit EltwiseProductGpu(const KernelRequest& request)
      : EltwisePairGpu<T>(request), divides_(!request.layer<EltwiseLayer>().stable_prod_grad()) {
    this->booking_.reads_tops = {divides_};
  }

 private:
  void combine(Stream* stream, const T* a, const T* b, T* to) const override {
    for_each_pack(stream, this->count_, EltwiseMultiply<T>{a, b, to});
  }

  void pass_down(const KernelRun& run, size_t bottom, const T* dy, T* dx) const override {
    if (divides_) {
      const T* y = run.tops[0].template as<T>();
      return for_each_pack(run.stream, this->count_, EltwiseProductSlope<T>{dy, y, this->value(run, bottom), dx});
    }
    const T* so_far = dy;
    for (size_t b = 0; b < run.bottoms.size(); ++b) {
      if (b == bottom) continue;
      combine(run.stream, so_far, this->value(run, b), dx);
      so_far = dx;
    }
  }

  bool divides_;
};

/// Ties as in the reference kernel: of the first two bottoms the second wins, later ones must be larger.
template <typename T>
class EltwiseMaxGpu : public EltwisePairGpu<T> {
 public:
  using EltwisePairGpu<T>::EltwisePairGpu;

 private:
  void combine(Stream* stream, const T* a, const T* b, T* to) const override {
    for_each_pack(stream, this->count_, EltwiseLarger<T>{a, b, to});
  }

  void pass_down(const KernelRun& run, size_t bottom, const T* dy, T* dx) const override {
    const auto keep = [&](size_t a, size_t b, bool greater, const T* from) {
      for_each_pack(run.stream, this->count_,
                    EltwiseKeep<T>{this->value(run, a), this->value(run, b), greater, from, dx});
    };
    // It won if it beat what came before ...
    if (bottom < 2) {
      keep(0, 1, bottom == 0, dy);
    } else {
      keep(bottom, 0, true, dy);
      for (size_t b = 1; b < bottom; ++b) keep(bottom, b, true, dx);
    }
    // ... and nothing that came after beat it.
    for (size_t b = std::max<size_t>(bottom + 1, 2); b < run.bottoms.size(); ++b) keep(b, bottom, false, dx);
  }
};

std::unique_ptr<Kernel> make_eltwise_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const EltwiseChain chain(request);
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  switch (chain.eltwise->operation()) {
    case caffe::EltwiseParameter::SUM:
      return make_eltwise_sum_gpu(request);
    case caffe::EltwiseParameter::MAX:
      return make_stored<EltwiseMaxGpu>(request);
    case caffe::EltwiseParameter::PROD:
      break;
  }
  return make_stored<EltwiseProductGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(EltwiseChain::pattern(), "gpu", 10, make_eltwise_gpu);

}  // namespace robusta
