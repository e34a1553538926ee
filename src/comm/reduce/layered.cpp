#include "comm/reduce/layered.h"

#include <chrono>

#include "base/str.h"

namespace robusta {

LayeredAllReduce::LayeredAllReduce(std::vector<Layer> layers, std::string shape)
    : layers_(std::move(layers)), shape_(std::move(shape)), seconds_(layers_.size()), bytes_(layers_.size()) {}

void LayeredAllReduce::sum(void* data, int64_t count, DType type) {
  if (!layers_.empty()) reduce({static_cast<std::byte*>(data), count, type}, 0);
}

void LayeredAllReduce::reduce(const Span& span, size_t depth) {
  const Layer& layer = layers_[depth];
  Stage& stage = *layer.stage;
  const Span mine = span.piece(layer.position, layer.members);
  if (depth + 1 == layers_.size()) {
    timed(depth, span, 2, [&] { stage.all_reduce(span); });
    return;
  }
  timed(depth, span, 1, [&] { stage.reduce_scatter(span); });
  reduce(mine, depth + 1);
  timed(depth, span, 1, [&] { stage.all_gather(span); });
}

template <typename Work>
void LayeredAllReduce::timed(size_t depth, const Span& span, int passes, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  const int members = layers_[depth].members;
  seconds_[depth] += std::chrono::duration<double>(Clock::now() - start).count();
  bytes_[depth] += static_cast<double>(span.bytes()) * passes * (members - 1) / members;
}

std::string LayeredAllReduce::describe() const {
  std::string stages;
  for (const Layer& layer : layers_) stages += (stages.empty() ? "" : ", ") + layer.stage->name();
  return str("reduce-scatter and all-gather over ", shape_, " ranks: ", stages);
}

std::vector<DimensionTime> LayeredAllReduce::take_times() {
  std::vector<DimensionTime> times;
  for (size_t i = 0; i < layers_.size(); ++i) {
    times.push_back({layers_[i].dimension, layers_[i].stage->name(), seconds_[i], bytes_[i]});
    seconds_[i] = bytes_[i] = 0;
  }
  return times;
}

}  // namespace robusta
