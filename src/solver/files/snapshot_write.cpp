#include <filesystem>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/temporary.h"
#include "schema/state_file.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"
#include "solver/update/gradient_norm.h"

namespace robusta {
namespace {

constexpr size_t kLargestFile = (size_t{1} << 31) - 1;  // of a protobuf message

void require_small(const char* what, size_t bytes, const std::string& fix) {
  if (bytes <= kLargestFile) return;
  throw Error(ErrorKind::kOutput,
              str("a ", what, " of ", bytes >> 20, " MiB cannot be written: the format ends at 2 GiB"), fix);
}

void require_finite(Net& net) {
  std::vector<Tensor> values;
  for (const ParamPtr& param : net.params()) values.push_back(param->tensor());
  const std::vector<Norms> found = NormReader(*net.options().device, net.stream()).read(values);
  for (size_t i = 0; i < found.size(); ++i) {
    if (all_finite(found[i])) continue;
    const ParamPtr& param = net.params()[i];
    throw Error(ErrorKind::kNumeric, str("parameter ", param->index, " is not finite: no snapshot is written"),
                "go back to an older snapshot and lower base_lr, or set clip_gradients")
        .in_layer(param->layer);
  }
}

/// Whether `file` is "<stem>_iter_N" with one of the two endings.
bool is_of_snapshot(const std::string& file, const std::string& stem) {
  const std::string begin = stem + "_iter_";
  const size_t dot = file.rfind('.');
  if (!file.starts_with(begin) || dot == std::string::npos || dot <= begin.size()) return false;
  const std::string iteration = file.substr(begin.size(), dot - begin.size()), ending = file.substr(dot);
  return iteration.find_first_not_of("0123456789") == std::string::npos &&
         (ending == ".caffemodel" || ending == ".solverstate");
}

}  // namespace

SnapshotPaths snapshot_paths(const std::string& prefix, int iter) {
  const std::string stem = str(prefix, "_iter_", iter);
  return {stem + ".caffemodel", stem + ".solverstate"};
}

void check_snapshots_possible(const SolverDef& solver, const Net& net, const Updater& updater) {
  const caffe::SolverParameter& p = solver.param;
  if (p.snapshot_format() == caffe::SolverParameter::HDF5) {
    throw Error(ErrorKind::kUnsupported, "snapshot_format HDF5 is not in this build", "use BINARYPROTO")
        .at(solver.where("snapshot_format"));
  }
  if (p.snapshot() <= 0 && !p.snapshot_after_train()) return;
  try {
    const std::string fix = "set snapshot: 0 and snapshot_after_train: false to train without snapshots";
    require_small(".caffemodel", proto_bytes(net, p.snapshot_diff()), fix);
    require_small(".solverstate", updater.history_bytes(), fix);
    require_writable_prefix("snapshots with prefix", p.snapshot_prefix());
  } catch (Error& error) {
    throw error.at(solver.where("snapshot_prefix"));
  }
}

void remove_unfinished_snapshots(const std::string& prefix) {
  const std::filesystem::path where(prefix);
  const std::string folder = where.has_parent_path() ? where.parent_path().string() : ".";
  const std::string stem = where.filename().string();
  for (const std::string& name :
       remove_abandoned(folder, [&](const std::string& file) { return is_of_snapshot(file, stem); })) {
    LOG_INFO << "Removed " << name << " from " << folder << ": a snapshot that was never finished";
  }
}

SnapshotPaths write_snapshot(const SolverDef& solver, const TrainingState& state, Updater& updater, Net& net) {
  require_finite(net);
  remove_unfinished_snapshots(solver.param.snapshot_prefix());  // a full disk may need their room
  const SnapshotPaths paths = snapshot_paths(solver.param.snapshot_prefix(), state.iter);
  LOG_INFO << "Snapshotting to binary proto file " << paths.model;
  write_weights(paths.model, net_to_proto(net, solver.param.snapshot_diff()));

  caffe::SolverState proto = state_to_proto(state);
  proto.set_learned_net(paths.model);
  for (int i = 0; i < updater.histories(); ++i) {
    blob_to_proto(updater.history_param(i).desc.shape.dims(), updater.history(i).data(), proto.add_history());
  }
  LOG_INFO << "Snapshotting solver state to binary proto file " << paths.state;
  write_state(paths.state, proto);
  return paths;
}

}  // namespace robusta
