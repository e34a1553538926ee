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

/// How many parameters a sink is told of.
size_t delivered_by(const Plan& plan) {
  size_t delivered = 0;
  for (const Step& step : plan.steps) delivered += step.ready.size();
  return delivered;
}

}  // namespace

void ParamMemory::take(const Graph& graph, const Plan& plan, const NetOptions& options, Stream& stream,
                       bool gradients) {
  completion_ = plan.completion;
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
  if (!gradients) return;
  completion_.resize(delivered_by(plan));
  place_gradients(owned, options, stream, bytes + align_up(options.gradient_tail));
}

void ParamMemory::release(const Graph& graph) {
  for (Param* param : owned_of(completion_, graph)) param->data = param->diff = nullptr;
  data_ = diff_ = nullptr;
  gradients_ = gradient_tail_ = nullptr;
  gradient_bytes_ = 0;
}

void ParamMemory::place_gradients(const std::vector<Param*>& owned, const NetOptions& options, Stream& stream,
                                  size_t bytes) {
  if (options.gradient_memory) lent_ = options.gradient_memory(bytes);
  const bool lives_there = lent_ && options.device->is_host();
  if (!lives_there) diff_ = std::make_shared<DeviceBuffer>(*options.device, bytes);
  gradients_ = lives_there ? lent_.get() : diff_->data();
  gradient_bytes_ = bytes;
  char* at = static_cast<char*>(gradients_);
  clear(stream, at, bytes);
  for (size_t i = 0; i <= owned.size(); ++i) {
    if (i == completion_.size()) {
      gradient_tail_ = at;
      at += align_up(options.gradient_tail);
    }
    if (i == owned.size()) break;
    owned[i]->diff = at;
    at += align_up(owned[i]->desc.bytes());
  }
}

}  // namespace robusta
