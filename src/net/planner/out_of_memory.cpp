// The error that says what would fit: other batches are planned, and large model support, none of which takes memory.

#include "net/planner/out_of_memory.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/str.h"
#include "net/plan/peak.h"
#include "net/planner/budget.h"
#include "net/planner/largest_batch.h"
#include "net/planner/planner.h"

namespace robusta {
namespace {

constexpr size_t kValuesNamed = 4;

std::string largest_values(const Plan& plan, const Peak& peak) {
  std::string text;
  for (size_t i = 0; i < std::min(peak.values.size(), kValuesNamed); ++i) {
    const Value& value = plan.values[peak.values[i]];
    text += str(i > 0 ? ", " : "", value.label, ' ', bytes_text(value.bytes));
  }
  return text;
}

std::string layer_of(const Graph& graph, const Plan& plan, StepId step) {
  const NodeId node = plan.units[plan.steps[step].unit].nodes[0];
  return graph.nodes[node].layer->name();
}

std::string batch_hint(int64_t largest, const char* flags) {
  return largest > 0 ? str("a batch of at most ", largest, " (-batch ", largest, flags, ")") : "a smaller batch";
}

/// For a batch that does not fit. Other batches are planned without timing kernels: by itself the answer may be off.
int64_t largest_below(const Graph& graph, const NetOptions& options, const Graph* lender) {
  return std::min(largest_fitting_batch(graph.def, options, lender), graph.batch() - 1);
}

/// What large model support would make of this batch, and of the largest one.
std::string suggestion(const Graph& graph, const NetOptions& options, const Graph* lender, int64_t largest) {
  if (options.device->is_host()) return "use " + batch_hint(largest, "");
  NetOptions with = options;
  with.lms = {};
  with.lms.mode = LmsOptions::Mode::kAuto;
  const Plan plan = make_plan(graph, with);
  if (fits(plan)) {
    const Offloading& o = plan.offloading;
    const double cost = 100 * (o.exposed_seconds + o.repeat_seconds) / o.step_seconds;
    return str("give -lms auto: it fits then, with ", bytes_text(o.bytes_out), " moved to the host and ",
               bytes_text(o.bytes_in), " back per iteration, predicted to take ", std::lround(cost),
               " % longer; or use ", batch_hint(largest, ""));
  }
  const int64_t largest_moved = largest_below(graph, with, lender);
  return str("not even -lms auto makes it fit: layer ", layer_of(graph, plan, peak_of(plan).step),
             " needs its values at the same time, and the least arena is ", bytes_text(plan.arena_bytes), "; use ",
             batch_hint(largest_moved, " -lms auto"));
}

/// Where the batch of this net alone is not what the user gives.
std::string suggestion_for_parts(const NetOptions& options) {
  return str("cut each batch into more micro-batches (-micro_batches), or use a smaller one (-batch)",
             options.stage ? "; or give layers of this device to another one" : "");
}

}  // namespace

Error out_of_memory(const Graph& graph, const Plan& plan, const NetOptions& options, const Graph* lender) {
  const MemoryBudget& budget = *options.budget;
  const size_t fixed = kept_bytes(graph, plan, options);
  const std::string cause = str(
      "out of memory: the net ", graph.def.param.name(), " with a batch of ", graph.batch(), " needs ",
      bytes_text(plan.arena_bytes + fixed + budget.taken), " of ", options.device->name(), ", and may have ",
      bytes_text(budget.limit), " (", budget.source, "): ", bytes_text(plan.arena_bytes), " for what one pass keeps, ",
      bytes_text(fixed + budget.taken), " for parameters, gradients and all else; the largest values at the peak are ",
      largest_values(plan, peak_of(plan)));
  if (options.stage || options.micro_batches > 1) {
    return Error(ErrorKind::kMemory, cause, suggestion_for_parts(options)).at(graph.def.file);
  }
  NetOptions plain = options;
  plain.lms = {};
  const int64_t largest = largest_below(graph, plain, lender);
  return Error(ErrorKind::kMemory, cause, suggestion(graph, options, lender, largest)).at(graph.def.file);
}

}  // namespace robusta
