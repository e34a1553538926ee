/// Snapshots: writing them, choosing one, reading them back.
///
/// A snapshot is a pair PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate, or the same with the endings of another
/// format (model_format.h), and with averaged weights (ema_decay) a second model PREFIX_iter_N_ema.caffemodel. The
/// model is written first and the state last, each whole or not at all, so that a state never lies without its model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "schema/array_message.h"
#include "schema/source.h"
#include "schema/weights_file.h"
#include "solver/files/snapshot_names.h"
#include "solver/files/training_state.h"
#include "solver/update/updater.h"

namespace robusta {

/// Whether the solver asks for any, be it one at the end. (Signals may ask for others.)
bool plans_snapshots(const caffe::SolverParameter& solver);

/// Throws what would make every snapshot fail: Error{kUnsupported} for a format not in this build, Error{kOutput} for
/// an unwritable prefix and for files that the format cannot hold. For before training starts.
void check_snapshots_possible(const SolverDef& solver, const Net& net, const Updater& updater);

/// Size of a snapshot's files in bytes, nearly.
size_t snapshot_bytes(const SolverDef& solver, const Net& net, const Updater& updater);

/// Removes what snapshots of this prefix left that were cut off by the end of their process, and logs it. (Those being
/// written stay, also other processes'.)
void remove_unfinished_snapshots(const std::string& prefix);

/// A snapshot that is being written.
struct NewSnapshot {
  SnapshotPaths paths;
  uint64_t fingerprint = 0;  ///< of all weights that were written so far
};

// Its files, in this order. Each throws Error{kOutput}.

/// After remove_unfinished_snapshots(). Throws Error{kNumeric} rather than write weights that are not finite. `scores`
/// are those of the names.
NewSnapshot write_model(const SolverDef& solver, int iter, Net& net, const std::string& scores);
/// The net has the averaged weights (AveragedWeights).
void write_averaged_model(const SolverDef& solver, NewSnapshot& snapshot, Net& net);
/// The same file as a message of which ranks may write the histories together (loop/parted_state.h); none: its format
/// has another form.
std::optional<ArrayMessage> state_message(const SolverDef& solver, const TrainingState& state,
                                          const NewSnapshot& snapshot, Updater& updater);
/// With the histories, while TellingHistories lives.
void write_state(const SolverDef& solver, const TrainingState& state, const NewSnapshot& snapshot, Updater& updater);

/// A state with its weights, read and in itself sound.
struct Snapshot {
  std::string path;  ///< of the state
  caffe::SolverState state;
  std::string model_path;  ///< "" when the state names none
  WeightsFile weights;
  std::optional<WeightsFile> averaged;  ///< the averaged weights that were written with them
};

/// Writes one that was kept in memory, as Caffe's own files, whatever `snapshot_format` says. Throws Error{kOutput}.
SnapshotPaths write_snapshot(const Snapshot& snapshot, const std::string& prefix);

/// Reads `path` and the weights it names (as written there, else beside the state). Throws Error{kModel}, also where
/// the weights are not those that were written with the state.
Snapshot read_snapshot(const std::string& path);

struct StateFile {
  int iter;
  std::string path;
};
/// The states of a prefix by their names, the newest first. A folder that cannot be read has none.
std::vector<StateFile> states_of(const std::string& prefix);

/// The newest snapshot of the prefix that reads_snapshot accepts, as its path; "" when there is none. Logs why newer
/// ones are passed over.
std::string newest_snapshot(const std::string& prefix);

/// These throw Error{kModel} when the arrays do not fit the net.
void restore_weights(const Snapshot& snapshot, Net& net);
/// REQUIRES: there are any.
void restore_averaged_weights(const Snapshot& snapshot, Net& net);
/// Throws Error{kModel} when the state's histories are not those of the solver.
void check_histories(const Snapshot& snapshot, const Updater& updater);
/// REQUIRES: check_histories().
std::vector<float> saved_history(const Snapshot& snapshot, HistoryId id);

}  // namespace robusta
