#include "solver/ranks/job.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>

#include <glog/logging.h>

#include "base/str.h"
#include "comm/liveness/exit_file.h"
#include "comm/world.h"
#include "robusta/error.h"
#include "solver/ranks/rank_map.h"

namespace robusta {
namespace {

/// For the job: by the rank that has the error.
void report(const Communicator& world, const Error& error) {
  std::fprintf(stderr, "caffe: error: %s\n  found by    rank %d on %s\nAll %d ranks end with code %d.\n", error.what(),
               world.rank(), world.host().c_str(), world.size(), error.exit_code());
}

/// This rank failed where the others do not know: they are told, and end with it.
[[noreturn]] void end_alone(const Communicator& world, LivenessWatch& watch, const Error& error) {
  const Failure failure = watch.announce_end(error.exit_code(), error.what());
  if (failure.own) report(world, error);
  std::fflush(nullptr);
  _exit(failure.code);
}

std::unique_ptr<LivenessWatch> start_watch(Communicator& world, const DdlOptions& options) {
  LivenessOptions liveness;
  liveness.timeout_s = options.timeout_s;
  return std::make_unique<LivenessWatch>(world, liveness);
}

/// Throws what all ranks throw; of any other error the watch makes an end.
int run_watched(Communicator& world, const DdlOptions& options, LivenessWatch& watch,
                const std::function<int(Ranks&)>& body) {
  bool together = false;
  try {
    Ranks ranks(world, options);
    ranks.set_watch(&watch);
    try {
      settle_cores(ranks);
      return body(ranks);
    } catch (...) {
      together = ranks.failed_together();
      throw;
    }
  } catch (const Error& error) {
    if (together) throw;
    end_alone(world, watch, error);
  } catch (const std::bad_alloc&) {
    end_alone(world, watch, Error(ErrorKind::kMemory, "out of memory", "lower the batch size (-batch)"));
  }
}

int run_ranks(Communicator& world, const std::string& ddl_flag, const std::function<int(Ranks&)>& body) {
  // One log for the job; errors are reported by the rank that has them.
  if (world.rank() > 0) FLAGS_minloglevel = google::GLOG_ERROR;
  DdlOptions options;
  std::unique_ptr<LivenessWatch> watch;
  std::optional<Error> error;
  int code = 0;
  try {
    Ranks starting(world, {});
    starting.together([&] { options = ddl_options_of(ddl_flag); });
    starting.together([&] { watch = start_watch(world, options); });
    code = run_watched(world, options, *watch, body);
  } catch (const EndedByPeer& ended) {
    code = ended.exit_code();
  } catch (const Error& thrown) {
    error = thrown;
    code = thrown.exit_code();
    write_exit_file(code, world.rank(), thrown.what());
  }
  if (watch) watch->goodbye();
  if (error) report(world, *error);
  return code;
}

}  // namespace

DdlOptions ddl_options_of(const std::string& flag) {
  if (!flag.empty()) return parse_ddl_options(flag);
  const char* variable = std::getenv("DDL_OPTIONS");
  return variable ? parse_ddl_options(variable) : DdlOptions{};
}

int run_job(const std::string& ddl_flag, const std::function<int(Ranks&)>& body) {
  std::unique_ptr<Communicator> world = join_world();
  int code = 0;
  if (world->size() == 1) {
    const DdlOptions options = ddl_options_of(ddl_flag);
    if (!options.dims.empty()) check_dims(options, 1);
    Ranks alone;
    code = body(alone);
  } else {
    code = run_ranks(*world, ddl_flag, body);
  }
  world.reset();
  leave_world();
  return code;
}

}  // namespace robusta
