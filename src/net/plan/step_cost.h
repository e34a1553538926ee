/// How long steps take, as far as arithmetic and memory traffic tell: for predictions, before anything runs.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// Floating-point operations of one forward pass through the unit's layers.
double unit_flops(const Graph& graph, const Unit& unit);

/// What a step has to do at least: every value it uses is read or written once.
struct StepWork {
  double flops = 0;  ///< a multiply-add counted as two
  double bytes = 0;
};
StepWork step_work(const Graph& graph, const Plan& plan, const Step& step);

/// The longer of a step's arithmetic and its memory traffic. Backward counts as much arithmetic as forward for each of
/// the two gradients, of the bottoms and of the parameters.
double step_seconds(const Graph& graph, const Plan& plan, const Step& step, const MachineRates& rates);

}  // namespace robusta
