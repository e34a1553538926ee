/// Products of factors that are repeated (kit/product.h) on the GPU, plain: a thread for each element; gradients are
/// reduced over what a factor is repeated along. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/alias.h"
#include "layers/backends/gpu/gather.h"
#include "layers/kit/product.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// `c` may be null.
template <typename T, typename B>
struct ProductEach {
  GatherPlaces in_a, in_b;
  const T* a;
  const B* b;
  const T* c;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float product = static_cast<float>(a[in_a(i)]) * static_cast<float>(b[in_b(i)]);
    y[i] = static_cast<T>(c ? product + static_cast<float>(c[i]) : product);
  }
};

template <typename T, typename Other, typename To>
struct ProductSums {
  using Sum = double;
  GatherPlaces row_dy, row_other, column_dy, column_other;
  const T* dy;
  const Other* other;
  To* to;
  bool adds;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t column) const {
    return static_cast<double>(static_cast<float>(dy[row_dy(row) + column_dy(column)]) *
                               static_cast<float>(other[row_other(row) + column_other(column)]));
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const {
    const double before = adds ? static_cast<double>(static_cast<float>(to[row])) : 0;
    to[row] = static_cast<To>(static_cast<float>(before + sum));
  }
};

/// Bottoms are stored as T, a parameter is f32; it is factor 1.
template <typename T>
class ProductGpu : public Kernel {
 public:
  explicit ProductGpu(const KernelRequest& request) : layer_(request.layer<ProductLayer>()) {
    assert(layer_.factor_bottom(0) >= 0);
    book_product(request, booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override { layer_.factor_bottom(1) < 0 ? multiply<float>(run) : multiply<T>(run); }

  void backward(const KernelRun& run) override {
    layer_.factor_bottom(1) < 0 ? gradients<float>(run) : gradients<T>(run);
    const int added = layer_.added_bottom();
    if (added < 0) return;
    const Tensor& diff = run.bottom_diffs[static_cast<size_t>(added)];
    if (diff) gpu_copy_unless_shared(run.stream, run.top_diffs[0], diff);
  }

 private:
  template <typename B>
  void multiply(const KernelRun& run) const {
    const int added = layer_.added_bottom();
    for_each(run.stream, run.tops[0].count(),
             ProductEach<T, B>{.in_a = GatherPlaces(layer_.product().factors[0]),
                               .in_b = GatherPlaces(layer_.product().factors[1]),
                               .a = factor_of(layer_, run, 0).template as<T>(),
                               .b = factor_of(layer_, run, 1).template as<B>(),
                               .c = added < 0 ? nullptr : run.bottoms[static_cast<size_t>(added)].template as<T>(),
                               .y = run.tops[0].as<T>()});
  }

  template <typename B>
  void gradients(const KernelRun& run) const {
    sum<B, T>(run, 0);
    sum<T, B>(run, 1);
  }

  template <typename Other, typename To>
  void sum(const KernelRun& run, int f) const {
    const FactorGradient target = factor_gradient(layer_, run, f);
    if (!target.tensor) return;
    if (!has_gradient(layer_, f)) return gpu_fill_zero(run.stream, target.tensor.data, target.tensor.desc.bytes());
    const ProductGradient& g = layer_.product().gradients[static_cast<size_t>(f)];
    reduce_rows(run.stream, g.row_dy.count(), g.column_dy.count(),
                ProductSums<T, Other, To>{.row_dy = GatherPlaces(g.row_dy),
                                          .row_other = GatherPlaces(g.row_other),
                                          .column_dy = GatherPlaces(g.column_dy),
                                          .column_other = GatherPlaces(g.column_other),
                                          .dy = run.top_diffs[0].as<T>(),
                                          .other = factor_of(layer_, run, 1 - f).template as<Other>(),
                                          .to = target.tensor.as<To>(),
                                          .adds = target.add});
  }

  const ProductLayer& layer_;
};

inline std::unique_ptr<Kernel> make_gpu_product(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const Product& product = request.layer<ProductLayer>().product();
  if (!gpu_takes_gathers(product.factors[0], product.factors[1], why_not)) return nullptr;
  return make_stored<ProductGpu>(request);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Registers it for a ProductLayer's type: `ROBUSTA_REGISTER_GPU_PRODUCT(Mul);`
#define ROBUSTA_REGISTER_GPU_PRODUCT(type)                           \
  [[maybe_unused]] static const bool registered_gpu_product_##type = \
      ::robusta::register_kernel({#type, "gpu", ::robusta::kGpuKind, 10, ::robusta::make_gpu_product})
