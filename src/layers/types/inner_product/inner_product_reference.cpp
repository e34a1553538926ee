// InnerProduct: the reference kernel: y = x W^T + b, dx = dy W, dW = dy^T x, and db = the sum of dy over the rows,
// carried in double; and the same where W are rows divided by their lengths.

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "layers/types/inner_product/inner_product_parts.h"
#include "layers/types/inner_product/inner_product_products.h"

namespace robusta {
namespace {

template <typename T>
class InnerProductReference : public InnerProductProducts<T> {
 public:
  using InnerProductProducts<T>::InnerProductProducts;
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override { product(run, run.params[0]->tensor().template as<T>()); }

 protected:
  void product(const KernelRun& run, const T* w) const {
    T* y = run.tops[0].as<T>();
    const T* bias = run.params.size() > 1 ? run.params[1]->tensor().template as<T>() : nullptr;
    const int64_t outputs = this->size_.outputs;
    for (int64_t r = 0; bias && r < this->size_.rows; ++r) std::copy(bias, bias + outputs, y + r * outputs);
    this->multiply(InnerProductStep::kForward, run.bottoms[0].as<T>(), w, bias != nullptr, y, run.scratch);
  }

 private:
  void bias_gradient(const T* dy, bool add, T* db) const override {
    const int64_t rows = this->size_.rows, outputs = this->size_.outputs;
    parallel_for(outputs, 1 + (1 << 14) / rows, [=](int64_t o) {
      double sum = add ? db[o] : T{0};
      for (int64_t r = 0; r < rows; ++r) sum += dy[r * outputs + o];
      db[o] = static_cast<T>(sum);
    });
  }
};

/// Of rows of length 1, which lie in scratch memory where the weights stay as they are. Backward: u, g, and lengths.
template <typename T>
class NormalizedInnerProduct : public InnerProductReference<T> {
 public:
  explicit NormalizedInnerProduct(const KernelRequest& request)
      : InnerProductReference<T>(request), writes_back_(request.layer<InnerProductLayer>().training()) {
    const size_t weights = static_cast<size_t>(count()) * sizeof(T);
    this->booking_.forward_scratch = writes_back_ ? 0 : weights;
    this->booking_.backward_scratch = 2 * weights + static_cast<size_t>(this->size_.outputs) * sizeof(T);
  }

  void forward(const KernelRun& run) override {
    T* w = run.params[0]->tensor().template as<T>();
    T* rows = writes_back_ ? w : static_cast<T*>(run.scratch);
    normalize(w, rows, nullptr);
    if (writes_back_) ++run.params[0]->version;
    this->product(run, rows);
  }

  void backward(const KernelRun& run) override {
    T *rows = static_cast<T*>(run.scratch), *g = rows + count(), *lengths = g + count();
    normalize(run.params[0]->tensor().template as<T>(), rows, lengths);
    const bool learns = run.params[0]->learns;
    this->gradients(run, rows, false, learns ? g : nullptr);
    if (learns) back_to_weights(rows, g, lengths, run.accumulate[0] != 0, run.params[0]->gradient().template as<T>());
  }

 private:
  int64_t count() const { return this->size_.outputs * this->size_.inputs; }

  /// A row of zeros has length 1.
  void normalize(const T* w, T* rows, T* lengths) const {
    const int64_t inputs = this->size_.inputs;
    parallel_for(this->size_.outputs, 1 + (1 << 13) / inputs, [=](int64_t o) {
      const T* from = w + o * inputs;
      double square = 0;
      for (int64_t k = 0; k < inputs; ++k) square += static_cast<double>(from[k]) * from[k];
      const T length = square > 0 ? static_cast<T>(std::sqrt(square)) : T{1};
      for (int64_t k = 0; k < inputs; ++k) rows[o * inputs + k] = from[k] / length;
      if (lengths) lengths[o] = length;
    });
  }

  void back_to_weights(const T* rows, const T* g, const T* lengths, bool add, T* dw) const {
    const int64_t inputs = this->size_.inputs;
    parallel_for(this->size_.outputs, 1 + (1 << 13) / inputs, [=](int64_t o) {
      const int64_t first = o * inputs;
      double along = 0;
      for (int64_t i = first; i < first + inputs; ++i) along += static_cast<double>(g[i]) * rows[i];
      for (int64_t i = first; i < first + inputs; ++i) {
        dw[i] = (add ? dw[i] : T{0}) + (g[i] - static_cast<T>(along) * rows[i]) / lengths[o];
      }
    });
  }

  const bool writes_back_;
};

std::unique_ptr<Kernel> make_inner_product_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if (request.layer<InnerProductLayer>().group()) return std::make_unique<InnerProductParts<T>>(request);
    if (request.layer<InnerProductLayer>().normalizes()) return std::make_unique<NormalizedInnerProduct<T>>(request);
    return std::make_unique<InnerProductReference<T>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "reference", 0, make_inner_product_reference);

}  // namespace robusta
