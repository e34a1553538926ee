// InnerProduct: the reference kernel: y = x W^T + b, dx = dy W, dW = dy^T x, and db = the sum of dy over the rows,
// carried in double.

#include <algorithm>

#include "base/parallel.h"
#include "layers/types/inner_product/inner_product_products.h"

namespace robusta {
namespace {

template <typename T>
class InnerProductReference : public InnerProductProducts<T> {
 public:
  using InnerProductProducts<T>::InnerProductProducts;
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    const T* bias = run.params.size() > 1 ? run.params[1]->tensor().template as<T>() : nullptr;
    const int64_t outputs = this->size_.outputs;
    for (int64_t r = 0; bias && r < this->size_.rows; ++r) std::copy(bias, bias + outputs, y + r * outputs);
    this->multiply(run.bottoms[0].as<T>(), run.params[0]->tensor().template as<T>(), bias ? 1 : 0, y);
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

}  // namespace

ROBUSTA_REGISTER_REFERENCE("InnerProduct", InnerProductReference);

}  // namespace robusta
