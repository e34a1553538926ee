#include "net/run/executor.h"

#include <cassert>
#include <chrono>
#include <cstring>

#include "net/run/gradient_sink.h"

namespace robusta {
namespace {

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Executor::Executor(Graph& graph, Plan& plan, const NetOptions& options, Arena& arena, Stream& stream)
    : graph_(graph),
      plan_(plan),
      options_(options),
      arena_(arena),
      stream_(stream),
      persistent_(*options.device, plan.persistent_bytes),
      losses_(graph, plan, *options.device),
      graphs_(plan, *options.device),
      bound_steps_(plan.steps.size()),
      step_ms_(plan.steps.size(), 0) {
  arena_.reserve(plan.arena_bytes);
  if (plan.offloading.moved > 0) copies_ = std::make_unique<CopyStreams>(plan, options, stream);
  if (!options.device->is_host()) {
    uploads_ = std::make_unique<Uploads>(plan, persistent_.data(), *options.device, stream);
  }
  if (options.poison) find_dead_memory();
  bind();
  write_constants(1);
  fill_constant_sources();
}

Executor::~Executor() {
  try {
    stream_.synchronize();
  } catch (const std::exception&) {
    // Whoever enqueued it was told, or is ending for a cause of its own.
  }
}

void* Executor::address(ValueId index) {
  if (!index) return nullptr;
  const Value& value = plan_.values[index];
  char* base = static_cast<char*>(value.persistent ? persistent_.data() : arena_.data());
  // A tensor without elements still has to differ from one that is not there.
  static char nothing[64];
  return base ? base + value.offset : nothing;
}

Tensor Executor::tensor(ValueId value) {
  if (!value) return {};
  return {plan_.values[value].desc, address(value)};
}

std::vector<Tensor> Executor::bind_all(const std::vector<ValueId>& values) {
  std::vector<Tensor> tensors;
  for (const ValueId value : values) {
    tensors.push_back(tensor(value));
    if (value) options_.device->check(tensors.back().data, plan_.values[value].bytes);
  }
  return tensors;
}

void Executor::bind() {
  for (const StepId s : plan_.steps.ids()) {
    const Step& step = plan_.steps[s];
    Bound& bound = bound_steps_[s];
    bound.bottoms = bind_all(step.bottoms);
    bound.tops = bind_all(step.tops);
    bound.bottom_diffs = bind_all(step.bottom_diffs);
    bound.top_diffs = bind_all(step.top_diffs);
    bound.saved = address(step.saved);
    bound.scratch = address(step.scratch);
    bound.params = plan_.units[step.unit].params;
    bound.accumulate.assign(bound.params.size(), 0);
  }
  bound_arena_ = arena_.data();
  graphs_.forget();
}

void Executor::write_constants(double scale) {
  for (const auto& [value, content] : plan_.constants) {
    const auto scaled = static_cast<float>(content * scale);
    write(value, std::vector<float>(static_cast<size_t>(tensor(value).count()), scaled));
  }
}

void Executor::fill_constant_sources() {
  for (const StepId s : plan_.steps.ids()) {
    if (plan_.steps[s].kind != StepKind::kSource) continue;
    for (const ValueId top : plan_.steps[s].tops) {
      write(top, std::vector<float>(static_cast<size_t>(tensor(top).count()), 0.0f));
    }
    if (source_of(s)->constant()) write_constant_source(s);
  }
}

void Executor::send_batch(const Pass& pass) {
  for (StepId s(0); s < plan_.backward_begin; ++s) {
    if (plan_.steps[s].kind == StepKind::kSource) send_source(s, pass);
  }
}

void Executor::forward(const Pass& pass, ParamGate* gate, bool batch_sent) {
  if (bound_arena_ != arena_.data()) {
    stream_.synchronize();
    bind();
  }
  arena_.wait_in(stream_);
  pass_ = pass;
  accumulate_ = false;
  batch_sent_ = batch_sent;
  if (uploads_) uploads_->send_position(pass.first_sample);
  run_steps(StepId(0), plan_.backward_begin, nullptr, gate);
  losses_.enqueue(stream_, [this](ValueId value) { return tensor(value); });
}

double Executor::finish_forward() {
  const double loss = losses_.wait(stream_);
  for (const Unit& unit : plan_.units) {
    if (unit.kernel) naming_layer(unit, [&] { unit.kernel->check(pass_); });
  }
  return loss;
}

void Executor::backward(const Pass& pass, bool accumulate, GradientSink* sink) {
  assert(bound_arena_ == arena_.data());
  pass_ = pass;
  accumulate_ = accumulate;
  run_steps(plan_.backward_begin, plan_.steps.end_id(), sink, nullptr);
}

void Executor::run_steps(StepId begin, StepId end, GradientSink* sink, ParamGate* gate) {
  const bool stepwise = profiling_ || hook_ || watches_every_step_;
  for (StepId s = begin, next; s < end; s = next) {
    next = stepwise ? s + 1 : graphs_.end_of_segment(s, end, pass_, sink);
    const Step& first = plan_.steps[s];
    if (copies_) copies_->wait_for_needs(s);
    if (is_copy(first.kind)) {
      run_step(s);
      continue;
    }
    if (gate) open(*gate, s, next);
    if (watch_) watch_(s);
    const double start = profiling_ ? now_ms() : 0;
    const auto enqueue = [&] {
      for (StepId step = s; step < next; ++step) run_step(step);
    };
    stepwise ? enqueue() : graphs_.run(stream_, s, next, pass_, accumulate_, enqueue);
    if (profiling_ || hook_) stream_.synchronize();
    if (profiling_) step_ms_[s] += now_ms() - start;
    if (hook_) hook_(s);
    if (sink) deliver(*sink, s, next);
  }
  if (stepwise || copies_) stream_.synchronize();
  if (copies_) copies_->end_steps(arena_);
  if (!options_.device->is_host()) arena_.leave_under_way(stream_.record());
}

void Executor::open(ParamGate& gate, StepId begin, StepId end) {
  for (StepId s = begin; s < end; ++s) {
    if (plan_.steps[s].kind != StepKind::kForward) continue;
    for (Param* param : bound_steps_[s].params) gate.need(*param);
  }
}

void Executor::deliver(GradientSink& sink, StepId begin, StepId end) {
  for (StepId s = begin; s < end; ++s) {
    for (Param* param : plan_.steps[s].ready) sink.ready(*param);
  }
}

void Executor::run_step(StepId index) {
  const Step& step = plan_.steps[index];
  switch (step.kind) {
    case StepKind::kSource:
      run_source(index);
      break;
    case StepKind::kReorder:
    case StepKind::kForward:
    case StepKind::kBackward:
    case StepKind::kRepeat:
      stream_.run([this, index, pass = pass_, accumulate = accumulate_] { run_kernel(index, pass, accumulate); });
      break;
    case StepKind::kOffload:
    case StepKind::kPrefetch: {
      const ValueId value = step.kind == StepKind::kOffload ? step.bottoms[0] : step.tops[0];
      copies_->copy(index, address(value), plan_.values[value].bytes);
      break;
    }
  }
  if (options_.poison) poison_dead_memory(index);
  if (copies_) copies_->mark_done(index);
}

/// Where streams are threads, one of them: all that changes comes by value, as it does into a recording.
void Executor::run_kernel(StepId index, Pass pass, bool accumulate) {
  const Step& step = plan_.steps[index];
  const Unit& unit = plan_.units[step.unit];
  Bound& bound = bound_steps_[index];
  if (step.reorder) return step.reorder->run(bound.bottoms[0].data, bound.tops[0].data, bound.scratch, &stream_);
  if (step.kind == StepKind::kBackward) {
    for (size_t i = 0; i < bound.accumulate.size(); ++i) bound.accumulate[i] = accumulate || !step.first_part[i];
  }
  const uint64_t* const on_device = uploads_ ? uploads_->position() : nullptr;
  const uint64_t* const position = on_device ? on_device : &pass.first_sample;
  const bool again = step.kind == StepKind::kRepeat;
  const KernelRun run{
      bound.bottoms, bound.tops, bound.bottom_diffs, bound.top_diffs, bound.params, bound.accumulate, bound.saved,
      bound.scratch, &pass,      position,           again,           &stream_};
  naming_layer(unit,
               [&] { step.kind == StepKind::kBackward ? unit.kernel->backward(run) : unit.kernel->forward(run); });
}

template <typename Work>
void Executor::naming_layer(const Unit& unit, const Work& work) const {
  try {
    work();
  } catch (Error& error) {
    const Node& node = graph_.nodes[unit.nodes[0]];
    rethrow_at(std::move(error), node.layer->name(), node.where);
  }
}

SourceLayer* Executor::source_of(StepId index) const {
  const Step& step = plan_.steps[index];
  return graph_.nodes[plan_.units[step.unit].nodes[0]].source;
}

void Executor::write_constant_source(StepId index) {
  std::vector<Tensor> host = bound_steps_[index].tops;
  std::vector<std::vector<char>> memory;
  for (Tensor& top : host) top.data = memory.emplace_back(top.desc.bytes()).data();
  source_of(index)->fill(host, pass_);
  for (size_t t = 0; t < host.size(); ++t) {
    stream_.copy_to_device(bound_steps_[index].tops[t].data, host[t].data, memory[t].size());
  }
  stream_.synchronize();
}

void Executor::send_source(StepId index, const Pass& pass) {
  SourceLayer& source = *source_of(index);
  if (source.constant()) return;
  uploads_->send(index, bound_steps_[index].tops, source, pass);
}

void Executor::run_source(StepId index) {
  const std::vector<Tensor>& tops = bound_steps_[index].tops;
  if (source_of(index)->constant()) return;
  if (!uploads_) return source_of(index)->fill(tops, pass_);
  if (!batch_sent_) send_source(index, pass_);
  uploads_->deliver(index, tops);
}

/// After the last step that uses it, not when the plan gives it up: until then a copy may be under way.
void Executor::find_dead_memory() {
  IdVector<ValueId, StepId> last(plan_.values.size());
  for (const StepId s : plan_.steps.ids()) {
    for_values(plan_.steps[s], [&](ValueId value) {
      const Value& used = plan_.values[value];
      if (!used.persistent) last[used.storage] = s;
    });
  }
  dies_after_.resize(plan_.steps.size());
  for (const ValueId v : last.ids()) {
    if (last[v]) dies_after_[last[v]].push_back(v);
  }
}

void Executor::poison_dead_memory(StepId index) {
  const Step& step = plan_.steps[index];
  Stream& stream = is_copy(step.kind) ? copies_->stream_of(step) : stream_;
  for (const ValueId value : dies_after_[index]) {
    void* memory = address(value);
    const size_t bytes = plan_.values[value].bytes;
    stream.run([memory, bytes] { std::memset(memory, 0xff, bytes); });
  }
}

std::vector<float> Executor::read(ValueId value) {
  const Tensor from = tensor(value);
  std::vector<char> stored(from.desc.bytes()), plain(from.desc.plain().bytes());
  if (from.count() > 0) stream_.copy_to_host(stored.data(), from.data, stored.size());
  stream_.synchronize();
  if (from.desc.layout) {
    const auto reorder = make_reorder(from.desc, from.desc.plain());
    std::vector<char> scratch(reorder->scratch_bytes());
    reorder->run(stored.data(), plain.data(), scratch.data());
  } else {
    plain.swap(stored);
  }
  std::vector<float> numbers(static_cast<size_t>(from.count()));
  to_floats(from.desc.dtype, plain.data(), numbers.data(), numbers.size());
  return numbers;
}

void Executor::write(ValueId value, const std::vector<float>& numbers) {
  const Tensor to = tensor(value);
  std::vector<char> plain(to.desc.plain().bytes()), stored;
  from_floats(to.desc.dtype, numbers.data(), plain.data(), numbers.size());
  if (to.desc.layout) {
    stored.resize(to.desc.bytes());
    const auto reorder = make_reorder(to.desc.plain(), to.desc);
    std::vector<char> scratch(reorder->scratch_bytes());
    reorder->run(plain.data(), stored.data(), scratch.data());
  } else {
    stored.swap(plain);
  }
  if (to.count() > 0) stream_.copy_to_device(to.data, stored.data(), stored.size());
  stream_.synchronize();
}

}  // namespace robusta
