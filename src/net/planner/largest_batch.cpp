// Doubling until a batch no longer fits, then bisection: a plan's memory grows with its batch.

#include "net/planner/largest_batch.h"

#include "base/log.h"
#include "net/graph/build_graph.h"
#include "net/planner/budget.h"
#include "net/planner/planner.h"

namespace robusta {

int64_t largest_batch(size_t bytes, const std::function<size_t(int64_t)>& plan_batch) {
  if (plan_batch(1) > bytes) return 0;
  int64_t fits = 1, limit = 2;
  while (limit <= (int64_t{1} << 20) && plan_batch(limit) <= bytes) fits = limit, limit *= 2;
  while (limit - fits > 1) {
    const int64_t middle = fits + (limit - fits) / 2;
    (plan_batch(middle) <= bytes ? fits : limit) = middle;
  }
  return fits;
}

int64_t largest_fitting_batch(const NetDef& def, NetOptions options, const Graph* lender) {
  const QuietLog quiet;
  // A batch that is named has to fit in the next start, too. What a host leaves differs by a few MB from one to the
  // next, and libraries pack the matrices that they multiply into memory of their own.
  constexpr size_t kReserve = 16;
  if (options.budget && options.device->is_host()) {
    options.budget = std::make_shared<MemoryBudget>(*options.budget);
    options.budget->limit -= options.budget->limit / kReserve;
  }
  options.divide_batch = false;
  options.tuner = nullptr;  // another batch is another shape: timing it would take long
  bool chosen = true;
  const auto bytes_too_many = [&](int64_t batch) -> size_t {
    options.batch = batch;
    const Graph graph = build_graph(def, options, lender);
    chosen = chosen && graph.batch() == batch;
    return chosen && fits(make_plan(graph, options)) ? 0 : 1;
  };
  return largest_batch(0, bytes_too_many);
}

}  // namespace robusta
