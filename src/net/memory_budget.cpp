#include "net/memory_budget.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/log.h"
#include "base/str.h"
#include "net/net.h"
#include "net/peak.h"
#include "net/report.h"

namespace robusta {
namespace {

constexpr size_t kValuesNamed = 4;

std::string largest_values(const Plan& plan, const Peak& peak) {
  std::string text;
  for (size_t i = 0; i < std::min(peak.values.size(), kValuesNamed); ++i) {
    const Value& value = plan.values[static_cast<size_t>(peak.values[i])];
    text += str(i > 0 ? ", " : "", value.label, ' ', bytes_text(value.bytes));
  }
  return text;
}

std::string layer_of(const Graph& graph, const Plan& plan, int step) {
  const int node = plan.units[static_cast<size_t>(plan.steps[static_cast<size_t>(step)].unit)].nodes[0];
  return graph.nodes[static_cast<size_t>(node)].layer->name();
}

std::string batch_hint(int64_t largest, const char* flags) {
  return largest > 0 ? str("a batch of at most ", largest, " (-batch ", largest, flags, ")") : "a smaller batch";
}

/// For a batch that does not fit. Other batches are planned without timing kernels: by itself the answer may be off.
int64_t largest_below(const Graph& graph, const NetOptions& options) {
  return std::min(largest_fitting_batch(graph.def, options), graph.batch() - 1);
}

/// What large model support would make of this batch, and of the largest one.
std::string way_out(const Graph& graph, const NetOptions& options, int64_t largest) {
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
  const int64_t largest_moved = largest_below(graph, with);
  return str("not even -lms auto makes it fit: layer ", layer_of(graph, plan, peak_of(plan).step),
             " needs its values at the same time, and the least arena is ", bytes_text(plan.arena_bytes), "; use ",
             batch_hint(largest_moved, " -lms auto"));
}

}  // namespace

size_t fixed_bytes(const Graph& graph, const NetOptions& options) {
  size_t params = 0;
  for (size_t i = 0; i < graph.params.size(); ++i) {
    if (graph.filled_here[i]) params += align_up(graph.params[i]->desc.bytes());
  }
  if (!options.backward) return params;
  const auto histories = static_cast<size_t>(options.budget ? options.budget->histories : 0);
  return params * (2 + histories) + align_up(options.gradient_tail);
}

size_t room_for_arena(const MemoryBudget* budget, size_t fixed, double share) {
  if (!budget || budget->limit == MemoryBudget::kNoLimit) return share == 0 ? 0 : MemoryBudget::kNoLimit;
  const auto allowed = static_cast<size_t>(static_cast<double>(budget->limit) * share);
  const size_t others = budget->taken + fixed;
  return allowed > others ? allowed - others : 0;
}

Error out_of_memory(const Graph& graph, const Plan& plan, const NetOptions& options) {
  const MemoryBudget& budget = *options.budget;
  const size_t fixed = fixed_bytes(graph, options) + plan.persistent_bytes;
  const std::string cause = str(
      "out of memory: the net ", graph.def.param.name(), " with a batch of ", graph.batch(), " needs ",
      bytes_text(plan.arena_bytes + fixed + budget.taken), " of ", options.device->name(), ", and may have ",
      bytes_text(budget.limit), " (", budget.source, "): ", bytes_text(plan.arena_bytes), " for what one pass keeps, ",
      bytes_text(fixed + budget.taken), " for parameters, gradients and all else; the largest values at the peak are ",
      largest_values(plan, peak_of(plan)));
  NetOptions plain = options;
  plain.lms = {};
  const int64_t largest = largest_below(graph, plain);
  return Error(ErrorKind::kMemory, cause, way_out(graph, options, largest)).at(graph.def.file);
}

int64_t largest_fitting_batch(const NetDef& def, NetOptions options) {
  const QuietLog quiet;
  options.plan_only = true;
  options.arena = nullptr;
  options.gradient_memory = nullptr;
  options.divide_batch = false;
  options.tuner = nullptr;  // another batch is another shape: timing it would take long
  bool chosen = true;
  const auto bytes_too_many = [&](int64_t batch) -> size_t {
    options.batch = batch;
    const Net net(def, options);
    chosen = chosen && net.batch() == batch;
    return chosen && fits(net.plan()) ? 0 : 1;
  };
  return largest_batch(0, bytes_too_many);
}

}  // namespace robusta
