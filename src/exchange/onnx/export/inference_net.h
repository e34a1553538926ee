/// The part of a net that a model of ONNX holds: what its scores are computed by, from inputs that the caller writes.
///
/// Of a net in TEST the sources become inputs of their shapes, losses with a softmax or a sigmoid inside become these,
/// other losses and what compares scores with labels go, and with them whatever led to labels alone. A deploy net stays
/// as it is, but for inputs that nobody reads. DetectionOutput goes, too, unless it is asked for: its bottoms - places,
/// scores and priors - become outputs.
#pragma once

#include <cstdint>

#include "schema/source.h"

namespace robusta {

/// `net`: filtered for its state, without splits; so is what comes back. `batch` > 0 becomes the first extent of the
/// first input, and of all others that have the same; `nms`: DetectionOutput stays. Throws Error{kUnsupported} where
/// nothing is left.
NetDef inference_net(const NetDef& net, int64_t batch, bool nms);

}  // namespace robusta
