#include "solver/ranks/job.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include <glog/logging.h>

#include "base/str.h"
#include "comm/liveness/exit_file.h"
#include "comm/world.h"
#include "robusta/error.h"
#include "solver/ranks/rank_map.h"

namespace robusta {
namespace {

/// This rank failed where the others do not know: they are told, and end with it.
[[noreturn]] void end_alone(LivenessWatch& watch, const Error& error) {
  const Failure failure = watch.announce_end(error.exit_code(), error.what());
  if (failure.own) std::fprintf(stderr, "caffe: error: %s\n", error.what());
  std::fflush(nullptr);
  _exit(failure.code);
}

int run_ranks(Communicator& world, const DdlOptions& options, const std::function<int(Ranks&)>& body) {
  // One log for the job; errors are reported by the rank that has them.
  if (world.rank() > 0) FLAGS_minloglevel = google::GLOG_ERROR;
  LivenessOptions liveness;
  liveness.timeout_s = options.timeout_s;
  std::optional<Error> error;
  int code = 0;
  auto watch = std::make_unique<LivenessWatch>(world, liveness);
  try {
    Ranks ranks(world, options);
    ranks.set_watch(watch.get());
    settle_cores(ranks);
    try {
      code = body(ranks);
    } catch (const EndedByPeer& ended) {
      code = ended.exit_code();
    } catch (const Error& thrown) {
      if (!ranks.failed_together()) end_alone(*watch, thrown);
      write_exit_file(thrown.exit_code(), world.rank(), thrown.what());
      error = thrown;
    }
  } catch (const Error& thrown) {
    end_alone(*watch, thrown);
  }
  watch->goodbye();
  if (error) {
    std::fprintf(stderr, "caffe: error: %s\n", error->what());
    code = error->exit_code();
  }
  return code;
}

}  // namespace

DdlOptions ddl_options_of(const std::string& flag) {
  if (!flag.empty()) return parse_ddl_options(flag);
  const char* variable = std::getenv("DDL_OPTIONS");
  return variable ? parse_ddl_options(variable) : DdlOptions{};
}

int run_job(const std::string& ddl_flag, const std::function<int(Ranks&)>& body) {
  const DdlOptions options = ddl_options_of(ddl_flag);
  std::unique_ptr<Communicator> world = join_world();
  int code = 0;
  if (world->size() == 1) {
    if (!options.dims.empty()) check_dims(options, 1);
    Ranks alone;
    code = body(alone);
  } else {
    code = run_ranks(*world, options, body);
  }
  world.reset();
  leave_world();
  return code;
}

}  // namespace robusta
