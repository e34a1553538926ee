// Rank 0's state goes to all by broadcast, once; what should have stayed equal since is compared by its hash.
#include "solver/ranks/share.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "net/run/arrays.h"
#include "solver/ranks/minority.h"

namespace robusta {

void share_state(Ranks& ranks, Snapshot& snapshot) {
  if (ranks.alone()) return;
  std::string bytes;
  if (ranks.root()) {
    caffe::SolverState light = snapshot.state;
    // Histories are as large as the weights; share_histories sends them one by one.
    light.clear_history();
    bytes = light.SerializeAsString();
  }
  ranks.broadcast(snapshot.path);
  ranks.broadcast(bytes);
  if (!ranks.root()) snapshot.state.ParseFromString(bytes);
}

void share_kernel_choices(Ranks& ranks, RecordingTuner& tuner) {
  if (ranks.alone()) return;
  TrainingState choices;
  if (ranks.root()) choices.kernel_choices = tuner.choices();
  std::string bytes = state_to_proto(choices).SerializeAsString();
  ranks.broadcast(bytes);
  if (ranks.root()) return;
  caffe::SolverState message;
  message.ParseFromString(bytes);
  tuner.preset(state_from_proto(message, 1).kernel_choices);
}

void share_parameters(Ranks& ranks, Net& net) {
  if (ranks.alone()) return;
  for (const ParamPtr& param : net.params()) {
    std::vector<char> bytes(param->desc.bytes());
    if (ranks.root()) fetch_array(net.stream(), param->tensor(), bytes.data());
    ranks.broadcast(bytes.data(), bytes.size());
    if (!ranks.root()) store_array(net.stream(), param->tensor(), bytes.data());
    ++param->version;
  }
}

/// One by one: together they are larger than the weights.
void share_histories(Ranks& ranks, const Snapshot& snapshot, Updater& updater) {
  for (const HistoryId id : updater.history_ids()) {
    std::vector<float> values(static_cast<size_t>(updater.history_param(id).desc.count()));
    if (ranks.root()) values = saved_history(snapshot, id);
    ranks.broadcast(values.data(), values.size() * sizeof(float));
    updater.set_history(id, values);
  }
}

AveragedStatistics::AveragedStatistics(Ranks& ranks, Net& net) : net_(net) {
  if (ranks.alone()) return;
  for (const ParamPtr& param : net.params()) {
    if (!param->statistic) continue;
    params_.push_back(param.get());
    std::vector<char> bytes(param->desc.bytes());
    fetch_array(net.stream(), param->tensor(), bytes.data());
    dispatch(param->desc.dtype, [&](auto type) {
      const auto* values = reinterpret_cast<const decltype(type)*>(bytes.data());
      own_.insert(own_.end(), values, values + param->desc.count());
    });
  }
  if (params_.empty()) return;
  // A parameter server has none.
  std::vector<double> mean = ranks.serves() ? std::vector<double>(own_.size()) : own_;
  ranks.sum(mean);
  for (double& value : mean) value /= ranks.workers();
  write(mean);
}

AveragedStatistics::~AveragedStatistics() {
  try {
    write(own_);
  } catch (const std::exception& error) {
    LOG_ERROR << "this rank's statistics are lost: " << error.what();
  }
}

void AveragedStatistics::write(const std::vector<double>& values) {
  auto from = values.begin();
  for (Param* param : params_) {
    const auto end = from + param->desc.count();
    std::vector<char> bytes(param->desc.bytes());
    dispatch(param->desc.dtype,
             [&](auto type) { std::copy(from, end, reinterpret_cast<decltype(type)*>(bytes.data())); });
    store_array(net_.stream(), param->tensor(), bytes.data());
    from = end;
    ++param->version;
  }
}

namespace {

uint64_t hash_of(Net& net, const Param& param) {
  std::string bytes(param.desc.bytes(), '\0');
  fetch_array(net.stream(), param.tensor(), bytes.data());
  return hash_bytes(bytes);
}

}  // namespace

void check_parameters_agree(Ranks& ranks, Net& net, int iteration) {
  if (ranks.alone()) return;
  uint64_t all = 0;
  for (const ParamPtr& param : net.params()) {
    if (!param->statistic) all = all * 31 + hash_of(net, *param);
  }
  if (ranks.agree(all)) return;
  for (const ParamPtr& param : net.params()) {
    if (param->statistic) continue;
    const uint64_t mine = hash_of(net, *param);
    if (ranks.agree(mine)) continue;
    const std::vector<uint64_t> values = ranks.gather(mine);
    ranks.together([&] {
      throw Error(ErrorKind::kCommunication,
                  str("after iteration ", iteration, " parameter ", param->index, " of ", minority(values),
                      " is not that of the other ranks"),
                  "look for failing memory or another build there, and resume from a snapshot before this iteration")
          .in_layer(param->layer);
    });
  }
}

}  // namespace robusta
