// Large model support by rewriting the plan with copies out and in, as TFLMS does with TensorFlow's graphs (Le et al.
// 2018, "TFLMS: Large Model Support in TensorFlow by Graph Rewriting").

#include "net/offload/offload.h"

#include <algorithm>

#include "memory/plan_residency.h"
#include "net/offload/blocks.h"
#include "net/offload/copy_order.h"
#include "net/offload/rewriter.h"
#include "net/plan/step_cost.h"

namespace robusta {
namespace {

ResidencyProblem problem_of(const Plan& plan, const Graph& graph, const NetOptions& options, const BlockTable& table) {
  ResidencyProblem problem;
  for (const Step& step : plan.steps) problem.step_seconds.push_back(step_seconds(graph, plan, step, options.rates));
  problem.blocks = table.blocks;
  problem.out_rate = problem.in_rate = options.rates.link;
  if (options.lms.mode == LmsOptions::Mode::kThreshold) {
    problem.min_bytes = options.lms.min_bytes;
    problem.across = plan.backward_begin;
  }
  return problem;
}

}  // namespace

void offload(Plan& plan, const Graph& graph, const NetOptions& options, size_t budget, size_t goal) {
  const BlockTable table = blocks_of(graph, plan, options.rates);
  ResidencyProblem problem = problem_of(plan, graph, options, table);
  Offloading& summary = plan.offloading;
  summary = {};
  summary.planned = true;
  summary.resident_arena_bytes = plan_residency(problem).arena_bytes;
  for (const double seconds : problem.step_seconds) summary.step_seconds += seconds;
  problem.budget = budget;
  problem.goal = std::min(goal, budget);
  const Residency residency = plan_residency(problem);
  for (const Absence& absence : residency.absences) ++(absence.repeated ? summary.repeated : summary.moved);
  summary.bytes_out = residency.bytes_out;
  summary.bytes_in = residency.bytes_in;
  summary.exposed_seconds = residency.exposed_seconds;
  summary.repeat_seconds = residency.repeat_seconds;
  Rewriter(plan, table, residency).run();
  order_copies(plan);
}

}  // namespace robusta
