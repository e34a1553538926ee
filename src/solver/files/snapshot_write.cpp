// Before the first iteration everything is checked that would make every snapshot of a long training fail. The model
// comes first: a process killed in between leaves a model without a state, which newest_snapshot() passes over.
#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/temporary.h"
#include "schema/blob_proto.h"
#include "schema/state_file.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"
#include "solver/update/gradient_norm.h"

namespace robusta {
namespace {

void require_small(const ModelFormat& format, const std::string& what, size_t bytes, const std::string& fix) {
  if (bytes <= format.largest_file()) return;
  throw Error(ErrorKind::kOutput,
              str("a ", what, " of ", bytes >> 20, " MiB cannot be written: the format ends at ",
                  (format.largest_file() >> 30) + 1, " GiB"),
              fix);
}

void require_finite(Net& net) {
  std::vector<Tensor> values;
  for (const ParamPtr& param : net.params()) values.push_back(param->tensor());
  const std::vector<Norms> found = NormReader(*net.options().device, net.stream()).read(values);
  for (const ParamId p : net.params().ids()) {
    if (all_finite(found[p.index()])) continue;
    const ParamPtr& param = net.params()[p];
    throw Error(ErrorKind::kNumeric, str("parameter ", param->index, " is not finite: no snapshot is written"),
                "go back to an older snapshot and lower base_lr, or set clip_gradients")
        .in_layer(param->layer);
  }
}

/// Whether `file` is "<stem>_iter_N" with an ending of any format.
bool is_of_snapshot(const std::string& file, const std::string& stem) {
  for (const ModelFormat* format : model_formats()) {
    for (const std::string& ending :
         {format->model_ending(), kAveraged + format->model_ending(), format->state_ending()}) {
      if (snapshot_iteration(file, stem, ending) >= 0) return true;
    }
  }
  return false;
}

}  // namespace

namespace {

void write_arrays(const WeightsFile& weights, const std::string& path) {
  caffe::NetParameter net;
  net.set_name(weights.net_name);
  for (const LayerWeights& from : weights.layers) {
    caffe::LayerParameter* const layer = net.add_layer();
    layer->set_name(from.name);
    layer->set_type(from.type);
    for (const BlobData& blob : from.blobs) blob_to_proto(blob.shape, blob.data.data(), layer->add_blobs());
  }
  write_weights(path, net);
}

}  // namespace

SnapshotPaths write_snapshot(const Snapshot& snapshot, const std::string& prefix) {
  SnapshotPaths paths = snapshot_paths(prefix, snapshot.state.iter(), default_format());
  write_arrays(snapshot.weights, paths.model);
  uint64_t written = fingerprint(snapshot.weights);
  if (snapshot.averaged) {
    paths.averaged = averaged_model(paths.model);
    write_arrays(*snapshot.averaged, paths.averaged);
    written = joint_fingerprint(written, fingerprint(*snapshot.averaged));
  }
  caffe::SolverState state = snapshot.state;
  state.set_learned_net(paths.model);
  state.mutable_robusta()->set_model_fingerprint(written);
  write_state(paths.state, state);
  return paths;
}

bool plans_snapshots(const caffe::SolverParameter& solver) {
  return solver.snapshot() > 0 || solver.snapshot_after_train() || solver.test_and_snapshot_last_epochs() > 0;
}

size_t snapshot_bytes(const SolverDef& solver, const Net& net, const Updater& updater) {
  return proto_bytes(net, solver.param.snapshot_diff()) + updater.history_bytes() +
         (updater.has_average() ? proto_bytes(net, false) : 0);
}

void check_snapshots_possible(const SolverDef& solver, const Net& net, const Updater& updater) {
  const caffe::SolverParameter& p = solver.param;
  const ModelFormat& format = format_of_solver(solver);
  if (!plans_snapshots(p)) return;
  try {
    const std::string fix = "set snapshot: 0 and snapshot_after_train: false to train without snapshots";
    require_small(format, format.model_ending(), proto_bytes(net, p.snapshot_diff()), fix);
    require_small(format, format.state_ending(), updater.history_bytes(), fix);
    format.require_possible(net.graph());
    require_writable_prefix("snapshots with prefix", p.snapshot_prefix());
  } catch (Error& error) {
    throw error.at(solver.where("snapshot_prefix"));
  }
}

void remove_unfinished_snapshots(const std::string& prefix) {
  const auto [folder, stem] = prefix_parts(prefix);
  const auto ours = [&stem = stem](const std::string& file) { return is_of_snapshot(file, stem); };
  for (const std::string& name : remove_abandoned(folder, ours)) {
    LOG_INFO << "Removed " << name << " from " << folder << ": a snapshot that was never finished";
  }
}

NewSnapshot write_model(const SolverDef& solver, int iter, Net& net, const std::string& scores) {
  require_finite(net);
  remove_unfinished_snapshots(solver.param.snapshot_prefix());  // a full disk may need their room
  const ModelFormat& format = format_of_solver(solver);
  NewSnapshot snapshot{.paths = snapshot_paths(solver.param.snapshot_prefix(), iter, format, scores)};
  LOG_INFO << "Snapshotting to " << format.title() << ' ' << snapshot.paths.model;
  format.write_model(snapshot.paths.model, net, solver.param.snapshot_diff());
  snapshot.fingerprint = fingerprint(net);
  return snapshot;
}

void write_averaged_model(const SolverDef& solver, NewSnapshot& snapshot, Net& net) {
  const ModelFormat& format = format_of_solver(solver);
  snapshot.paths.averaged = averaged_model(snapshot.paths.model);
  LOG_INFO << "Snapshotting averaged weights to " << format.title() << ' ' << snapshot.paths.averaged;
  format.write_model(snapshot.paths.averaged, net, false);
  snapshot.fingerprint = joint_fingerprint(snapshot.fingerprint, fingerprint(net));
}

namespace {

caffe::SolverState state_beside(const NewSnapshot& snapshot, const TrainingState& state) {
  caffe::SolverState proto = state_to_proto(state);
  proto.set_learned_net(snapshot.paths.model);
  proto.mutable_robusta()->set_model_fingerprint(snapshot.fingerprint);
  return proto;
}

}  // namespace

std::optional<ArrayMessage> state_message(const SolverDef& solver, const TrainingState& state,
                                          const NewSnapshot& snapshot, Updater& updater) {
  return format_of_solver(solver).state_message(state_beside(snapshot, state), updater);
}

void write_state(const SolverDef& solver, const TrainingState& state, const NewSnapshot& snapshot, Updater& updater) {
  const ModelFormat& format = format_of_solver(solver);
  LOG_INFO << "Snapshotting solver state to " << format.title() << ' ' << snapshot.paths.state;
  format.write_state(snapshot.paths.state, state_beside(snapshot, state), updater);
}

}  // namespace robusta
