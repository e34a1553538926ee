// The loss is copied to the host as the pass leaves it, and summed there in double.

#include "net/run/loss_reader.h"

#include <cassert>
#include <numeric>
#include <utility>

namespace robusta {

LossReader::LossReader(const Graph& graph, const Plan& plan, Device& device) {
  size_t bytes = 0;
  for (const VersionId v : graph.versions.ids()) {
    const float weight = graph.versions[v].loss_weight;
    if (weight == 0 || !plan.data[v]) continue;
    const TensorDesc& desc = plan.values[plan.data[v]].desc;
    std::shared_ptr<Reorder> to_plain = desc.layout ? make_reorder(desc, desc.plain()) : nullptr;
    parts_.push_back(
        {.value = plan.data[v], .weight = weight, .desc = desc, .offset = bytes, .to_plain = std::move(to_plain)});
    bytes += align_up(desc.bytes());
  }
  host_ = device.host_memory(bytes);
}

void LossReader::enqueue(Stream& stream, const std::function<Tensor(ValueId value)>& tensor_of) {
  for (Part& part : parts_) {
    char* const to = static_cast<char*>(host_.get()) + part.offset;
    const Tensor from = tensor_of(part.value);
    part.counts = static_cast<bool>(from);
    if (from && part.desc.count() > 0) stream.copy_to_host(to, from.data, part.desc.bytes());
  }
  there_ = stream.record();
}

double LossReader::wait(Stream& stream) {
  assert(there_ && "no forward pass is under way");
  try {
    std::exchange(there_, nullptr)->wait();
  } catch (...) {
    try {
      stream.synchronize();
    } catch (const std::exception&) {
      // The same once more: the stream is usable again.
    }
    throw;
  }
  double loss = 0;
  for (const Part& part : parts_) loss += part.counts ? part.weight * sum(part) : 0;
  return loss;
}

double LossReader::sum(const Part& part) const {
  const void* values = static_cast<const char*>(host_.get()) + part.offset;
  std::vector<char> plain, scratch;
  if (part.to_plain) {
    plain.resize(part.desc.plain().bytes());
    scratch.resize(part.to_plain->scratch_bytes());
    part.to_plain->run(values, plain.data(), scratch.data());
    values = plain.data();
  }
  if (is_16_bit(part.desc.dtype)) {
    std::vector<float> wider(static_cast<size_t>(part.desc.count()));
    to_floats(part.desc.dtype, values, wider.data(), wider.size());
    return std::accumulate(wider.begin(), wider.end(), 0.0);
  }
  double total = 0;
  dispatch(part.desc.dtype, [&](auto t) {
    const auto* typed = static_cast<const decltype(t)*>(values);
    for (int64_t i = 0; i < part.desc.count(); ++i) total += static_cast<double>(typed[i]);
  });
  return total;
}

}  // namespace robusta
