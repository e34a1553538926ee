/// The loss scale over the course of a training (update/loss_scale.h): where it begins, and what follows an iteration.
#pragma once

#include "solver/loop/training.h"

namespace robusta {

/// Gradients that are stored as f16 are scaled: as the state says, else from NVIDIA's field or the usual start on.
/// Others are not. Throws Error{kConfig} for a start that cannot be.
void begin_loss_scale(Training& training);

/// After an iteration. All ranks come to the same conclusion: they looked at the same sums of gradients. Throws
/// Error{kNumeric} on all when no scale helps.
void adapt_loss_scale(Training& training);

}  // namespace robusta
