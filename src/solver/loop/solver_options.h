/// What decides a training beside its solver's file, and how it ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress_line.h"
#include "data/settings.h"
#include "net/net.h"
#include "net/tuning.h"
#include "schema/phases.h"
#include "schema/weights_file.h"
#include "solver/loop/signals.h"
#include "solver/loop/walltime.h"
#include "solver/pipeline/pipeline_options.h"
#include "solver/ranks/ranks.h"
#include "solver/reports/json_log.h"
#include "solver/reports/tensorboard/tensorboard.h"
#include "solver/reports/timeline/timeline.h"

namespace robusta {

/// What the command line decides beyond the solver's file. Pointers outlive the solver and may be null.
struct SolverOptions {
  DType dtype = DType::kF32;
  std::optional<DType> precision = {};  ///< as in NetOptions
  Device* device = &cpu_device();
  std::string kernels = "auto";              ///< as in NetOptions
  bool keep_blobs = false;                   ///< as in NetOptions
  bool share_memory = true;                  ///< false: the same bits from more memory
  MemoryOptions memory = {};                 ///< of all nets together
  int64_t batch = 0;                         ///< > 0: replaces every data layer's batch size
  const SolverPhase* phase = nullptr;        ///< of a file of several: the batch of its first Data layer
  const WeightsFile* handed_over = nullptr;  ///< on rank 0: weights to begin with, of the phase before
  DataSettings data = {};                    ///< how the nets' sources read
  int micro_batches = 1;                     ///< that every batch of training is cut into, and iter_size counts
  PipelineOptions pipeline = {};             ///< devices that train a stage each; then `device` is the host
  Ranks* ranks = nullptr;                    ///< those that train together; null: one
  bool batch_is_global = false;              ///< the batch sizes of training are divided among the ranks
  bool accept_batch_change = false;          ///< resume with another number of samples per iteration
  RecordingTuner* tuner = nullptr;           ///< null: kernels are not timed
  std::vector<std::string> weights = {};     ///< instead of those of the solver's file
  std::string snapshot = {};                 ///< a .solverstate to go on from; then no weights are loaded
  bool from_memory = false;                  ///< instead: rank 0 goes on from what it has kept (ranks/elastic.h)
  JsonLog* json = nullptr;                   ///< null: no file of events
  ProgressLine* progress = nullptr;          ///< null: no line at the bottom of a terminal
  TimelineOptions timeline = {};
  TensorBoardOptions tensorboard = {};
  const Walltime* walltime = nullptr;
  std::function<Request()> poll = {};  ///< asked between iterations and between batches of a test
};

/// Whether weights and histories are those of another run, or of this one with other ranks.
inline bool resumes(const SolverOptions& options) { return !options.snapshot.empty() || options.from_memory; }

/// How a training ended.
struct TrainingResult {
  bool stopped_early = false;
  int failed_snapshots = 0;
};

}  // namespace robusta
