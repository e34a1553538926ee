/// Where a loss that is not finite comes from.
#pragma once

#include "robusta/error.h"
#include "solver/loop/training.h"

namespace robusta {

/// Error{kNumeric} with the first layer whose value is not finite, the rate, and the samples of the batch. Runs the
/// forward pass again.
Error not_finite_error(const Training& training, double loss, Pass pass);

}  // namespace robusta
