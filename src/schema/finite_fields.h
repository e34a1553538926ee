/// Numbers of layers that are none.
#pragma once

#include "schema/source.h"

namespace robusta {

/// Throws Error{kConfig} at the first number of a layer that is NaN, or infinite where every sample, loss or weight
/// would become so: in transform_param, fillers, loss_weight and the factors of a parameter. Elsewhere infinity may be
/// meant, as the bound of a Clip.
void refuse_not_finite(const NetDef& net);

}  // namespace robusta
