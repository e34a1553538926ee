// What crosses here crosses between iterations, on the communicator of such.
#include "solver/pipeline/ranks/gathered_net.h"

#include <cassert>
#include <cstring>

#include "solver/files/training_state.h"

namespace robusta {

GatheredNet::GatheredNet(Ranks& ranks, const SolverDef& solver, RankPipeline& pipeline, Updater& updater)
    : ranks_(ranks),
      solver_(solver),
      pipeline_(pipeline),
      own_updater_(updater),
      update_arrays_(make_update_rule(solver)->histories()) {
  try {
    ranks_.root_only([&] {
      pipeline_.whole().take_params(solver_.param.snapshot_diff());
      whole_updater_ = std::make_unique<Updater>(solver_, pipeline_.whole());
    });
  } catch (...) {
    pipeline_.whole().release_params();
    throw;
  }
}

GatheredNet::~GatheredNet() {
  whole_updater_.reset();
  pipeline_.whole().release_params();
}

/// Of the first pipeline, whose ranks speak for all.
bool GatheredNet::owns(const ParamPlace& place) const {
  return ranks_.learner() == 0 && static_cast<size_t>(ranks_.stage()) == place.stage;
}

Param& GatheredNet::own_param(const ParamPlace& place) {
  Param& own = *pipeline_.own().params()[place.own];
  assert(own.layer == pipeline_.whole().params()[place.whole]->layer);
  return own;
}

/// From the rank that has the stage to rank 0.
void GatheredNet::fetch(const ParamPlace& place, const void* own, void* whole, size_t bytes) {
  const Ranks::Waiting waiting(ranks_);
  const int owner = ranks_.places().rank_of(static_cast<int>(place.stage), 0);
  if (owns(place) && ranks_.root()) {
    std::memcpy(whole, own, bytes);
  } else if (owns(place)) {
    ranks_.control().exchange(own, bytes, 0, nullptr, 0, -1);
  } else if (ranks_.root()) {
    ranks_.control().exchange(nullptr, 0, -1, whole, bytes, owner);
  }
}

/// From rank 0 to that rank, and from there to those that have the same stage.
void GatheredNet::hand_out(const ParamPlace& place, const void* whole, void* own, size_t bytes) {
  const Ranks::Waiting waiting(ranks_);
  const int owner = ranks_.places().rank_of(static_cast<int>(place.stage), 0);
  if (ranks_.root() && owns(place)) {
    std::memcpy(own, whole, bytes);
  } else if (ranks_.root()) {
    ranks_.control().exchange(whole, bytes, owner, nullptr, 0, -1);
  } else if (owns(place)) {
    ranks_.control().exchange(nullptr, 0, -1, own, bytes, 0);
  }
  if (static_cast<size_t>(ranks_.stage()) == place.stage) ranks_.group().broadcast(own, bytes);
}

void GatheredNet::gather_weights() {
  for (const ParamPlace& place : pipeline_.places()) {
    Param& whole = *pipeline_.whole().params()[place.whole];
    const bool own = owns(place);
    fetch(place, own ? own_param(place).data : nullptr, whole.data, whole.desc.bytes());
    ++whole.version;
    if (!solver_.param.snapshot_diff()) continue;
    fetch(place, own ? own_param(place).diff : nullptr, whole.diff, whole.desc.bytes());
  }
}

void GatheredNet::scatter_weights() {
  for (const ParamPlace& place : pipeline_.places()) {
    const Param& whole = *pipeline_.whole().params()[place.whole];
    const bool own = static_cast<size_t>(ranks_.stage()) == place.stage;
    hand_out(place, whole.data, own ? own_param(place).data : nullptr, whole.desc.bytes());
    if (own) ++own_param(place).version;
  }
}

size_t GatheredNet::own_params() const { return pipeline_.own().params().size(); }

HistoryId GatheredNet::of_whole(const ParamPlace& place, int kind) const {
  return HistoryId(static_cast<size_t>(kind) * pipeline_.places().size() + place.whole.index());
}

HistoryId GatheredNet::of_own(const ParamPlace& place, int kind) const {
  return HistoryId(static_cast<size_t>(kind) * own_params() + place.own.index());
}

void GatheredNet::gather_histories() {
  for (int kind = 0; kind < kinds(); ++kind) {
    for (const ParamPlace& place : pipeline_.places()) {
      const auto count = static_cast<size_t>(pipeline_.whole().params()[place.whole]->desc.count());
      std::vector<float> own, whole(ranks_.root() ? count : 0);
      if (owns(place)) own = own_updater_.history(of_own(place, kind));
      fetch(place, own.data(), whole.data(), count * sizeof(float));
      if (ranks_.root()) whole_updater_->set_history(of_whole(place, kind), whole);
    }
  }
}

void GatheredNet::scatter_histories(const Snapshot& snapshot) {
  for (int kind = 0; kind < kinds(); ++kind) {
    for (const ParamPlace& place : pipeline_.places()) {
      const auto count = static_cast<size_t>(pipeline_.whole().params()[place.whole]->desc.count());
      const bool has = static_cast<size_t>(ranks_.stage()) == place.stage;
      std::vector<float> whole, own(has ? count : 0);
      if (ranks_.root()) whole = saved_history(snapshot, of_whole(place, kind));
      hand_out(place, whole.data(), own.data(), count * sizeof(float));
      if (has) own_updater_.set_history(of_own(place, kind), own);
    }
  }
}

void gather_choices(Ranks& ranks, KernelChoices& choices) {
  if (!ranks.staged()) return;
  TrainingState mine;
  mine.kernel_choices = choices;
  std::string text = state_to_proto(mine).SerializeAsString();
  for (int stage = 1; stage < ranks.stages(); ++stage) {
    const Ranks::Waiting waiting(ranks);
    const int owner = ranks.places().rank_of(stage, 0);
    uint64_t length = text.size();
    if (ranks.rank() == owner) {
      ranks.control().exchange(&length, sizeof length, 0, nullptr, 0, -1);
      ranks.control().exchange(text.data(), length, 0, nullptr, 0, -1);
    } else if (ranks.root()) {
      ranks.control().exchange(nullptr, 0, -1, &length, sizeof length, owner);
      std::string other(length, '\0');
      ranks.control().exchange(nullptr, 0, -1, other.data(), length, owner);
      caffe::SolverState message;
      message.ParseFromString(other);
      for (const auto& [key, choice] : state_from_proto(message, 1).kernel_choices) choices.emplace(key, choice);
    }
  }
}

}  // namespace robusta
