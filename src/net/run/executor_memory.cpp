// Where values lie: steps are bound to addresses once, constants are written, and values go to the host and back in
// plain order.

#include <cstring>

#include "net/run/executor.h"

namespace robusta {

void* Executor::address(ValueId index) {
  if (!index) return nullptr;
  const Value& value = plan_.values[index];
  if (plan_.values[value.storage].lent) return lent_[value.storage];
  char* base = static_cast<char*>(value.persistent ? persistent_->data() : arena_.data());
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
    bound.carried.clear();
    for (const NodeId n : plan_.units[step.unit].nodes) {
      const std::vector<Tensor>& carried = graph_.nodes[n].carried;
      bound.carried.insert(bound.carried.end(), carried.begin(), carried.end());
    }
  }
  packing_.bind([this](ValueId value) { return address(value); });
  bind_prepared();
  find_borrowers();
  bound_arena_ = arena_.data();
  graphs_.forget();
}

void Executor::find_borrowers() {
  borrowers_.assign(plan_.values.size(), {});
  const auto find_in = [this](const std::vector<ValueId>& values, std::vector<Tensor>& tensors) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueId storage = values[i] ? plan_.values[values[i]].storage : ValueId::none();
      if (storage && plan_.values[storage].lent) borrowers_[storage].push_back(&tensors[i]);
    }
  };
  for (const StepId s : plan_.steps.ids()) {
    const Step& step = plan_.steps[s];
    find_in(step.bottoms, bound_steps_[s].bottoms);
    find_in(step.tops, bound_steps_[s].tops);
    find_in(step.bottom_diffs, bound_steps_[s].bottom_diffs);
    find_in(step.top_diffs, bound_steps_[s].top_diffs);
  }
}

/// Blobs that no pass has computed are zero, as in Caffe, and so is what backward would find of them.
void Executor::clear_persistent() {
  if (persistent_->bytes() > 0) stream_.fill_zero(persistent_->data(), persistent_->bytes());
  stream_.synchronize();
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
      if (plan_.values[top].lent) continue;
      write(top, std::vector<float>(static_cast<size_t>(tensor(top).count()), 0.0f));
    }
    if (source_of(s)->constant()) write_constant_source(s);
  }
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
  if (!to.data) return;  // of a source's batch that is not there yet: it comes with its own numbers
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

SourceLayer* Executor::source_of(StepId index) const {
  const Step& step = plan_.steps[index];
  return graph_.nodes[plan_.units[step.unit].nodes[0]].source;
}

void Executor::send_source(StepId index, const Pass& pass) {
  SourceLayer& source = *source_of(index);
  if (source.constant()) return;
  uploads_->send(index, bound_steps_[index].tops, source, pass);
}

void Executor::run_source(StepId index) {
  const std::vector<Tensor>& tops = bound_steps_[index].tops;
  if (source_of(index)->constant()) return;
  if (!uploads_ && plan_.steps[index].lends) return take_batch(index);
  if (!uploads_) return source_of(index)->fill(tops, pass_);
  if (!batch_sent_) send_source(index, pass_);
  uploads_->deliver(index, tops);
}

/// Points every tensor that shares a top's memory to the batch that is ready.
void Executor::take_batch(StepId index) {
  const std::vector<ValueId>& tops = plan_.steps[index].tops;
  const Batch& batch = *source_of(index)->ready();
  for (size_t top = 0; top < tops.size(); ++top) {
    lent_[tops[top]] = batch.numbers(top);
    for (Tensor* tensor : borrowers_[tops[top]]) tensor->data = lent_[tops[top]];
  }
}

}  // namespace robusta
