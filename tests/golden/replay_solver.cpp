// Replays of the solver cases: the same parameters and batch, so many iterations, then parameters and histories.

#include <filesystem>
#include <regex>

#include "base/str.h"
#include "golden/case.h"
#include "schema/read_text.h"
#include "solver/files/snapshot_names.h"
#include "solver/solver.h"
#include "support/files.h"

namespace robusta::test {
namespace {

constexpr Bounds kSolverBounds{1e-3, 1e-5};

/// "param:layer:index" or "final:layer:index" -> the parameter.
Param& param_of_key(Net& net, const std::string& key) {
  const size_t first = key.find(':'), last = key.rfind(':');
  return *net.layer_params(key.substr(first + 1, last - first - 1)).at(std::stoul(key.substr(last + 1)));
}

/// Where HDF5Data gives the data, the recording only repeats them.
void set_inputs(Net& net, const Case& golden) {
  for (const char* blob : {"data", "label"}) {
    if (golden.has(blob) && net.graph().find_input(blob)) net.blobs().write(blob, golden.values(blob));
  }
}

void compare_end(Solver& solver, Case& golden) {
  golden.compare("current_step", {static_cast<float>(solver.state().policy.current_step)}, kSolverBounds);
  for (const auto& [key, array] : golden.arrays()) {
    if (key.rfind("final:", 0) == 0) {
      golden.compare(key, solver.train_net().blobs().read_param(param_of_key(solver.train_net(), key)), kSolverBounds);
    }
    if (key.rfind("history:", 0) == 0) {
      golden.compare(key, solver.updater().history(HistoryId(std::stoi(key.substr(8)))), kSolverBounds);
    }
  }
}

/// From the recorded snapshot to the end.
void replay_resumed(const SolverDef& def, const SolverOptions& options, const std::string& state, Case& golden) {
  SolverOptions resumed = options;
  resumed.snapshot = state;
  Solver solver(def, resumed);
  set_inputs(solver.train_net(), golden);
  solver.step(static_cast<int>(golden.number("iters")) - solver.state().iter);
  compare_end(solver, golden);
}

}  // namespace

Result replay_solver(const std::string& name, const Mode& mode) {
  Case golden(name, mode);
  const std::string text = read_file(name + ".solver.prototxt");
  const SolverDef def = read_solver(name + ".solver.prototxt");
  SolverOptions options;
  options.kernels = mode.kernels;
  if (mode.device) options.device = mode.device;
  Solver solver(def, options);
  for (const auto& [key, array] : golden.arrays()) {
    if (key.rfind("param:", 0) == 0) {
      solver.train_net().blobs().write_param(param_of_key(solver.train_net(), key), array.values);
    }
  }
  set_inputs(solver.train_net(), golden);
  std::vector<float> losses, rates;
  solver.on_forward = [&](double loss) { losses.push_back(static_cast<float>(loss)); };
  solver.on_iteration = [&](int, double, double rate) { rates.push_back(static_cast<float>(rate)); };
  solver.step(static_cast<int>(golden.number("iters")));
  golden.compare("losses", losses, kSolverBounds);
  golden.compare("lr", rates, kSolverBounds);
  compare_end(solver, golden);
  for (const ModelFormat* format : model_formats()) {
    const std::string state = snapshot_paths(name, 5, *format).state;
    if (std::filesystem::exists(state)) replay_resumed(def, options, state, golden);
  }
  return golden.result();
}

}  // namespace robusta::test
