/// Layers whose top is the product of two factors that differ in extents: Mul, Axpy and ChannelScale say which, and
/// have all kernels.
///
/// A factor of extent 1 along an axis of the top is repeated along it, as in array libraries (van der Walt et al. 2011,
/// "The NumPy Array", section "Broadcasting rules"). A further bottom may be added to the product.
///
///     ROBUSTA_REGISTER_PRODUCT("Mul", MulLayer);    the layer and the reference
///     ROBUSTA_REGISTER_GPU_PRODUCT(Mul);            in mul_gpu.cpp: backends/gpu/product.h
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layers/kit/gather.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"

namespace robusta {

/// The gradient of one factor: element `row` is the sum over `column` of dy * the other factor, which lie at the sums
/// of two places each, one of the row and one of the column.
struct ProductGradient {
  Gather row_dy, row_other, column_dy, column_other;
};

struct Product {
  std::array<Gather, 2> factors;  ///< of the plain top: where each factor has what an element is made of
  std::array<ProductGradient, 2> gradients;
};

using Extents = std::vector<int64_t>;

/// All have as many axes; along each, a factor has the extent of the top or 1.
Product make_product(const Extents& top, const Extents& first, const Extents& second);

class ProductLayer : public Layer {
 public:
  using Layer::Layer;
  /// The bottom that factor 0 or 1 is; -1: parameter 0.
  virtual int factor_bottom(int f) const { return f; }
  /// The bottom, of the shape of the top, that is added to the product; -1: none.
  virtual int added_bottom() const { return -1; }
  /// After infer_tops.
  const Product& product() const { return product_; }

 protected:
  void set_product(Product product) { product_ = std::move(product); }

 private:
  Product product_;
};

inline Tensor factor_of(const ProductLayer& layer, const KernelRun& run, int f) {
  const int bottom = layer.factor_bottom(f);
  return bottom < 0 ? run.params[0]->tensor() : run.bottoms[static_cast<size_t>(bottom)];
}

/// False: the layer keeps its gradient from a bottom, and zeros stand for it.
inline bool has_gradient(const ProductLayer& layer, int f) {
  const int bottom = layer.factor_bottom(f);
  return bottom < 0 || layer.allows_gradient(bottom);
}

/// Where the gradient of factor f goes, null where nobody wants it, and whether it is added there.
struct FactorGradient {
  Tensor tensor;
  bool add = false;  ///< to what is there, as for a parameter of several layers
};
FactorGradient factor_gradient(const ProductLayer& layer, const KernelRun& run, int f);

/// What all their kernels book: each factor is read for the gradient of the other one.
void book_product(const KernelRequest& request, Booking& booking);

/// Registers the reference kernel.
bool register_product_kernel(const std::string& type);

#define ROBUSTA_REGISTER_PRODUCT(type, Class) \
  ROBUSTA_REGISTER_LAYER(type, Class);        \
  static const bool registered_product_##Class = ::robusta::register_product_kernel(type)

}  // namespace robusta
