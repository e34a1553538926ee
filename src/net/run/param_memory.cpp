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

void ParamMemory::take(const Graph& graph, const Plan& plan, const NetOptions& options, Stream& stream) {
  const std::vector<Param*> owned = owned_of(completion_, graph);
  size_t bytes = 0;
  for (const Param* param : owned) bytes += align_up(param->desc.bytes());
  data_ = std::make_shared<DeviceBuffer>(*options.device, bytes);
  clear(stream, data_->data(), bytes);
  char* at = static_cast<char*>(data_->data());
  for (Param* param : owned) {
    param->data = at;
    at += align_up(param->desc.bytes());
  }
  if (!options.backward) return;
  completion_.resize(completed_by(plan));
  // Where other nets lend parameters, these get gradients of theirs.
  const size_t completed = std::min(completion_.size(), owned.size());
  place_gradients(owned, lay_out_gradients(owned, completed, plan, options), options, stream);
}

void ParamMemory::place_gradients(const std::vector<Param*>& owned, const GradientLayout& layout,
                                  const NetOptions& options, Stream& stream) {
  if (options.gradient_memory) lent_ = options.gradient_memory(layout.bytes);
  const bool lives_there = lent_ && options.device->is_host();
  if (!lives_there) diff_ = std::make_shared<DeviceBuffer>(*options.device, layout.bytes);
  gradients_ = lives_there ? lent_.get() : diff_->data();
  gradient_bytes_ = layout.bytes;
  char* const begin = static_cast<char*>(gradients_);
  clear(stream, begin, layout.bytes);
  gradient_tail_ = begin + layout.tail;
  for (size_t i = 0; i < owned.size(); ++i) owned[i]->diff = begin + layout.offsets[i];
}

}  // namespace robusta
