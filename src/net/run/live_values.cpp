// Values of steps before the deciding one keep their ids. Those of sources behind it may not: what the caller has
// written into such a source is found by its version.

#include "net/run/live_values.h"

#include <cassert>

#include "memory/placement.h"
#include "net/run/executor.h"

namespace robusta {

LiveValues::LiveValues(NetState& net, StepId at) : net_(net) {
  const Plan& plan = net.plan;
  for (const ValueId v : plan.values.ids()) {
    const Value& value = plan.values[v];
    const bool lent = plan.values[value.storage].lent;
    if (value.first && value.first < at && (value.persistent || value.last >= at) && !lent) add(v, VersionId::none());
  }
  for (StepId s = at; s < plan.backward_begin; ++s) {
    if (plan.steps[s].kind != StepKind::kSource) continue;
    const Node& node = net.graph.nodes[plan.units[plan.steps[s].unit].nodes[0]];
    for (const VersionId version : node.tops) {
      if (node.source->constant()) add(plan.data[version], version);
    }
  }
  content_ = DeviceBuffer(*net.options.device, bytes_);
  for (const Part& part : parts_) {
    net.stream->copy(static_cast<char*>(content_.data()) + part.offset, address(part), part.bytes);
  }
}

void LiveValues::add(ValueId value, VersionId version) {
  const size_t bytes = net_.plan.values[value].bytes;
  if (bytes == 0) return;
  parts_.push_back({version ? ValueId::none() : value, version, bytes, bytes_});
  bytes_ += align_up(bytes);
}

void* LiveValues::address(const Part& part) const {
  const ValueId value = part.version ? net_.plan.data[part.version] : part.value;
  assert(net_.plan.values[value].bytes == part.bytes);
  return net_.executor->tensor(value).data;
}

void LiveValues::restore() const {
  for (const Part& part : parts_) {
    net_.stream->copy(address(part), static_cast<const char*>(content_.data()) + part.offset, part.bytes);
  }
  net_.stream->synchronize();
}

}  // namespace robusta
