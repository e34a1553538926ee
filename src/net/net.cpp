// Holds a net's parts together: sources are prepared, shapes that changed are planned for, the executor runs the pass.

#include "net/net.h"

#include <cassert>
#include <utility>

#include "net/graph/build_graph.h"
#include "net/plan/precision.h"
#include "net/planner/budget.h"
#include "net/planner/out_of_memory.h"
#include "net/planner/planner.h"
#include "net/run/executor.h"
#include "net/run/fill_params.h"

namespace robusta {
namespace {

/// Whose parameters a net with these options uses; null: its own alone.
const Graph* lender_of(const NetOptions& options) {
  return options.share_params ? &options.share_params->graph() : nullptr;
}

NetState planned(NetDef def, NetOptions options) {
  NetState state;
  state.options = std::move(options);
  state.graph = build_graph(std::move(def), state.options, lender_of(state.options));
  if (!state.options.share_params) explain_precision(state.graph, state.options);
  state.plan = make_plan(state.graph, state.options);
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
  take_from_budget();
  params_.take(state_.graph, state_.plan, own, stream());
  fill_params(state_.graph, own.seed, stream());
  make_executor();
}

/// What is enqueued uses the memory of the parameters: the executor, which waits for it, goes first.
Net::~Net() { state_.executor.reset(); }

void Net::make_executor() {
  state_.executor =
      std::make_unique<Executor>(state_.graph, state_.plan, state_.options, *state_.options.arena, stream());
}

void Net::replan() {
  if (prefetched_) prefetched_->sent = false;
  state_.executor.reset();
  if (state_.options.budget) state_.options.budget->taken -= taken_;
  state_.plan = make_plan(state_.graph, state_.options);
  take_from_budget();
  make_executor();
  state_.executor->write_constants(loss_scale_);
  diagnostics_.attach();
}

void Net::set_loss_scale(double scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  state_.executor->write_constants(scale);
}

/// Here everything is known that this net will take, and nothing is taken yet.
void Net::take_from_budget() {
  const NetOptions& options = state_.options;
  if (!options.budget) return;
  if (!fits(state_.plan)) throw out_of_memory(state_.graph, state_.plan, options, lender_of(options));
  taken_ = fixed_bytes(state_.graph, options) + state_.plan.persistent_bytes;
  options.budget->taken += taken_;
}

void Net::prepare_sources(const Pass& pass) {
  for (Node& node : state_.graph.nodes) {
    if (!node.source) continue;
    try {
      shapes_changed_ = node.source->prepare(pass) || shapes_changed_;
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
}

void Net::prefetch(const Pass& next) {
  if (state_.options.device->is_host()) return;
  prefetched_.reset();
  try {
    prepare_sources(next);
    if (!shapes_changed_) state_.executor->send_batch(next);
    prefetched_ = {next.seed, next.first_sample, next.batch, !shapes_changed_};
  } catch (const Error&) {
    // Met again by the pass itself, if it comes.
  }
}

double Net::forward(const Pass& pass, ParamGate* gate) {
  start_forward(pass, gate);
  return finish_forward();
}

void Net::start_forward(const Pass& pass, ParamGate* gate) {
  assert(state_.executor && "the net was only planned");
  const auto ahead = std::exchange(prefetched_, std::nullopt);
  const bool prepared =
      ahead && ahead->seed == pass.seed && ahead->first_sample == pass.first_sample && ahead->batch == pass.batch;
  if (!prepared) prepare_sources(pass);
  if (shapes_changed_) {
    infer_shapes(state_.graph);
    replan();
    shapes_changed_ = false;
  }
  state_.executor->forward(pass, gate, prepared && ahead->sent);
}

double Net::finish_forward() { return state_.executor->finish_forward(); }

void Net::backward(const Pass& pass, bool accumulate, GradientSink* sink) {
  assert(state_.options.backward);
  state_.executor->backward(pass, accumulate, sink);
}

void Net::reshape_input(const std::string& blob, const Shape& shape) {
  blobs_.shape(blob);  // names the nearest blob where there is none
  const BlobVersion& version = state_.graph.versions[state_.graph.find(blob)];
  const Node& node = state_.graph.nodes[version.producer];
  if (!node.source || !node.source->reshape_top(version.top, shape)) {
    throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" cannot be reshaped", "only tops of Input layers can");
  }
  infer_shapes(state_.graph);
  replan();
}

}  // namespace robusta
