// Within a generation an elastic job is a job as any other (job.cpp), but for its end: a rank that is lost ends the
// generation alone, and the others meet again.
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "base/log.h"
#include "base/str.h"
#include "comm/end_of_generation.h"
#include "comm/liveness/exit_file.h"
#include "comm/liveness/restart_code.h"
#include "robusta/error.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/job_parts.h"

namespace robusta {
namespace {

constexpr int kLost = static_cast<int>(ErrorKind::kCommunication);
constexpr int kMostFruitless = 8;  // generations in a row that finish no iteration
constexpr double kConnectedWithin = 10;

std::unique_ptr<LivenessWatch> start_watch(Communicator& world, const DdlOptions& options, Elastic& elastic) {
  LivenessOptions liveness;
  liveness.timeout_s = options.timeout_s;
  liveness.connect_s = kConnectedWithin;
  liveness.goes_on = [&elastic, mine = world.rank()](const Failure& failure) { return elastic.goes_on(failure, mine); };
  return std::make_unique<LivenessWatch>(world, liveness);
}

/// One generation of this process.
class Generation {
 public:
  Generation(Communicator& world, const DdlOptions& options, Elastic& elastic)
      : world_(world), options_(options), elastic_(elastic) {
    if (world.rank() > 0) quiet_.emplace();
    elastic.trains = false;
  }

  /// The exit code of the job; nothing: it goes on with the next generation.
  std::optional<int> run(const std::function<int(Ranks&)>& body) {
    try {
      tell_story();
      set_up();
      const int code = run_watched(world_, options_, *watch_, body, &elastic_);
      leave();
      return code;
    } catch (const EndOfGeneration& end) {
      if (end.kind() == EndOfGeneration::Kind::kInOrder) leave();
      return {};
    } catch (const EndedByPeer& ended) {
      return end_together(ended.rank(), ended.exit_code(), ended.what(), nullptr);
    } catch (const Error& error) {
      return end_together(world_.rank(), error.exit_code(), error.what(), &error);
    }
  }

 private:
  void tell_story() const {
    for (const std::string& line : elastic_.world.story()) LOG_WARNING << "Elastic: " << line;
  }

  void set_up() {
    Ranks starting(world_, {});
    // What rank 0 was given holds for all.
    starting.together([&] { watch_ = start_watch(world_, options_, elastic_); });
    elastic_.world.established();
  }

  /// All ranks come here: nobody is to take the end of another for a death.
  void leave() {
    if (watch_) watch_->goodbye();
    try {
      world_.barrier();
    } catch (const EndOfGeneration&) {
      // Somebody was faster, and is gone.
    }
  }

  /// An error that all ranks know of.
  std::optional<int> end_together(int rank, int code, const std::string& what, const Error* own) {
    leave();
    const bool new_here = elastic_.world.is_new() && elastic_.world.generation() > 1;
    if (elastic_.goes_on_without(rank, code) && !new_here) {
      LOG_WARNING << "Elastic: a new rank cannot train with the others, who go on without it: " << what;
      return {};
    }
    write_exit_file(code, rank, what);
    if (own) report(world_, *own);
    if (!own && new_here) std::fprintf(stderr, "caffe: error: %s\n", what.c_str());
    return code;
  }

  Communicator& world_;
  const DdlOptions& options_;
  Elastic& elastic_;
  std::optional<QuietLog> quiet_;  // one log for the job
  std::unique_ptr<LivenessWatch> watch_;
};

}  // namespace

int64_t KeptTraining::progress() const {
  if (!snapshot) return -1;
  return (static_cast<int64_t>(phase) << 32) + snapshot->state.iter();
}

bool Elastic::goes_on_without(int rank, int code) const {
  const bool is_newcomers = rank >= world.first_new_rank() || code == kLost;
  return is_newcomers && world.generation() > 1 && !trains;
}

bool Elastic::goes_on(const Failure& failure, int mine) {
  using liveness::Fault;
  const bool by_error = failure.fault == Fault::kEnded && failure.code != kLost;
  if (by_error && !(failure.rank != mine && goes_on_without(failure.rank, failure.code))) return false;
  const bool stands_still = failure.fault == Fault::kStalled || failure.fault == Fault::kDeadlock;
  if (failure.rank == mine && stands_still) {
    std::fprintf(stderr, "caffe: error: %s; the other ranks go on without it\n", failure.line.c_str());
    _exit(final_code(kLost));
  }
  world.break_off({.rank = failure.rank,
                   .silent = failure.fault == Fault::kSilent,
                   .given_up = stands_still,
                   .line = failure.line});
  return true;
}

namespace {

/// The next generation; before a job ends for want of ranks, what it has come to is written.
std::unique_ptr<Communicator> meet(Elastic& elastic) {
  const KeptTraining& kept = elastic.kept;
  try {
    return elastic.world.meet(kept.progress());
  } catch (const Error&) {
    if (elastic.world.led() && kept.snapshot) {
      const SnapshotPaths paths = write_snapshot(*kept.snapshot, kept.prefix);
      LOG_WARNING << "Elastic: too few ranks are left: wrote " << paths.state;
    }
    throw;
  }
}

}  // namespace

int run_elastic_job(const DdlOptions& options, const std::function<int(Ranks&)>& body) {
  Elastic elastic(options.elastic);
  for (int fruitless = 0;; fruitless = elastic.trains ? 0 : fruitless + 1) {
    if (fruitless > kMostFruitless) {
      throw Error(ErrorKind::kCommunication, str(fruitless, " generations of ranks in a row ended before they trained"),
                  "look at the log for what ended them");
    }
    std::unique_ptr<Communicator> world = meet(elastic);
    if (!world) return elastic.world.code();
    if (elastic.world.is_new()) elastic.kept = {};  // the others have gone on without it
    const std::optional<int> code = Generation(*world, options, elastic).run(body);
    world.reset();
    elastic.world.part();
    if (!code) continue;
    elastic.world.end(*code, *code == 0 ? "training is done" : "training has ended by an error");
    return *code;
  }
}

}  // namespace robusta
