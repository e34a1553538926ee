/// What keeps a deviation from 0: it is sqrt(variance + value), or sqrt(variance) + value, as `add_eps_before_sqrt:
/// false` says in foss-for-synopsys-dwc-arc-processors/synopsys-caffe (src/caffe/layers/batch_norm_layer.cpp;
/// Darknet's).
#pragma once

#include <cmath>

#include "base/half.h"

namespace robusta {

struct NormEps {
  double value = 0;
  bool outside = false;  ///< of the square root; for stored statistics alone

  /// What values about their mean are multiplied with.
  ROBUSTA_HOST_DEVICE double inverse(double variance) const {
    return 1 / (outside ? ::sqrt(variance) + value : ::sqrt(variance + value));
  }
};

}  // namespace robusta
