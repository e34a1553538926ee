// Passes: sources are prepared, shapes that changed are planned for, the executor runs the pass.

#include "net/net.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "layers/kit/sized_by_bottoms.h"
#include "net/graph/shapes.h"
#include "net/run/executor.h"

namespace robusta {

void Net::set_loss_scale(double scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  state_.running().write_constants(scale);
}

void Net::prepare_sources(const Pass& pass, const NodeRange& part) {
  for (const NodeId n : state_.graph.nodes.ids()) {
    Node& node = state_.graph.nodes[n];
    if (!node.source || !part.contains(n)) continue;
    try {
      shapes_changed_ = node.source->prepare(pass) || shapes_changed_;
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
}

void Net::set_samples(const std::string& layer, std::span<const float> data, std::span<const float> labels) {
  for (const Node& node : state_.graph.nodes) {
    if (!node.source || node.layer->name() != layer) continue;
    try {
      if (!node.source->set_samples(data, labels)) continue;
    } catch (Error& error) {
      rethrow_at(std::move(error), layer, node.where);
    }
    prefetched_.reset();
    return;
  }
  throw Error(ErrorKind::kUsage, "there is no MemoryData layer \"" + layer + "\"",
              "inputs of other layers are written by their blobs");
}

void Net::prefetch(const Pass& next) {
  if (state_.options.device->is_host()) return;
  prefetched_.reset();
  try {
    prepare_sources(next, all_nodes());
    if (!shapes_changed_) state_.running().send_batch(next);
    prefetched_ = {next.seed, next.first_sample, next.batch, !shapes_changed_};
  } catch (const Error&) {
    // Met again by the pass itself, if it comes.
  }
}

/// Copies that kernels keep of parameters are renewed where a program may have changed these.
void Net::renew_exposed() {
  for (const ParamPtr& param : state_.graph.params) {
    if (param->exposed) ++param->version;
  }
}

double Net::forward(const Pass& pass, ParamGate* gate) {
  start_forward(pass, gate);
  return finish_forward();
}

void Net::start_forward(const Pass& pass, ParamGate* gate, PassPrelude* prelude) {
  assert(!state_.options.plan_only && "the net was only planned");
  has_run_.assign(state_.plan.units.size(), false);
  ran_back_.assign(state_.plan.units.size(), false);
  const auto ahead = std::exchange(prefetched_, std::nullopt);
  const bool prepared =
      ahead && ahead->seed == pass.seed && ahead->first_sample == pass.first_sample && ahead->batch == pass.batch;
  if (!prepared) prepare_sources(pass, all_nodes());
  adopt_shapes();
  if (!state_.executor) make_executor();
  renew_exposed();
  state_.executor->begin_forward(pass, prepared && ahead->sent, gate, prelude);
  StepId at(0);
  for (const NodeId sizer : state_.graph.sizers) at = run_to_sizer(sizer, at, pass, gate);
  state_.executor->run_forward(at, state_.plan.backward_begin, gate);
  state_.executor->end_forward();
  has_run_.assign(state_.plan.units.size(), true);
}

/// Runs the steps from `begin` on to that of a layer whose tops are of the size that its values ask for, and sees to
/// it. Returns that step, which has not run.
StepId Net::run_to_sizer(NodeId sizer, StepId begin, const Pass& pass, ParamGate* gate) {
  const StepId at = forward_step(state_.plan, sizer);
  state_.executor->run_forward(begin, at, gate);
  const auto start = std::chrono::steady_clock::now();
  if (has_other_size(sizer)) replan_within(at, pass);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  diagnostics_.add_time(sizer, taken.count());
  return at;
}

/// Asks a layer with a sizing bottom, whose values are there, whether its tops are of another size than planned.
bool Net::has_other_size(NodeId sizer) {
  const Node& node = state_.graph.nodes[sizer];
  try {
    tell_sizes(*node.layer, [&](int bottom) {
      return state_.executor->read(state_.plan.data[node.bottoms[static_cast<size_t>(bottom)]]);
    });
  } catch (Error& error) {
    rethrow_at(std::move(error), node.layer->name(), node.where);
  }
  const std::vector<Shape> tops = node.layer->infer_tops(bottom_shapes(state_.graph, node));
  const auto is_planned = [&](VersionId top, const Shape& shape) { return state_.graph.versions[top].shape == shape; };
  return !std::ranges::equal(node.tops, tops, is_planned);
}

bool Net::adopt_shapes() {
  if (!shapes_changed_) return false;
  state_.executor ? plan_keeping(StepId(0)) : plan_new_shapes();
  shapes_changed_ = false;
  return true;
}

double Net::finish_forward() {
  auto ran = std::exchange(has_run_, {});
  const double loss = state_.running().finish_forward();
  has_run_ = std::move(ran);
  return loss;
}

void Net::backward(const Pass& pass, bool accumulate, GradientSink* sink) {
  assert(state_.options.backward);
  if (!state_.options.keep_blobs) has_run_.clear();
  ran_back_.assign(state_.plan.units.size(), true);
  state_.running().backward(pass, accumulate, sink);
}

}  // namespace robusta
