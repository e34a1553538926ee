/// A BatchNorm and what may be computed with it: the Scale and the ReLU after it.
#pragma once

#include <string>

#include "layers/kit/kernel.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/relu/relu.h"
#include "layers/types/scale/scale.h"

namespace robusta {

/// The layers of a request for BatchNorm, BatchNorm+Scale, BatchNorm+ReLU or BatchNorm+Scale+ReLU, and where scale and
/// shift are among the parameters of the chain; -1: there is none.
struct NormChain {
  const BatchNormLayer* norm;
  const ScaleLayer* scale = nullptr;
  const ReluLayer* relu = nullptr;
  int scale_param = -1, shift_param = -1;

  explicit NormChain(const KernelRequest& request) : norm(&request.layer<BatchNormLayer>()) {
    for (size_t i = 1; i < request.layers.size(); ++i) {
      if (request.layers[i]->type() == "Scale") scale = &request.layer<ScaleLayer>(i);
      if (request.layers[i]->type() == "ReLU") relu = &request.layer<ReluLayer>(i);
    }
    if (scale || norm->has_scale()) scale_param = 3;
    if (norm->has_scale() || (scale && scale->has_bias())) shift_param = 4;
  }

  /// Why these layers cannot be computed as one; "" when they can.
  std::string obstacle() const {
    if (!scale) return "";
    if (norm->has_scale()) return "the BatchNorm has a scale of its own";
    const bool by_channel = scale->outer() == norm->batch() && scale->count() == norm->channels();
    return scale->scale_is_bottom() || !by_channel ? "the Scale is not by channel" : "";
  }
};

}  // namespace robusta
