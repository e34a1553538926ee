// Collective work around one writer: all ranks average their statistics, rank 0 writes, and all learn how it went.
#include "solver/loop/snapshotter.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "robusta/error.h"
#include "solver/files/model_format.h"
#include "solver/loop/parted_state.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/share.h"

namespace robusta {

void Snapshotter::prepare() {
  const std::unique_ptr<GatheredNet> whole = plans_snapshots(training_.param()) ? gathered() : nullptr;
  training_.ranks.root_only([&] {
    check_snapshots_possible(training_.def, training_.whole(), whole ? whole->updater() : training_.updater);
    if (plans_snapshots(training_.param()) && !lock_)
      lock_.emplace(training_.param().snapshot_prefix(), LeaseTimes(), job());
    remove_unfinished_snapshots(training_.param().snapshot_prefix());
  });
}

std::string Snapshotter::job() const {
  const Elastic* const elastic = training_.ranks.elastic();
  return elastic ? elastic->world.job() : "";
}

/// Null where each rank has the whole net.
std::unique_ptr<GatheredNet> Snapshotter::gathered() {
  if (!training_.over_ranks) return nullptr;
  return std::make_unique<GatheredNet>(training_.ranks, training_.def, *training_.over_ranks, training_.updater);
}

SnapshotPaths Snapshotter::write_files(const std::string& scores) {
  Ranks& ranks = training_.ranks;
  std::optional<PrefixLock> meanwhile;  // for a snapshot that nobody planned
  NewSnapshot snapshot;
  const std::unique_ptr<GatheredNet> stages = gathered();
  if (stages) stages->gather_weights();
  ranks.root_only([&] {
    if (lock_) {
      lock_->keep();
    } else {
      meanwhile.emplace(training_.param().snapshot_prefix(), LeaseTimes(), job());
    }
    snapshot = write_model(training_.def, training_.state.iter, training_.whole(), scores);
  });
  WeightAverage* const average = training_.updater.average();
  if (average && average->begun()) {
    const AveragedWeights averaged(*average);
    if (stages) stages->gather_weights();
    ranks.root_only([&] { write_averaged_model(training_.def, snapshot, training_.whole()); });
  }
  if (stages) {
    stages->gather_histories();
    ranks.root_only([&] { write_state(training_.def, training_.state, snapshot, stages->updater()); });
    return snapshot.paths;
  }
  const auto parted = [&] {
    return PartedState{snapshot.paths.state,
                       state_message(training_.def, training_.state, snapshot, training_.updater)};
  };
  if (write_parted_state(ranks, training_.updater, parted)) return snapshot.paths;
  ranks.together([&] {
    const TellingHistories whole(training_.updater);
    if (ranks.root()) write_state(training_.def, training_.state, snapshot, training_.updater);
  });
  return snapshot.paths;
}

SnapshotPaths Snapshotter::write(const std::string& scores) {
  training_.finish_updates();
  training_.settle_sums();
  TrainingState& state = training_.state;
  const DriverSpan span(training_.recorder, TraceKind::kSnapshot, state.iter);
  // A file holds one net: the means of the statistics that each rank keeps of its own batches.
  const AveragedStatistics averaged(training_.with_same_net(), training_.net);
  const auto start = std::chrono::steady_clock::now();
  if (tuner_) {
    state.kernel_choices = tuner_->choices();
    gather_choices(training_.ranks, state.kernel_choices);
  }
  training_.ranks.doing("the snapshot", Activity::kPausing, 3600);
  SnapshotPaths paths = write_files(scores);
  state.compression_left = state.slow_momentum = {};
  for (std::string* path : {&paths.model, &paths.state, &paths.averaged}) training_.ranks.broadcast(*path);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  slowest_ = std::max(slowest_, seconds);
  if (scores.empty()) last_iter_ = state.iter;  // one with scores does not stand for one without, as in NVIDIA's
  owed_ = false;
  log_.snapshot(state.iter, paths, seconds);
  return paths;
}

void Snapshotter::try_write(const std::string& scores) {
  try {
    write(scores);
    return;
  } catch (const Error& error) {
    // A disk that is full now may have room again: the training goes on, and another try follows. All else ends it.
    if (error.kind() != ErrorKind::kOutput) throw;
    log_.snapshot_failed(training_.state.iter, error);
  } catch (const EndedByPeer& peer) {
    if (peer.exit_code() != static_cast<int>(ErrorKind::kOutput)) throw;
  }
  training_.ranks.recover();
  ++failed_;
  owed_ = true;
}

bool Snapshotter::due() const {
  const int every = training_.param().snapshot();
  return every > 0 && training_.state.iter % every == 0;
}

void Snapshotter::write_missed() {
  if (!due() || training_.state.iter == 0) return;
  bool missing = false;
  training_.ranks.root_only([&] {
    const caffe::SolverParameter& p = training_.param();
    const SnapshotPaths paths =
        snapshot_paths(p.snapshot_prefix(), training_.state.iter, format_of_solver(training_.def), "");
    missing = !std::filesystem::exists(paths.state);
  });
  training_.ranks.broadcast_value(missing);
  if (missing) try_write();
}

void Snapshotter::write_last(bool stopping) {
  const bool wanted = training_.param().snapshot_after_train() || stopping || owed_;
  if (wanted && last_iter_ != training_.state.iter) try_write();
}

double Snapshotter::seconds() const {
  if (slowest_ > 0) return slowest_;
  constexpr double kSlowDisk = 100e6;  // bytes per second, until one was measured
  return static_cast<double>(snapshot_bytes(training_.def, training_.whole(), training_.updater)) / kSlowDisk;
}

}  // namespace robusta
