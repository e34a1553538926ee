// Translates the executor's steps into layers. Hooks and switches are kept here, as each planning makes a new executor.

#include "net/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "net/run/arrays.h"
#include "net/run/executor.h"
#include "net/state.h"

namespace robusta {
namespace {

double mean_of_abs(const std::vector<float>& numbers) {
  double sum = 0;
  for (float x : numbers) sum += std::fabs(x);
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

}  // namespace

bool Diagnostics::stores(DType type) const {
  const auto& values = net_.plan.values;
  return std::any_of(values.begin(), values.end(),
                     [=](const Value& value) { return !value.raw && value.desc.dtype == type; });
}

GraphUse Diagnostics::graphs() const { return net_.executor ? net_.executor->graphs() : GraphUse{}; }

CopyTotals Diagnostics::copies() const { return net_.executor ? net_.executor->copies() : CopyTotals{}; }

double Diagnostics::seconds_waited() const {
  double seconds = 0;
  for (const Node& node : net_.graph.nodes) {
    if (node.source) seconds += node.source->seconds_waited();
  }
  return seconds;
}

std::vector<std::string> Diagnostics::sample_keys(const Pass& pass, int most) const {
  std::vector<std::string> keys;
  for (const Node& node : net_.graph.nodes) {
    if (!node.source) continue;
    for (int64_t i = 0; i < std::min<int64_t>(pass.batch, most); ++i) {
      const std::string key = node.source->sample_key(pass.first_sample + static_cast<uint64_t>(i));
      if (!key.empty()) keys.push_back(key);
    }
  }
  return keys;
}

double Diagnostics::mean_abs(VersionId version, bool diff) const {
  const ValueId value = (diff ? net_.plan.diff : net_.plan.data)[version];
  return !value ? -1 : mean_of_abs(net_.running().read(value));
}

double Diagnostics::mean_abs(const Param& param, bool diff) const {
  return mean_of_abs(read_array(*net_.stream, diff ? param.gradient() : param.tensor()));
}

std::vector<float> Diagnostics::read_value(ValueId value) const { return net_.running().read(value); }

void Diagnostics::set_profiling(bool on) {
  profiles_ = on;
  kept_ = {};
  net_.running().reset_times();
  net_.running().set_profiling(on);
}

void Diagnostics::add_time(NodeId layer, double ms) {
  if (!profiles_) return;
  if (kept_.empty()) kept_ = IdVector<NodeId, LayerTime>(net_.graph.nodes.size());
  kept_[layer].forward_ms += ms;
}

void Diagnostics::keep_times() {
  if (!profiles_ || !net_.executor) return;
  if (kept_.empty()) kept_ = IdVector<NodeId, LayerTime>(net_.graph.nodes.size());
  add_steps(kept_);
  net_.executor->reset_times();
}

/// Those of the plan that runs now.
void Diagnostics::add_steps(IdVector<NodeId, LayerTime>& times) const {
  const Plan& plan = net_.plan;
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    LayerTime& time = times[plan.units[step.unit].nodes[0]];
    (step.in_backward ? time.backward_ms : time.forward_ms) += net_.running().step_ms()[s];
  }
}

std::vector<LayerTime> Diagnostics::layer_times() const {
  IdVector<NodeId, LayerTime> times = kept_.empty() ? IdVector<NodeId, LayerTime>(net_.graph.nodes.size()) : kept_;
  for (const NodeId n : times.ids()) times[n].layer = net_.graph.nodes[n].layer->name();
  add_steps(times);
  return {times.begin(), times.end()};
}

std::vector<LayerWork> Diagnostics::layer_work() const {
  const Plan& plan = net_.plan;
  IdVector<NodeId, LayerWork> works(net_.graph.nodes.size());
  for (const Step& step : plan.steps) {
    const Unit& unit = plan.units[step.unit];
    LayerWork& work = works[unit.nodes[0]];
    StepWork& sum = step.in_backward ? work.backward : work.forward;
    const StepWork more = step_work(net_.graph, plan, step);
    sum.flops += more.flops;
    sum.bytes += more.bytes;
    work.storage = unit.storage;
  }
  return {works.begin(), works.end()};
}

void Diagnostics::set_layer_hook(LayerHook hook) {
  if (!hook) return set_step_hook(nullptr);
  set_step_hook([this, hook = std::move(hook)](StepId s) {
    const Step& step = net_.plan.steps[s];
    if (step.kind == StepKind::kReorder || step.kind == StepKind::kRepeat) return;
    std::vector<NodeId> nodes = net_.plan.units[step.unit].nodes;
    if (step.in_backward) std::reverse(nodes.begin(), nodes.end());
    for (const NodeId node : nodes) hook(net_.graph.nodes[node], step.in_backward);
  });
}

void Diagnostics::set_step_watch(StepWatch watch, bool every_step) {
  watch_ = std::move(watch);
  watches_every_step_ = every_step;
  attach();
}

void Diagnostics::set_step_hook(StepHook hook) {
  hook_ = std::move(hook);
  attach();
}

void Diagnostics::attach() {
  if (!net_.executor) return;
  net_.executor->set_hook(hook_);
  net_.executor->set_profiling(profiles_);
  if (!watch_) return net_.executor->set_watch(nullptr, false);
  net_.executor->set_watch(
      [this](StepId s) {
        const Step& step = net_.plan.steps[s];
        const NodeId node = net_.plan.units[step.unit].nodes[0];
        watch_(net_.graph.nodes[node].layer->name(), step.in_backward);
      },
      watches_every_step_);
}

}  // namespace robusta
