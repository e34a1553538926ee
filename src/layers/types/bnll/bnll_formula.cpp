// BNLL, the binomial normal log likelihood, also called softplus: y = log(1 + e^x), dy/dx = 1 / (1 + e^-x) (Dugas et
// al. 2001, "Incorporating second-order functional knowledge for better option pricing").
//
// Computed as max(x, 0) + log(1 + e^-|x|), which overflows for no x.

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct Bnll {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x > 0, x, 0) + Math::log1p(Math::exp(-Math::abs(x))); }
  ROBUSTA_GPU T slope(T x) const { return Math::sigmoid(x); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("BNLL", Bnll);

}  // namespace robusta
