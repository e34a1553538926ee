/// Trainings of a net in stages on threads as ranks, for tests.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/thread_ranks.h"
#include "schema/read_text.h"
#include "solver/files/snapshot.h"
#include "solver/solver.h"
#include "support/files.h"

namespace robusta::test {

struct StagedRun {
  std::string settings = "momentum: 0.9 weight_decay: 0.01 ";
  std::string layers = "";
  int ranks = 1;
  int micro_batches = 4;
  int iterations = 4;
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
  std::string ddl = "";
  int hosts = 1;
  DType dtype = DType::kF32;
  bool batch_is_global = false;
  std::vector<std::string> weights = {};  ///< files to begin with
  std::string resume = "";
};

/// What a training leaves behind, in its files and as rank 0 sees it.
struct StagedOutcome {
  std::vector<std::vector<float>> arrays, averages, histories;  ///< of the last snapshot
  std::vector<double> losses;                                   ///< of iterations
  std::vector<double> outputs;                                  ///< of the last pass
  std::vector<double> tested, averaged_tested;                  ///< outputs of all tests

  bool operator==(const StagedOutcome&) const = default;
};

inline std::vector<std::vector<float>> arrays_of(const WeightsFile& file) {
  std::vector<std::vector<float>> arrays;
  for (const LayerWeights& layer : file.layers) {
    for (const BlobData& blob : layer.blobs) arrays.emplace_back(blob.data.begin(), blob.data.end());
  }
  return arrays;
}

inline void read_files_of(const SnapshotPaths& paths, StagedOutcome& outcome) {
  const Snapshot snapshot = read_snapshot(paths.state);
  outcome.arrays = arrays_of(snapshot.weights);
  if (snapshot.averaged) outcome.averages = arrays_of(*snapshot.averaged);
  for (const caffe::BlobProto& blob : snapshot.state.history())
    outcome.histories.emplace_back(blob.data().begin(), blob.data().end());
}

/// Runs `body` on each rank with its solver; the first error of a rank is thrown, once all have ended.
inline void run_staged(const StagedRun& run, const std::function<void(Solver&, Ranks&)>& body) {
  const auto on_rank = [&](Communicator& world) {
    omp_set_num_threads(1);
    Ranks ranks(world, parse_ddl_options(run.ddl));
    SolverOptions options;
    options.ranks = &ranks;
    options.micro_batches = run.micro_batches;
    options.pipeline.order = run.order;
    options.dtype = run.dtype;
    options.batch_is_global = run.batch_is_global;
    options.weights = run.weights;
    options.snapshot = run.resume;
    options.accept_batch_change = true;
    const bool has_policy = run.settings.find("lr_policy") != std::string::npos;
    const std::string settings =
        "base_lr: 0.02 random_seed: 3 " + run.settings + (has_policy ? "\n" : " lr_policy: 'fixed'\n");
    Solver solver(parse_solver(settings + run.layers, "staged.prototxt"), options);
    body(solver, ranks);
  };
  // The error itself is what is looked at, not the end of the others that follows from it.
  const auto own_errors = [&](Communicator& world) {
    try {
      on_rank(world);
    } catch (const EndedByPeer&) {}
  };
  run_thread_ranks(run.ranks, own_errors, run.hosts);
}

/// Trains, and writes a snapshot to `prefix` in the end.
inline StagedOutcome train_staged(StagedRun run, const std::string& prefix) {
  run.settings += " snapshot_prefix: '" + prefix + "' ";
  StagedOutcome outcome;
  run_staged(run, [&](Solver& solver, Ranks& ranks) {
    StagedOutcome mine;
    const auto keep = [](std::vector<double>& all) {
      return [&all](int, const std::vector<OutputBlob>& means) {
        for (const OutputBlob& blob : means) all.insert(all.end(), blob.values.begin(), blob.values.end());
      };
    };
    solver.on_iteration = [&](int, double loss, double) { mine.losses.push_back(loss); };
    solver.on_test = keep(mine.tested);
    solver.on_averaged_test = keep(mine.averaged_tested);
    solver.step(run.iterations);
    const SnapshotPaths paths = solver.snapshot();
    if (!ranks.root()) return;
    read_files_of(paths, mine);
    outcome = std::move(mine);
  });
  return outcome;
}

inline StagedOutcome train_staged(const StagedRun& run) {
  const TempDir folder;
  return train_staged(run, folder / "s");
}

}  // namespace robusta::test
