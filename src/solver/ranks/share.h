/// Rank 0's state becomes everybody's. All of these are collective.
#pragma once

#include "net/net.h"
#include "net/tuning.h"
#include "solver/files/snapshot.h"
#include "solver/ranks/ranks.h"
#include "solver/update/updater.h"

namespace robusta {

/// Path and state of a snapshot without its arrays.
void share_state(Ranks& ranks, Snapshot& snapshot);
/// The kernels that rank 0 chose are preset on the others.
void share_kernel_choices(Ranks& ranks, RecordingTuner& tuner);
void share_parameters(Ranks& ranks, Net& net);
/// Those of the snapshot that rank 0 has read become the updater's. REQUIRES: check_histories().
void share_histories(Ranks& ranks, const Snapshot& snapshot, Updater& updater);

/// The statistics of every rank become the mean over all ranks, while this lives; then each rank has its own again.
/// For tests and snapshots, as in Intel's fork.
class AveragedStatistics {
 public:
  AveragedStatistics(Ranks& ranks, Net& net);
  ~AveragedStatistics();
  AveragedStatistics(const AveragedStatistics&) = delete;
  AveragedStatistics& operator=(const AveragedStatistics&) = delete;

 private:
  void write(const std::vector<double>& values);

  Net& net_;
  std::vector<Param*> params_;
  std::vector<double> own_;  ///< what this rank had, put back in the end
};

/// Whether the learned parameters are the same on all ranks. Throws Error{kCommunication} on all ranks when they are
/// not, naming the first parameter that differs and the ranks that stand alone.
void check_parameters_agree(Ranks& ranks, Net& net, int iteration);

}  // namespace robusta
