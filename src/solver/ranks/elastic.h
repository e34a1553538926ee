/// What a rank of an elastic job keeps while the ranks around it change: the way to the others, and its training.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "comm/ddl_options.h"
#include "comm/elastic/elastic_world.h"
#include "comm/liveness/failure.h"
#include "solver/files/snapshot.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// A training between two generations: what a snapshot holds, in memory.
struct KeptTraining {
  std::shared_ptr<Snapshot> snapshot;  ///< null: this rank has none, or one that runs has taken it over
  size_t phase = 0;                    ///< of a file of several
  std::string prefix = {};             ///< of the files that it would be written to

  /// The farther the training is, the larger; -1: there is none.
  int64_t progress() const;
};

class Elastic {
 public:
  explicit Elastic(const ElasticBounds& bounds) : world(bounds) {}

  ElasticWorld world;
  KeptTraining kept;
  std::atomic<bool> trains{false};  ///< this generation has finished an iteration

  /// Whether the ranks go on without the one that failed; then the generation is broken off. `mine`: this rank, which
  /// is ended where it is itself the one that stands still.
  bool goes_on(const Failure& failure, int mine);
  /// The same of an error that all ranks know of: one that came in with this generation and cannot train must not end
  /// those that did without it.
  bool goes_on_without(int rank, int code) const;
};

/// run_job() for ranks that come and go: `body` is run once in each generation that this process is in, and leaves it
/// by EndOfGeneration.
int run_elastic_job(const DdlOptions& options, const std::function<int(Ranks&)>& body);

}  // namespace robusta
