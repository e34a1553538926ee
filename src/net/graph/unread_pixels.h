/// Inference computes only the pixels that somebody reads.
///
/// A convolution of one tap and stride s reads every s-th pixel of each axis. The first layers of most stages of a
/// ResNet are such (He et al. 2016, "Deep Residual Learning for Image Recognition", table 1), so that three quarters of
/// what the last block of the stage before computes is thrown away. Here the stride moves up: through all that treats
/// each pixel by itself into the convolution below, which then is of stride s, and the one that had it of stride 1. The
/// results are the same; the blobs between them have fewer pixels.
#pragma once

#include "net/graph/graph.h"

namespace robusta {

/// Moves strides up where that is possible, and logs where. A sum takes every s-th pixel of what cannot compute fewer,
/// a shortcut that others read, too, by a Pooling of one tap that is put behind it. REQUIRES: no gradients are marked,
/// none is wanted, and nobody reads what lies between the layers; no layer is cut into parts.
void skip_unread_pixels(Graph& graph);

}  // namespace robusta
