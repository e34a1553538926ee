// How a net comes to its plan and its memory, at first and when its sources, or values in the middle of a pass, change
// shapes.
//
// What always holds: shapes, plan, executor and what is charged to the budget belong together. A planning that fails
// leaves those from before.

#include <cassert>
#include <utility>

#include "net/graph/build_graph.h"
#include "net/graph/shapes.h"
#include "net/net.h"
#include "net/plan/kernel_choice.h"
#include "net/plan/precision.h"
#include "net/planner/budget.h"
#include "net/planner/out_of_memory.h"
#include "net/planner/planner.h"
#include "net/run/executor.h"
#include "net/run/fill_params.h"
#include "net/run/live_values.h"

namespace robusta {
namespace {

/// Whose parameters a net with these options uses; null: its own alone.
const Graph* lender_of(const NetOptions& options) {
  return options.share_params ? &options.share_params->graph() : nullptr;
}

NetState planned(NetDef def, NetOptions options) {
  NetState state;
  state.options = std::move(options);
  check_kernels(state.options);
  state.graph = build_graph(std::move(def), state.options, lender_of(state.options));
  if (!state.options.share_params) explain_precision(state.graph, state.options);
  state.plan = make_plan(state.graph, state.options);
  if (!state.options.share_params) report_precision(state.plan, state.options);
  return state;
}

}  // namespace

Net::Net(NetDef def, NetOptions options)
    : state_(planned(std::move(def), std::move(options))), params_(state_.plan.completion) {
  NetOptions& own = state_.options;
  // Nets that share parameters read them after each other's updates.
  state_.stream = own.share_params ? own.share_params->state_.stream : own.device->make_stream();
  if (!own.arena) own.arena = std::make_shared<Arena>(*own.device);
  if (own.plan_only) return;
  if (own.budget && !own.params_only) require_room(state_.plan);
  params_.take(state_.graph, state_.plan, own, stream(), own.backward);
  fill_params(state_.graph, own.seed, *own.device, stream());
  if (own.params_only) return;
  make_executor();
  charge_budget(kept_bytes(state_.graph, state_.plan, own));
}

void Net::take_params(bool gradients) {
  assert(state_.options.plan_only);
  params_.take(state_.graph, state_.plan, state_.options, stream(), gradients);
  fill_params(state_.graph, state_.options.seed, *state_.options.device, stream());
}

/// What is enqueued uses the memory of the parameters: the executor, which waits for it, goes first.
Net::~Net() { state_.executor.reset(); }

void Net::make_executor() {
  carried_.take(state_.graph, state_.options, stream());
  ++plannings_;
  state_.executor =
      std::make_unique<Executor>(state_.graph, state_.plan, state_.options, *state_.options.arena, stream());
  if (loss_scale_ != 1) state_.executor->write_constants(loss_scale_);
  diagnostics_.attach();
}

std::vector<std::shared_ptr<const void>> Net::held_memory() const {
  std::vector<std::shared_ptr<const void>> held = params_.held();
  if (state_.executor) held.push_back(state_.executor->kept_memory());
  if (state_.options.share_params) {
    for (auto& memory : state_.options.share_params->held_memory()) held.push_back(std::move(memory));
  }
  return held;
}

void Net::plan_new_shapes() {
  const VersionShapes before = shapes_of(state_.graph);
  try {
    infer_shapes(state_.graph);
    replan();
  } catch (...) {
    restore_shapes(state_.graph, before);
    throw;
  }
}

void Net::replan() {
  if (prefetched_) prefetched_->sent = false;
  const size_t before = taken_;
  charge_budget(0);
  try {
    Plan plan = make_plan(state_.graph, state_.options);
    if (state_.options.budget) require_room(plan);
    adopt(std::move(plan));
  } catch (...) {
    charge_budget(before);
    throw;
  }
  charge_budget(kept_bytes(state_.graph, state_.plan, state_.options));
}

/// Before step `at`, in the middle of a pass: shapes from there on are others. What the pass has computed so far stays.
void Net::replan_within(StepId at, const Pass& pass) {
  state_.executor->check_kernels();
  plan_keeping(at);
  state_.executor->resume_forward(pass, at);
}

/// What steps before `at` have computed stays, and what inputs hold.
void Net::plan_keeping(StepId at) {
  const LiveValues live(state_, at);
  try {
    plan_new_shapes();
  } catch (...) {
    if (state_.executor) live.restore();  // for what inputs hold
    throw;
  }
  live.restore();
}

/// The executor goes before the next one is made, which may want its memory.
void Net::adopt(Plan plan) {
  has_run_.clear();
  ran_back_.clear();
  diagnostics_.keep_times();
  state_.executor.reset();
  std::swap(state_.plan, plan);
  try {
    make_executor();
  } catch (...) {
    state_.executor.reset();
    std::swap(state_.plan, plan);
    make_executor();
    throw;
  }
}

/// Here everything is known that this net will take, and nothing is taken yet.
void Net::require_room(const Plan& plan) const {
  if (!fits(plan)) throw out_of_memory(state_.graph, plan, state_.options, lender_of(state_.options));
}

/// From here on the net takes so many bytes of the budget.
void Net::charge_budget(size_t bytes) {
  if (!state_.options.budget) return;
  state_.options.budget->taken += bytes - taken_;
  taken_ = bytes;
}

VersionId Net::require_input(const std::string& blob) const {
  blobs_.shape(blob);  // names the nearest blob where there is none
  const VersionId input = state_.graph.find_input(blob);
  if (input) return input;
  throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" cannot be reshaped", "only tops of Input layers can");
}

void Net::set_top_shape(VersionId input, const Shape& shape) {
  const BlobVersion& version = state_.graph.versions[input];
  state_.graph.nodes[version.producer].source->reshape_top(version.top, shape);
}

void Net::reshape_inputs(const std::vector<std::pair<std::string, Shape>>& inputs) {
  std::vector<VersionId> versions;
  for (const auto& [blob, shape] : inputs) versions.push_back(require_input(blob));
  const VersionShapes before = shapes_of(state_.graph);
  try {
    for (size_t i = 0; i < inputs.size(); ++i) set_top_shape(versions[i], inputs[i].second);
    plan_new_shapes();
  } catch (...) {
    for (const VersionId input : versions) set_top_shape(input, before[input]);
    throw;
  }
}

}  // namespace robusta
