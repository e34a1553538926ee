#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "schema/state_file.h"
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

/// The N of "<stem>_iter_N.solverstate", -1 for any other name.
int iteration_of(const std::string& file, const std::string& stem) {
  const std::string begin = stem + "_iter_", end = ".solverstate";
  if (file.size() <= begin.size() + end.size() || !file.starts_with(begin) || !file.ends_with(end)) return -1;
  const char *first = file.data() + begin.size(), *last = file.data() + file.size() - end.size();
  int iter = -1;
  const auto [stop, error] = std::from_chars(first, last, iter);
  return error == std::errc() && stop == last ? iter : -1;
}

}  // namespace

Snapshot read_snapshot(const std::string& path) {
  Snapshot snapshot;
  snapshot.path = path;
  snapshot.state = read_state(path);
  if (!snapshot.state.has_learned_net()) return snapshot;
  snapshot.model_path = find_model(path, snapshot.state.learned_net());
  snapshot.weights = read_weights(snapshot.model_path);
  return snapshot;
}

std::string newest_snapshot(const std::string& prefix) {
  const fs::path where(prefix);
  const fs::path folder = where.has_parent_path() ? where.parent_path() : fs::path(".");
  std::vector<int> iterations;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const int iter = iteration_of(it->path().filename().string(), where.filename().string());
    if (iter >= 0) iterations.push_back(iter);
  }
  std::sort(iterations.rbegin(), iterations.rend());
  for (int iter : iterations) {
    const std::string path = snapshot_paths(prefix, iter).state;
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

void restore_arrays(const Snapshot& snapshot, Net& net, Updater& updater) {
  if (snapshot.model_path.empty()) {
    LOG_WARNING << snapshot.path << " names no weights: the net keeps its initial ones";
  } else {
    const CopyReport report = copy_weights(snapshot.weights, snapshot.model_path, net);
    for (const std::string& layer : report.missing) {
      LOG_WARNING << "Layer " << layer << " is not in " << snapshot.model_path << ": it keeps its initial values";
    }
  }
  const auto& history = snapshot.state.history();
  if (history.size() != updater.histories()) {
    throw Error(ErrorKind::kModel,
                str("the state has ", history.size(), " history arrays, this solver needs ", updater.histories()),
                "resume with the solver type and the net that the state was written by")
        .at(snapshot.path);
  }
  for (int i = 0; i < history.size(); ++i) {
    const Param& param = updater.history_param(i);
    try {
      const BlobData blob = blob_from_proto(history[i]);
      if (!same_shape(blob, param.desc.shape.dims())) {
        throw Error(ErrorKind::kModel, str("history ", i, " has shape ", Shape(blob.shape).str(), ", parameter ",
                                           param.index, " has ", param.desc.shape.str()));
      }
      updater.set_history(i, blob.data);
    } catch (Error& error) {
      throw error.in_layer(param.layer).at(snapshot.path);
    }
  }
}

}  // namespace robusta
