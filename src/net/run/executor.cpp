// Running: segments of steps are enqueued in the order of the plan, each after the copies that it waits for.
//
// What always holds: nothing here looks at the host's clock or waits for the device but where a hook, profiling or
// large model support ask for it (which waits for a graph's last launch before the next, to read its times); the bits
// do not depend on any of these.

#include "net/run/executor.h"

#include <cassert>
#include <chrono>
#include <utility>

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
      persistent_(std::make_shared<DeviceBuffer>(*options.device, plan.persistent_bytes)),
      losses_(graph, plan, *options.device),
      graphs_(plan, *options.device),
      packing_(plan, options.device->kernel_kind()),
      bound_steps_(plan.steps.size()),
      prepared_versions_(plan.units.size()),
      lent_(plan.values.size(), nullptr),
      step_ms_(plan.steps.size(), 0) {
  arena_.reserve(plan.arena_bytes);
  clear_persistent();
  if (plan.offloading.moved > 0) {
    copies_ = std::make_unique<CopyStreams>(plan, options, stream);
    graphs_.before_forgetting([this] { copies_->forget_recordings(); });
  }
  if (!options.device->is_host()) {
    uploads_ = std::make_unique<Uploads>(plan, persistent_->data(), *options.device, stream);
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

void Executor::send_batch(const Pass& pass) {
  for (StepId s(0); s < plan_.backward_begin; ++s) {
    if (plan_.steps[s].kind == StepKind::kSource) send_source(s, pass);
  }
}

/// Nets that share the arena may have made it larger, or lost it, and may still be at work in it.
void Executor::begin_pass(const Pass& pass, bool accumulate, bool batch_sent) {
  arena_.reserve(plan_.arena_bytes);
  if (bound_arena_ != arena_.data()) {
    stream_.synchronize();
    bind();
  }
  arena_.wait_in(stream_);
  pass_ = pass;
  accumulate_ = accumulate;
  batch_sent_ = batch_sent;
  begins_ = false;
  prelude_ = nullptr;
  if (uploads_) uploads_->send_position(pass.first_sample);
}

void Executor::begin_forward(const Pass& pass, bool batch_sent, ParamGate* gate, PassPrelude* prelude) {
  begin_pass(pass, false, batch_sent);
  if (gate) packing_.ask_for_params(*gate);
  assert(!prelude || options_.backward);
  begin_packing();
  prelude_ = prelude;
}

void Executor::resume_forward(const Pass& pass, StepId at) {
  begin_pass(pass, false, false);
  begin_packing();
  if (uploads_) return;
  // The plan is a new one: its tensors are pointed to the batches that earlier steps were lent.
  for (StepId s(0); s < at; ++s) {
    if (plan_.steps[s].kind == StepKind::kSource && plan_.steps[s].lends) take_batch(s);
  }
}

/// The trainer is told at once: what fails from here on comes after the prelude.
void Executor::note_prelude() {
  if (PassPrelude* const prelude = std::exchange(prelude_, nullptr)) prelude->begun();
}

void Executor::run_prelude() {
  if (!prelude_) return;
  prelude_->enqueue(stream_);
  note_prelude();
}

/// Behind the sources, with which nothing can be recorded.
void Executor::enqueue_beginning() {
  if (prelude_ && graphs_.recording())
    prelude_->enqueue(stream_);
  else
    run_prelude();
  packing_.pack(stream_);
}

void Executor::end_forward() {
  losses_.enqueue(stream_, [this](ValueId value) { return tensor(value); });
}

void Executor::end_forward(std::span<const StepId> steps) {
  IdVector<ValueId, bool> made(plan_.values.size(), false);
  for (const StepId s : steps) {
    for (const ValueId top : plan_.steps[s].tops) {
      if (top) made[top] = true;
    }
  }
  losses_.enqueue(stream_, [&](ValueId value) { return made[value] ? tensor(value) : Tensor{}; });
}

double Executor::finish_forward() {
  const double loss = losses_.wait(stream_);
  check_kernels();
  return loss;
}

void Executor::check_kernels() {
  for (const Unit& unit : plan_.units) {
    if (unit.kernel) naming_layer(unit, [&] { unit.kernel->check(pass_); });
  }
}

void Executor::backward(const Pass& pass, bool accumulate, GradientSink* sink) {
  assert(bound_arena_ == arena_.data());
  pass_ = pass;
  accumulate_ = accumulate;
  run_steps(plan_.backward_begin, plan_.steps.end_id(), sink, nullptr);
}

void Executor::backward(const Pass& pass, bool accumulate, std::span<const StepId> steps) {
  begin_pass(pass, accumulate, false);
  run_listed(steps);
}

void Executor::run_listed(std::span<const StepId> steps) {
  for (size_t begin = 0, end; begin < steps.size(); begin = end) {
    for (end = begin + 1; end < steps.size() && steps[end] == steps[end - 1] + 1;) ++end;
    run_steps(steps[begin], steps[end - 1] + 1, nullptr, nullptr);
  }
}

void Executor::run_steps(StepId begin, StepId end, GradientSink* sink, ParamGate* gate) {
  // Whoever looks at single steps gets them one by one: neither as segments nor recorded.
  const bool stepwise = profiling_ || hook_ || watches_every_step_;
  for (StepId s = begin, next; s < end; s = next) {
    next = stepwise ? s + 1 : graphs_.end_of_segment(s, end, pass_, sink);
    const Step& first = plan_.steps[s];
    const bool together = !stepwise && graphs_.records(s, pass_, sink);
    if (is_copy(first.kind) && !together) {
      copies_->wait_for_needs(s);
      run_step(s);
      continue;
    }
    if (gate) open(*gate, s, next);
    if (sink) announce(*sink, s, next);
    if (watch_) watch_first(s, next);
    const double start = profiling_ ? now_ms() : 0;
    const bool begins = begins_ && first.kind != StepKind::kSource;
    const auto enqueue = [&] {
      if (copies_ && together) copies_->begin_group(graphs_.recording());
      if (copies_) copies_->wait_for_needs(s);
      if (begins) enqueue_beginning();
      run_step(s);
      for (StepId step = s + 1; step < next; ++step) {
        if (copies_) copies_->wait_for_needs(step);
        run_step(step);
      }
      if (unpacks_behind(s, next, end, sink, stepwise)) packing_.unpack(stream_);
      if (copies_ && together) copies_->end_group();
    };
    const PassGraphs::Form form{.accumulates = accumulate_, .begins = begins, .prelude = begins && prelude_};
    Recording* const recording = together ? graphs_.recording_of(stream_, {s, next}, form, pass_, enqueue) : nullptr;
    recording ? launch(*recording) : enqueue();
    if (begins) {
      begins_ = false;
      note_prelude();
    }
    if (!stepwise && graphs_.on()) note_changed_params(s, next);
    if (profiling_ || hook_) stream_.synchronize();
    if (profiling_) step_ms_[s] += now_ms() - start;
    if (hook_) hook_(s);
    if (sink) deliver(*sink, s, next);
  }
  if (stepwise || (copies_ && copies_->has_run_steps())) stream_.synchronize();
  if (copies_) copies_->end_steps(arena_);
  // Another net of the same arena waits for this before it writes there (begin_pass).
  if (!options_.device->is_host()) arena_.leave_under_way(stream_.record());
}

/// Copies are nobody's.
void Executor::watch_first(StepId begin, StepId end) {
  while (begin < end && is_copy(plan_.steps[begin].kind)) ++begin;
  if (begin < end) watch_(begin);
}

void Executor::launch(Recording& recording) { copies_ ? copies_->launch(recording) : stream_.launch(recording); }

/// What a segment leaves packed is brought back behind it, within its recording. Where nothing is recorded segments are
/// single steps, and it is brought back at the end, or before somebody is told of a gradient.
bool Executor::unpacks_behind(StepId begin, StepId end, StepId last, const GradientSink* sink, bool stepwise) const {
  if (stepwise || (graphs_.on() && !(copies_ && sink)) || end == last) return true;
  for (StepId s = begin; sink && s < end; ++s) {
    if (!plan_.steps[s].ready.empty()) return true;
  }
  return false;
}

void Executor::open(ParamGate& gate, StepId begin, StepId end) {
  for (StepId s = begin; s < end; ++s) {
    if (plan_.steps[s].kind != StepKind::kForward) continue;
    for (Param* param : bound_steps_[s].params) gate.need(*param);
  }
}

void Executor::announce(GradientSink& sink, StepId begin, StepId end) {
  for (StepId s = begin; s < end; ++s) {
    const Step& step = plan_.steps[s];
    for (size_t i = 0; i < step.first_part.size(); ++i) {
      if (step.first_part[i]) sink.begins(*bound_steps_[s].params[i]);
    }
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
      if (step.kind == StepKind::kBackward) packing_.note(index, accumulate_);
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
    // A parameter of several layers gets its gradient in parts: the first one of a pass overwrites, the others add.
    for (size_t i = 0; i < bound.accumulate.size(); ++i) bound.accumulate[i] = accumulate || !step.first_part[i];
  }
  if (bound.prepares && !bound.keeps_prepared) prepare(index);
  const uint64_t* const on_device = uploads_ ? uploads_->position() : nullptr;
  const uint64_t* const position = on_device ? on_device : &pass.first_sample;
  const KernelRun run{.bottoms = bound.bottoms,
                      .tops = bound.tops,
                      .bottom_diffs = bound.bottom_diffs,
                      .top_diffs = bound.top_diffs,
                      .params = bound.params,
                      .accumulate = bound.accumulate,
                      .carried = bound.carried,
                      .packed = packing_.params_of(index),
                      .packed_gradients = packing_.gradients_of(index),
                      .saved = bound.saved,
                      .scratch = bound.scratch,
                      .pass = &pass,
                      .first_sample = position,
                      .again = step.kind == StepKind::kRepeat,
                      .stream = &stream_};
  naming_layer(unit,
               [&] { step.kind == StepKind::kBackward ? unit.kernel->backward(run) : unit.kernel->forward(run); });
}

}  // namespace robusta
