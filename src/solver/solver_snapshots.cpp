#include <algorithm>
#include <chrono>

#include "solver/files/weights.h"
#include "solver/ranks/share.h"
#include "solver/solver.h"

namespace robusta {

/// Rank 0 writes; the statistics in its files are those of all ranks.
SnapshotPaths Solver::snapshot() {
  finish_updates();
  const TimelineSpan span(timeline_.get(), TraceKind::kSnapshot, state_.iter);
  const AveragedStatistics averaged(ranks_, *train_net_);
  const auto start = std::chrono::steady_clock::now();
  if (options_.tuner) state_.kernel_choices = options_.tuner->choices();
  SnapshotPaths paths;
  ranks_.doing("the snapshot", Activity::kPausing, 3600);
  ranks_.root_only([&] { paths = write_snapshot(def_, state_, *updater_, *train_net_); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  slowest_snapshot_ = std::max(slowest_snapshot_, seconds);
  last_snapshot_iter_ = state_.iter;
  snapshot_owed_ = false;
  log_.snapshot(state_.iter, paths, seconds);
  return paths;
}

/// A full disk must not end a training of days: it goes on, the failure is told at once and by the exit code.
void Solver::try_snapshot() {
  try {
    snapshot();
    return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOutput) throw;
    log_.snapshot_failed(state_.iter, error);
  } catch (const EndedByPeer& peer) {
    if (peer.exit_code() != static_cast<int>(ErrorKind::kOutput)) throw;
  }
  ranks_.recover();
  ++failed_snapshots_;
  snapshot_owed_ = true;
}

double Solver::snapshot_seconds() const {
  if (slowest_snapshot_ > 0) return slowest_snapshot_;
  constexpr double kSlowDisk = 100e6;  // bytes per second, until one was measured
  return static_cast<double>(proto_bytes(*train_net_, def_.param.snapshot_diff()) + updater_->history_bytes()) /
         kSlowDisk;
}

}  // namespace robusta
