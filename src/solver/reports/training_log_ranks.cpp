// What a training log says of several ranks, on lines with IBM's mark of the rank that speaks.
#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/str.h"
#include "solver/reports/training_log.h"

namespace robusta {
namespace {

/// Numbers with three digits, in the style of printf.
template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

double gb_per_second(const DimensionTime& time) { return time.seconds > 0 ? time.bytes / time.seconds / 1e9 : 0; }

JsonObject dimensions_object(const std::vector<DimensionTime>& dimensions) {
  JsonObject object;
  for (const DimensionTime& time : dimensions) {
    object.add(time.dimension, JsonObject()
                                   .add("algorithm", time.algorithm)
                                   .add("seconds", time.seconds)
                                   .add("bytes", time.bytes)
                                   .add("gb_per_s", gb_per_second(time)));
  }
  return object;
}

}  // namespace

/// Times are means per iteration, lest they depend on how often they are asked for.
void TrainingLog::communication(const Communication& c) {
  const double iterations = static_cast<double>(c.speed.iterations), ms = 1e3 / iterations;
  LOG_INFO << "[MPI:0   ]  Iteration " << c.iter << ", communication of " << c.speed.iterations
           << " iterations: " << format("%.3g MB", c.bytes / 1e6) << " in " << c.buckets << " buckets, "
           << format("end to end %.3g ms, exposed %.3g ms = %.1f %% of an iteration of %.3g ms", c.speed.reducing * ms,
                     c.speed.exposed * ms, 100 * c.speed.exposed_share(), c.speed.seconds * ms);
  for (const DimensionTime& time : c.dimensions) {
    LOG_INFO << "[MPI:0   ]    " << time.dimension << ", " << time.algorithm << ": "
             << format("%.3g ms, %.3g MB sent, %.3g GB/s", time.seconds * ms, time.bytes / 1e6 / iterations,
                       gb_per_second(time));
  }
  LOG_INFO << "[MPI:0   ]    slowest rank " << c.slowest_name << ": "
           << format("%.3g ms of computing, %.1f %% above the middle", c.slowest_seconds * ms, 100 * c.slowest_lag);
  event("communication", JsonObject()
                             .add("iter", c.iter)
                             .add("iterations", c.speed.iterations)
                             .add("bytes", c.bytes)
                             .add("seconds", c.speed.seconds)
                             .add("reducing_seconds", c.speed.reducing)
                             .add("exposed_seconds", c.speed.exposed)
                             .add("comm", c.speed.exposed_share())
                             .add("slowest_rank", c.slowest)
                             .add("slowest_lag", c.slowest_lag)
                             .add("dimensions", dimensions_object(c.dimensions)));
}

void TrainingLog::stages(int iter, int iterations, const std::vector<StageTraffic>& stages) {
  const double each = std::max(iterations, 1);
  LOG_INFO << "[MPI:0   ]  Iteration " << iter << ", stages in " << iterations << " iterations:";
  for (size_t s = 0; s < stages.size(); ++s) {
    LOG_INFO << "[MPI:0   ]    stage " << s << ": "
             << format("%.3g MB sent to others, %.3g ms waited for them", stages[s].bytes / 1e6 / each,
                       1e3 * stages[s].waited / each);
    event("stage", JsonObject()
                       .add("iter", iter)
                       .add("iterations", iterations)
                       .add("stage", static_cast<int64_t>(s))
                       .add("bytes", stages[s].bytes)
                       .add("waited_seconds", stages[s].waited));
  }
}

}  // namespace robusta
