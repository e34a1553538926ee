/// The search for the first value of a pass that is not finite, for reports of a training that has diverged.
#pragma once

#include <string>

#include "net/net.h"

namespace robusta {

struct NonFinite {
  std::string layer;  ///< "" when everything is finite
  std::string what;   ///< `top "conv1"`, `parameter 0`
};

/// Looks at all parameters, then runs the forward pass again, looking at every value as it is made. Replaces a hook.
NonFinite find_non_finite(Net& net, const Pass& pass);

}  // namespace robusta
