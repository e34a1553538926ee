// Errors end a job in one of two ways: thrown on all ranks (Ranks::together), each ends in good order; known to one
// rank alone, the watch tells the others and the processes end at once, since the others may wait for ever.
#include "solver/ranks/job.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/str.h"
#include "comm/end_of_generation.h"
#include "comm/liveness/exit_file.h"
#include "comm/liveness/restart_code.h"
#include "comm/world.h"
#include "robusta/error.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/job_parts.h"
#include "solver/ranks/learners.h"
#include "solver/ranks/rank_map.h"

namespace robusta {

std::string ddl_text(const std::string& flag) {
  const char* variable = std::getenv("DDL_OPTIONS");
  return flag.empty() && variable ? variable : flag;
}

namespace {

/// Not parsed yet: of ranks that MPI starts all are to hear what is wrong with the options.
bool asks_for_elastic(const std::string& text) { return text.find("-elastic") != std::string::npos; }

/// "set 1, " where the ranks of a launch are several sets; else "".
std::string& own_set() {
  static std::string name;
  return name;
}

/// The log of one of them shares a stream with those of the others.
void begin_lines_with_set(int set) {
  own_set() = str("set ", set, ", ");
  const LogSink sink = set_log_sink({});
  set_log_sink([sink, begin = str("[set ", set, "] ")](const LogLine& line) {
    const std::string text = begin + std::string(line.text);
    if (sink) sink({line.severity, line.file, line.line, text});
  });
}

}  // namespace

void report(const Communicator& world, const Error& error) {
  const std::string all = world.size() == 1 ? "It ends" : str("All ", world.size(), " ranks end");
  std::fprintf(stderr, "caffe: error: %s\n  found by    %srank %d on %s\n%s with code %d.\n", error.what(),
               own_set().c_str(), world.rank(), world.host().c_str(), all.c_str(), final_code(error.exit_code()));
}

namespace {

/// What the library has to say when a thread cannot be made.
Error of_system(const std::system_error& error) {
  const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
  return no_thread ? Error(ErrorKind::kMemory, "there is no memory left for another thread",
                           "raise `ulimit -v` and `ulimit -u`, or lower OMP_NUM_THREADS")
                   : Error(ErrorKind::kInternal, error.what(), "please report this");
}

/// This rank failed before the ranks watch each other: the others may wait for it in a call that it never reaches.
[[noreturn]] void end_unwatched(const Communicator& world, const Error& error) {
  write_exit_file(error.exit_code(), world.rank(), error.what());
  report(world, error);
  std::fflush(nullptr);
  abandon_world(final_code(error.exit_code()));
}

/// This rank failed where the others do not know: they are told, and end with it. One that has no others throws.
[[noreturn]] void end_alone(const Communicator& world, LivenessWatch& watch, const Error& error) {
  if (world.size() == 1) throw error;
  const Failure failure = watch.announce_end(error.exit_code(), error.what());
  if (failure.own) report(world, error);
  std::fflush(nullptr);
  if (!watch.watches()) abandon_world(final_code(failure.code));  // nothing else tells the others
  _exit(final_code(failure.code));
}

/// What the ranks of a launch are told, and all understand alike.
DdlOptions agree_on_options(Communicator& world, const std::string& ddl_flag) {
  Ranks starting(world, {});
  // Launchers that forward no environment give DDL_OPTIONS to the ranks of their own host only.
  std::string text = ddl_text(ddl_flag);
  starting.broadcast(text);
  DdlOptions options;
  starting.together([&] {
    options = parse_ddl_options(text);
    options.own_set = set_of_rank(options, world.rank(), world.size());
    if (options.served.servers > 0) ranks_per_group(options.served, world.size());
  });
  return options;
}

}  // namespace

int run_watched(Communicator& world, const DdlOptions& options, LivenessWatch& watch,
                const std::function<int(Ranks&)>& body, Elastic* elastic) {
  bool together = false;
  try {
    Ranks ranks(world, options);
    ranks.set_watch(&watch);
    ranks.set_elastic(elastic);
    ranks.doing("the set-up", Activity::kPausing);
    try {
      assign_cores(ranks);
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
  } catch (const EndedByPeer&) {
    throw;
  } catch (const EndOfGeneration&) {
    throw;
  } catch (const std::system_error& error) {
    end_alone(world, watch, of_system(error));
  } catch (const std::exception& error) {
    end_alone(world, watch, Error(ErrorKind::kInternal, error.what(), "please report this"));
  }
}

namespace {

std::unique_ptr<LivenessWatch> start_watch(Communicator& world, const DdlOptions& options) {
  LivenessOptions liveness;
  liveness.timeout_s = options.timeout_s;
  return std::make_unique<LivenessWatch>(world, liveness);
}

/// How the ranks of a job have ended.
struct Ended {
  int code = 0;
  bool in_good_order = false;  ///< a watch has told that no rank has work left
};

/// `world`: of the ranks that train together.
Ended run_together(Communicator& world, const DdlOptions& options, const std::function<int(Ranks&)>& body) {
  std::unique_ptr<LivenessWatch> watch;
  std::optional<Error> error;
  int code = 0;
  try {
    Ranks(world, {}).together([&] { watch = start_watch(world, options); });
    code = run_watched(world, options, *watch, body);
  } catch (const EndedByPeer& ended) {
    code = ended.exit_code();
  } catch (const Error& thrown) {
    error = thrown;
    code = thrown.exit_code();
    write_exit_file(code, world.rank(), thrown.what());
  } catch (const std::system_error& thrown) {
    end_unwatched(world, of_system(thrown));
  }
  if (watch) watch->goodbye();
  if (error) report(world, *error);
  return {code, watch && watch->watches()};
}

/// Those of other sets train on: nobody leaves MPI before them, where it would wait for them on a whole processor.
void await_other_sets(Communicator& world) {
  try {
    world.barrier();
  } catch (const Error&) {
    // They ended without a goodbye, and nothing is left to wait for.
  }
}

/// Nobody watches MPI's own end, where a rank would wait for a host that is lost. All that matters is written by then.
int run_to_the_end(const Ended& ended) {
  // Not without a watch: only its goodbye() tells that no other rank has work left.
  if (!ended.in_good_order) return ended.code;
  std::thread([code = final_code(ended.code)] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    _exit(code);
  }).detach();
  return ended.code;
}

/// One of several sets of ranks, which share hosts and nothing else.
int run_set(Communicator& world, DdlOptions options, std::optional<QuietLog>& quiet,
            const std::function<int(Ranks&)>& body) {
  {
    Ranks all(world, {});
    options.place_on_host = all.topology().local_rank;
    share_cores(all);
  }
  const std::unique_ptr<Communicator> set = world.split(options.own_set, world.rank());
  if (set->rank() == 0) quiet.reset();
  begin_lines_with_set(options.own_set);
  const Ended ended = run_together(*set, options, body);
  await_other_sets(world);
  return run_to_the_end(ended);
}

int run_ranks(Communicator& world, const std::string& ddl_flag, const std::function<int(Ranks&)>& body) {
  // One log for a training; errors are reported by the rank that has them.
  std::optional<QuietLog> quiet;
  if (world.rank() > 0) quiet.emplace();
  DdlOptions options;
  try {
    options = agree_on_options(world, ddl_flag);
  } catch (const EndedByPeer& ended) {
    return ended.exit_code();
  } catch (const Error& error) {
    write_exit_file(error.exit_code(), world.rank(), error.what());
    report(world, error);
    return error.exit_code();
  }
  if (options.sets.empty()) return run_to_the_end(run_together(world, options, body));
  return run_set(world, options, quiet, body);
}

}  // namespace

DdlOptions ddl_options_of(const std::string& flag) { return parse_ddl_options(ddl_text(flag)); }

int run_job(const std::string& ddl_flag, const std::function<int(Ranks&)>& body, int learners) {
  if (const std::string text = ddl_text(ddl_flag); asks_for_elastic(text)) {
    const DdlOptions options = parse_ddl_options(text);
    if (learners > 1) {
      throw Error(ErrorKind::kUsage,
                  "-ddl -elastic: several ranks of one process (-gpu, -sockets) come and go together",
                  "start a process for each, with one GPU in -gpu");
    }
    return run_elastic_job(options, body);
  }
  std::unique_ptr<Communicator> world = join_world();
  int code = 0;
  if (world->size() == 1) {
    const DdlOptions options = ddl_options_of(ddl_flag);
    if (!options.dims.empty()) check_dims(options, learners);
    if (!options.sets.empty()) {
      throw Error(ErrorKind::kUsage, "-sets is of ranks that a launcher starts, and this process was started by itself",
                  "start it by mpirun, srun or torchrun, or leave -sets out");
    }
    if (options.served.servers > 0) {
      throw Error(ErrorKind::kUsage,
                  "-servers (-n_server) are ranks that a launcher starts, and this process was started by itself",
                  "start it by mpirun, srun or torchrun, or leave -servers and -groups out");
    }
    if (learners > 1) {
      code = run_learners(learners, options, body);
    } else {
      Ranks alone(options);
      code = body(alone);
    }
  } else {
    code = run_ranks(*world, ddl_flag, body);
  }
  world.reset();
  leave_world();
  return code;
}

}  // namespace robusta
