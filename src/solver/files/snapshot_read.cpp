// Reading back: the file's content decides on its format, and what does not fit the net is refused before anything of
// it is used.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

/// Where the weights of a state lie: as it says, or beside it when the folder was moved.
std::string find_model(const std::string& state_path, const std::string& learned_net) {
  std::error_code ignored;
  if (fs::exists(learned_net, ignored)) return learned_net;
  const fs::path beside = fs::path(state_path).parent_path() / fs::path(learned_net).filename();
  return fs::exists(beside, ignored) ? beside.string() : learned_net;
}

/// Two trainings with one prefix on machines that do not see each other's locks may leave the state of one beside the
/// model of the other. Caffe's states have no fingerprint. That of a training with averaged weights is of both models.
void require_same_training(Snapshot& snapshot) {
  const uint64_t written = snapshot.state.robusta().model_fingerprint(), model = fingerprint(snapshot.weights);
  if (written == 0 || written == model) return;
  const std::string averaged = averaged_model(snapshot.model_path);
  std::error_code ignored;
  if (fs::exists(averaged, ignored)) {
    snapshot.averaged = format_of_file(averaged).read_model(averaged);
    if (written == joint_fingerprint(model, fingerprint(*snapshot.averaged))) return;
  }
  throw Error(ErrorKind::kModel,
              str("it does not belong to ", snapshot.model_path,
                  ", which has other weights than those that were written with it"),
              str("resume from another snapshot, or give these weights with -weights to begin anew from them; after a "
                  "training with ema_decay its averaged weights have to be there, too, as ",
                  averaged))
      .at(snapshot.path);
}

}  // namespace

std::vector<StateFile> states_of(const std::string& prefix) {
  const auto [folder, stem] = prefix_parts(prefix);
  std::vector<StateFile> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    for (const ModelFormat* format : model_formats()) {
      const std::string file = it->path().filename().string();
      const int iter = snapshot_iteration(file, stem, format->state_ending());
      if (iter >= 0) found.push_back({iter, prefix + file.substr(stem.size())});
    }
  }
  std::sort(found.begin(), found.end(), [](const StateFile& a, const StateFile& b) {
    return a.iter != b.iter ? a.iter > b.iter : a.path < b.path;
  });
  return found;
}

Snapshot read_snapshot(const std::string& path) {
  Snapshot snapshot;
  snapshot.path = path;
  snapshot.state = format_of_file(path).read_state(path);
  if (!snapshot.state.has_learned_net()) return snapshot;
  snapshot.model_path = find_model(path, snapshot.state.learned_net());
  snapshot.weights = format_of_file(snapshot.model_path).read_model(snapshot.model_path);
  require_same_training(snapshot);
  return snapshot;
}

std::string newest_snapshot(const std::string& prefix) {
  for (const auto& [iter, path] : states_of(prefix)) {
    try {
      if (read_snapshot(path).model_path.empty()) {
        throw Error(ErrorKind::kModel, "the state names no weights").at(path);
      }
      return path;
    } catch (const Error& invalid) {
      LOG_WARNING << "Snapshot passed over: " << invalid.what();
    }
  }
  return "";
}

void restore_weights(const Snapshot& snapshot, Net& net) {
  if (snapshot.model_path.empty()) {
    LOG_WARNING << snapshot.path << " names no weights: the net keeps its initial ones";
    return;
  }
  const CopyReport report = copy_weights(snapshot.weights, snapshot.model_path, net);
  for (const std::string& layer : report.missing) {
    LOG_WARNING << "Layer " << layer << " is not in " << snapshot.model_path << ": it keeps its initial values";
  }
}

void restore_averaged_weights(const Snapshot& snapshot, Net& net) {
  copy_weights(snapshot.averaged.value(), averaged_model(snapshot.model_path), net);
}

void check_histories(const Snapshot& snapshot, const Updater& updater) {
  const auto& history = snapshot.state.history();
  if (history.size() != updater.histories()) {
    throw Error(ErrorKind::kModel,
                str("the state has ", history.size(), " history arrays, this solver needs ", updater.histories()),
                "resume with the solver type and the net that the state was written by")
        .at(snapshot.path);
  }
  for (const HistoryId id : updater.history_ids()) {
    const Param& param = updater.history_param(id);
    try {
      const BlobData blob = blob_from_proto(history[id.number()]);
      if (same_shape(blob, param.desc.shape.dims())) continue;
      throw Error(ErrorKind::kModel, str("history ", id, " has shape ", Shape(blob.shape).str(), ", parameter ",
                                         param.index, " has ", param.desc.shape.str()));
    } catch (Error& error) {
      throw error.in_layer(param.layer).at(snapshot.path);
    }
  }
}

std::vector<float> saved_history(const Snapshot& snapshot, HistoryId id) {
  return blob_from_proto(snapshot.state.history(id.number())).data;
}

}  // namespace robusta
