#include "net/net.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/nearest.h"
#include "base/philox.h"
#include "base/str.h"
#include "layers/kit/filler.h"
#include "net/graph/build_graph.h"
#include "net/plan/precision.h"
#include "net/planner/budget.h"
#include "net/planner/out_of_memory.h"
#include "net/planner/planner.h"
#include "net/run/executor.h"

namespace robusta {
namespace {

/// Whose parameters a net with these options uses; null: its own alone.
const Graph* lender_of(const NetOptions& options) {
  return options.share_params ? &options.share_params->graph() : nullptr;
}

}  // namespace

Net::Net(NetDef def, NetOptions options)
    : options_(std::move(options)), graph_(build_graph(std::move(def), options_, lender_of(options_))) {
  // Nets that share parameters read them after each other's updates.
  stream_ = options_.share_params ? options_.share_params->stream_ : options_.device->make_stream();
  if (!options_.arena) options_.arena = std::make_shared<Arena>(*options_.device);
  if (!options_.share_params) explain_precision(graph_, options_);
  plan_ = make_plan(graph_, options_);
  completion_ = plan_.completion;
  if (options_.plan_only) return;
  take_from_budget();
  place_params();
  fill_params();
  executor_ = std::make_unique<Executor>(graph_, plan_, options_, *options_.arena, *stream_);
}

Net::~Net() = default;

void Net::replan() {
  if (prefetched_) prefetched_->sent = false;
  executor_.reset();
  if (options_.budget) options_.budget->taken -= taken_;
  plan_ = make_plan(graph_, options_);
  take_from_budget();
  executor_ = std::make_unique<Executor>(graph_, plan_, options_, *options_.arena, *stream_);
  executor_->write_constants(loss_scale_);
  watch_steps();
}

bool Net::stores(DType type) const {
  return std::any_of(plan_.values.begin(), plan_.values.end(),
                     [=](const Value& value) { return !value.raw && value.desc.dtype == type; });
}

void Net::set_loss_scale(double scale) {
  if (scale == loss_scale_) return;
  loss_scale_ = scale;
  executor_->write_constants(scale);
}

/// Here everything is known that this net will take, and nothing is taken yet.
void Net::take_from_budget() {
  if (!options_.budget) return;
  if (!fits(plan_)) throw out_of_memory(graph_, plan_, options_, lender_of(options_));
  taken_ = fixed_bytes(graph_, options_) + plan_.persistent_bytes;
  options_.budget->taken += taken_;
}

void Net::place_params() {
  std::vector<Param*> owned;
  for (Param* param : completion_) {
    for (size_t i = 0; i < graph_.params.size(); ++i) {
      if (graph_.params[i].get() == param && graph_.filled_here[i]) owned.push_back(param);
    }
  }
  size_t bytes = 0;
  for (const Param* param : owned) bytes += align_up(param->desc.bytes());
  param_data_ = DeviceBuffer(*options_.device, bytes);
  clear(param_data_.data(), bytes);
  size_t at = 0;
  for (Param* param : owned) {
    param->data = static_cast<char*>(param_data_.data()) + at;
    at += align_up(param->desc.bytes());
  }
  if (options_.backward) place_gradients(owned, bytes + align_up(options_.gradient_tail));
}

void Net::place_gradients(const std::vector<Param*>& owned, size_t bytes) {
  if (options_.gradient_memory) lent_gradients_ = options_.gradient_memory(bytes);
  const bool lives_there = lent_gradients_ && options_.device->is_host();
  if (!lives_there) param_diff_ = DeviceBuffer(*options_.device, bytes);
  gradients_ = lives_there ? lent_gradients_.get() : param_diff_.data();
  gradient_bytes_ = bytes;
  char* at = static_cast<char*>(gradients_);
  clear(at, bytes);
  size_t delivered = 0;
  for (const Step& step : plan_.steps) delivered += step.ready.size();
  for (size_t i = 0; i <= owned.size(); ++i) {
    if (i == delivered) {
      gradient_tail_ = at;
      at += align_up(options_.gradient_tail);
    }
    if (i == owned.size()) break;
    owned[i]->diff = at;
    at += align_up(owned[i]->desc.bytes());
  }
  completion_.resize(delivered);
}

void Net::clear(void* memory, size_t bytes) {
  const std::vector<char> zeros(bytes, 0);
  if (bytes > 0) stream_->copy_to_device(memory, zeros.data(), bytes);
  stream_->synchronize();
}

void Net::fill_params() {
  for (size_t i = 0; i < graph_.params.size(); ++i) {
    Param& param = *graph_.params[i];
    if (!graph_.filled_here[i] || !graph_.fillers[i]) continue;
    PhiloxStream random(random_key(options_.seed, param.layer, "filler"), static_cast<uint64_t>(param.index));
    std::vector<char> host(param.desc.bytes());
    try {
      fill(*graph_.fillers[i], param.desc.shape, random, param.desc.dtype, host.data());
    } catch (Error& error) {
      for (const Node& node : graph_.nodes) {
        if (node.layer->name() == param.layer) rethrow_at(std::move(error), param.layer, node.where);
      }
      throw;
    }
    if (!host.empty()) stream_->copy_to_device(param.data, host.data(), host.size());
    stream_->synchronize();
  }
}

void Net::prepare_sources(const Pass& pass) {
  for (Node& node : graph_.nodes) {
    if (!node.source) continue;
    try {
      shapes_changed_ = node.source->prepare(pass) || shapes_changed_;
    } catch (Error& error) {
      rethrow_at(std::move(error), node.layer->name(), node.where);
    }
  }
}

void Net::prefetch(const Pass& next) {
  if (options_.device->is_host()) return;
  prefetched_.reset();
  try {
    prepare_sources(next);
    if (!shapes_changed_) executor_->send_batch(next);
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
  assert(executor_ && "the net was only planned");
  const auto ahead = std::exchange(prefetched_, std::nullopt);
  const bool prepared =
      ahead && ahead->seed == pass.seed && ahead->first_sample == pass.first_sample && ahead->batch == pass.batch;
  if (!prepared) prepare_sources(pass);
  if (shapes_changed_) {
    infer_shapes(graph_);
    replan();
    shapes_changed_ = false;
  }
  executor_->forward(pass, gate, prepared && ahead->sent);
}

double Net::finish_forward() { return executor_->finish_forward(); }

void Net::backward(const Pass& pass, bool accumulate, GradientSink* sink) {
  assert(options_.backward);
  executor_->backward(pass, accumulate, sink);
}

std::vector<ParamPtr> Net::layer_params(const std::string& layer) const { return graph_.layer_params(layer); }

NonFinite Net::find_non_finite(const Pass& pass) {
  NonFinite found;
  const auto finite = [](const std::vector<float>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  };
  for (const Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      if (!finite(read_param(*node.params[i]))) return {node.layer->name(), str("parameter ", i)};
    }
  }
  executor_->set_hook([&](int s) {
    const Step& step = plan_.steps[static_cast<size_t>(s)];
    if (!found.layer.empty() || (step.kind != StepKind::kSource && step.kind != StepKind::kForward)) return;
    for (int top : step.tops) {
      if (top < 0 || finite(executor_->read(top))) continue;
      const int node = plan_.units[static_cast<size_t>(step.unit)].nodes.back();
      found = {graph_.nodes[static_cast<size_t>(node)].layer->name(),
               "top \"" + plan_.values[static_cast<size_t>(top)].label + "\""};
      return;
    }
  });
  forward(pass);
  executor_->set_hook(nullptr);
  return found;
}

GraphUse Net::graphs() const { return executor_ ? executor_->graphs() : GraphUse{}; }

CopyTotals Net::copies() const { return executor_ ? executor_->copies() : CopyTotals{}; }

double Net::seconds_waited() const {
  double seconds = 0;
  for (const Node& node : graph_.nodes) {
    if (node.source) seconds += node.source->seconds_waited();
  }
  return seconds;
}

std::vector<std::string> Net::sample_keys(const Pass& pass, int most) const {
  std::vector<std::string> keys;
  for (const Node& node : graph_.nodes) {
    if (!node.source) continue;
    for (int64_t i = 0; i < std::min<int64_t>(pass.batch, most); ++i) {
      const std::string key = node.source->sample_key(pass.first_sample + static_cast<uint64_t>(i));
      if (!key.empty()) keys.push_back(key);
    }
  }
  return keys;
}

void Net::set_profiling(bool on) {
  executor_->reset_times();
  executor_->set_profiling(on);
}

std::vector<LayerTime> Net::layer_times() const {
  std::vector<LayerTime> times(graph_.nodes.size());
  for (size_t n = 0; n < times.size(); ++n) times[n].layer = graph_.nodes[n].layer->name();
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    LayerTime& time = times[static_cast<size_t>(plan_.units[static_cast<size_t>(step.unit)].nodes[0])];
    (step.in_backward ? time.backward_ms : time.forward_ms) += executor_->step_ms()[s];
  }
  return times;
}

void Net::set_step_watch(StepWatch watch, bool every_step) {
  step_watch_ = std::move(watch);
  watches_every_step_ = every_step;
  watch_steps();
}

void Net::watch_steps() {
  if (!step_watch_) return executor_->set_watch(nullptr, false);
  executor_->set_watch(
      [this](int s) {
        const Step& step = plan_.steps[static_cast<size_t>(s)];
        const int node = plan_.units[static_cast<size_t>(step.unit)].nodes[0];
        step_watch_(graph_.nodes[static_cast<size_t>(node)].layer->name(), step.in_backward);
      },
      watches_every_step_);
}

void Net::set_layer_hook(LayerHook hook) {
  hook_ = std::move(hook);
  if (!hook_) return executor_->set_hook(nullptr);
  executor_->set_hook([this](int s) {
    const Step& step = plan_.steps[static_cast<size_t>(s)];
    if (step.kind == StepKind::kReorder || step.kind == StepKind::kRepeat) return;
    const std::vector<int>& nodes = plan_.units[static_cast<size_t>(step.unit)].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      hook_(graph_.nodes[static_cast<size_t>(step.in_backward ? nodes[nodes.size() - 1 - i] : nodes[i])],
            step.in_backward);
    }
  });
}

}  // namespace robusta
