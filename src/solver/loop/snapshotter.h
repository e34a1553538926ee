/// When snapshots are taken, and what becomes of those that fail.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/tuning.h"
#include "solver/files/prefix_lock.h"
#include "solver/files/snapshot.h"
#include "solver/loop/training.h"
#include "solver/pipeline/ranks/gathered_net.h"
#include "solver/reports/training_log.h"

namespace robusta {

class Snapshotter {
 public:
  /// References are kept; `tuner` may be null.
  Snapshotter(Training& training, RecordingTuner* tuner, TrainingLog& log)
      : training_(training), tuner_(tuner), log_(log) {}

  /// Before the first iteration: throws what would make every snapshot fail, locks the prefix where there will be
  /// snapshots, and removes what unfinished ones left.
  void prepare();
  /// After the last: lets go of the prefix.
  void release() { lock_.reset(); }
  /// Writes model and state; rank 0 does, and the statistics in its files are those of all ranks. Collective. Throws
  /// Error{kOutput|kNumeric}. `scores` (snapshot_names.h): of a test of these weights, for the names of the files.
  SnapshotPaths write(const std::string& scores = "");
  /// The same, but a full disk must not end a training of days: it goes on, the failure is told at once and counted.
  void try_write(const std::string& scores = "");

  /// Whether a periodic one comes after this many iterations.
  bool due() const;
  /// The one that was due when a rank was lost, unless its files are there.
  void write_missed();
  /// One more at the end of training, unless the last one is of this iteration.
  void write_last(bool stopping);

  int failed() const { return failed_; }
  /// Seconds that one takes: the slowest so far, else an estimate.
  double seconds() const;

 private:
  /// Of ranks that come and go; "" of others.
  std::string job() const;
  std::unique_ptr<GatheredNet> gathered();
  SnapshotPaths write_files(const std::string& scores);

  Training& training_;
  RecordingTuner* tuner_;  ///< null: nothing is tuned
  TrainingLog& log_;
  std::optional<PrefixLock> lock_;   ///< on rank 0, while a training with snapshots runs
  int last_iter_ = -1, failed_ = 0;  ///< of the last one without scores; how many could not be written
  bool owed_ = false;                ///< the last one failed
  double slowest_ = 0;               ///< seconds
};

}  // namespace robusta
