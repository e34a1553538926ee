// Lays parameters out in the order in which backward completes their gradients.

#include "net/run/param_memory.h"

#include <algorithm>

#include "memory/placement.h"

namespace robusta {
namespace {

/// Of `params` those that this net fills, in the same order.
std::vector<Param*> owned_of(const std::vector<Param*>& params, const Graph& graph) {
  std::vector<Param*> owned;
  for (Param* param : params) {
    for (const ParamId p : graph.params.ids()) {
      if (graph.params[p].get() == param && graph.filled_here[p]) owned.push_back(param);
    }
  }
  return owned;
}

void clear(Stream& stream, void* memory, size_t bytes) {
  if (bytes > 0) stream.fill_zero(memory, bytes);
  stream.synchronize();
}

}  // namespace

void ParamMemory::take(const Graph& graph, const Plan& plan, const NetOptions& options, Stream& stream,
                       bool gradients) {
  completion_ = plan.completion;
  std::vector<Param*> placed;  // in the blocks
  size_t bytes = 0;
  for (Param* param : owned_of(completion_, graph)) {
    if (options.model_groups.contains(param->layer)) {
      place_shared_out(*param, gradients);
    } else {
      placed.push_back(param);
      bytes += align_up(param->desc.bytes());
    }
  }
  data_ = std::make_shared<DeviceBuffer>(*options.device, bytes);
  clear(stream, data_->data(), bytes);
  char* at = static_cast<char*>(data_->data());
  for (Param* param : placed) {
    param->data = at;
    at += align_up(param->desc.bytes());
  }
  if (!gradients) return;
  completion_.resize(completed_by(plan));
  const auto completed = std::ranges::count_if(
      placed, [&](Param* param) { return std::ranges::find(completion_, param) != completion_.end(); });
  place_gradients(placed, lay_out_gradients(placed, static_cast<size_t>(completed), plan, options), options, stream);
}

void ParamMemory::release(const Graph& graph) {
  for (const ParamId p : graph.params.ids()) {
    if (graph.filled_here[p]) graph.params[p]->data = graph.params[p]->diff = nullptr;
  }
  data_ = diff_ = nullptr;
  sparse_.clear();
  gradients_ = gradient_tail_ = nullptr;
  gradient_bytes_ = 0;
}

void ParamMemory::place_shared_out(Param& param, bool gradients) {
  Sparse& memory = sparse_[&param];
  memory.values = std::make_shared<SparseMemory>(param.desc.bytes());
  param.data = memory.values->data();
  if (!gradients) return;
  memory.gradients = std::make_shared<SparseMemory>(param.desc.bytes());
  param.diff = memory.gradients->data();
}

std::vector<std::shared_ptr<const void>> ParamMemory::held() const {
  std::vector<std::shared_ptr<const void>> held{data_, diff_, lent_};
  for (const auto& [param, memory] : sparse_) held.insert(held.end(), {memory.values, memory.gradients});
  return held;
}

void ParamMemory::keep_only(const Param& param, ElementRange kept) const {
  const auto found = sparse_.find(&param);
  if (found == sparse_.end()) return;
  const size_t element = size_of(param.desc.dtype), begin = static_cast<size_t>(kept.begin) * element,
               end = static_cast<size_t>(kept.end) * element;
  for (const auto& memory : {found->second.values, found->second.gradients}) {
    if (!memory) continue;
    memory->give_up(0, begin);
    memory->give_up(end, memory->bytes());
  }
}

size_t ParamMemory::shared_out_bytes() const {
  size_t bytes = 0;
  for (const auto& [param, memory] : sparse_) {
    bytes += memory.values->resident() + (memory.gradients ? memory.gradients->resident() : 0);
  }
  return bytes;
}

void ParamMemory::place_gradients(const std::vector<Param*>& placed, const GradientLayout& layout,
                                  const NetOptions& options, Stream& stream) {
  if (options.gradient_memory) lent_ = options.gradient_memory(layout.bytes);
  const bool lives_there = lent_ && options.device->is_host();
  if (!lives_there) diff_ = std::make_shared<DeviceBuffer>(*options.device, layout.bytes);
  gradients_ = lives_there ? lent_.get() : diff_->data();
  gradient_bytes_ = layout.bytes;
  char* const begin = static_cast<char*>(gradients_);
  clear(stream, begin, layout.bytes);
  gradient_tail_ = begin + layout.tail;
  for (size_t i = 0; i < placed.size(); ++i) placed[i]->diff = begin + layout.offsets[i];
}

}  // namespace robusta
