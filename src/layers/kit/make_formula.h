/// Formulas: class templates over the functions of math.h, whose instances hold what a layer's fields say.
#pragma once

#include <type_traits>

#include "layers/kit/kernel.h"

namespace robusta {

/// One of the first layer's message, or by default where it reads no field.
template <typename Formula>
Formula make_formula(const KernelRequest& request) {
  if constexpr (std::is_constructible_v<Formula, const caffe::LayerParameter&>) {
    return Formula(request.layers[0]->param());
  } else {
    return Formula();
  }
}

}  // namespace robusta
