// The same path that reads a snapshot's files goes on from this one, so that a training is the same however it goes on.
#include "solver/loop/kept_training.h"

#include "base/str.h"
#include "net/run/arrays.h"
#include "schema/blob_proto.h"
#include "solver/files/weights.h"

namespace robusta {

Snapshot snapshot_in_memory(Training& training) {
  Updater& updater = training.updater;
  Snapshot kept;
  kept.path = str("the memory of the ranks, iteration ", training.state.iter);
  kept.model_path = kept.path;
  kept.state = state_to_proto(training.state);
  for (const HistoryId id : updater.history_ids()) {
    blob_to_proto(updater.history_param(id).desc.shape.dims(), updater.history(id).data(), kept.state.add_history());
  }
  kept.weights = weights_of(training.net);
  if (WeightAverage* const average = updater.average(); average && average->begun()) {
    const AveragedWeights averaged(*average);
    kept.averaged = weights_of(training.net);
  }
  return kept;
}

void StatisticsBefore::note(Net& net) {
  values_.clear();
  for (const ParamPtr& param : net.params()) {
    if (!param->statistic) continue;
    std::vector<char>& bytes = values_.emplace_back(param->desc.bytes());
    fetch_array(net.stream(), param->tensor(), bytes.data());
  }
}

void StatisticsBefore::put_back(Net& net) const {
  auto values = values_.begin();
  for (const ParamPtr& param : net.params()) {
    if (!param->statistic || values == values_.end()) continue;
    store_array(net.stream(), param->tensor(), values->data());
    ++param->version;
    ++values;
  }
}

}  // namespace robusta
