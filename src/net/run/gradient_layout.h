/// Where the gradients of a net's parameters lie in one block of memory: a pure function of plan and options.
///
/// Usually one after the other, in the order in which backward completes them. With options.gradient_buckets those of a
/// bucket do, and the buckets share memory as the values of a pass do (memory/placement.h): one may begin where an
/// earlier one lies that is complete, and behind which another one has become complete, so that the earlier one is
/// summed over ranks meanwhile. Whoever sums them says when its memory is free (GradientSink::begins).
#pragma once

#include <cstddef>
#include <vector>

#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

struct GradientLayout {
  std::vector<size_t> offsets;  ///< one per parameter
  size_t tail = 0;              ///< where the options' gradient_tail bytes begin
  size_t bytes = 0;             ///< of the block
};

/// Of `params`, of which the first `completed` get a gradient, in the order in which backward completes them.
GradientLayout lay_out_gradients(const std::vector<Param*>& params, size_t completed, const Plan& plan,
                                 const NetOptions& options);

/// How many parameters a GradientSink is told of.
size_t completed_by(const Plan& plan);

}  // namespace robusta
