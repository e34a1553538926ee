// Reports cost a message, so they are made in the iterations that ask for one, and reuse each other's answers.
#include "solver/reports/rank_reports.h"

#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "base/str.h"

namespace robusta {
namespace {

constexpr int kLooksApart = 10;  // iterations: with display: 1 not every one asks all ranks

bool due(int every, int done) { return every > 0 && done % every == 0; }

}  // namespace

RankReports::RankReports(Ranks& ranks, BucketReducer& reducer, DType type, TrainingLog& log)
    : ranks_(ranks), reducer_(reducer), type_(type), log_(log) {}

double RankReports::total_bytes() const {
  double bytes = 0;
  for (const BucketId b : summed()) {
    bytes += static_cast<double>(reducer_.buckets()[b].count) * static_cast<double>(size_of(type_));
  }
  return bytes;
}

void RankReports::at_start() {
  if (!ranks_.root()) return;
  char size[32];
  std::snprintf(size, sizeof size, "%.3g MB", total_bytes() / 1e6);
  LOG_INFO << "Gradients: " << size << " in " << summed_count() << " buckets, " << reducer_.sums().describe();
  for (const std::string& note : reducer_.sums().notes()) LOG_INFO << note;
  if (ranks_.options().dbg_level < 1) return;
  for (const BucketId b : summed()) {
    const Bucket& bucket = reducer_.buckets()[b];
    LOG_INFO << "    bucket " << b + 1 << ": " << bucket.count << " elements, " << bucket.params.size() << " parameters"
             << (bucket.params.empty() ? ""
                                       : str(", ", bucket.params.front()->layer, " to ", bucket.params.back()->layer));
  }
}

void RankReports::after_iteration(int done, const Speed& total) {
  const DdlOptions& options = ranks_.options();
  if (due(options.dump_iter, done)) {
    dump(done, total.since(at_dump_));
    at_dump_ = total;
  }
  if (due(options.rebind_iter, done)) {
    rebind(done, total.since(at_rebind_));
    at_rebind_ = total;
  }
}

void RankReports::before_display(int done, const Speed& total) {
  if (looked_at_ >= 0 && done - looked_at_ < kLooksApart) return;
  looked_at_ = done;
  name_slowest(gather_computing(ranks_, total.since(at_look_)));
  at_look_ = total;
}

void RankReports::name_slowest(const std::vector<double>& computing) {
  slowest_ = slowest_of(computing);
  slowest_name_ = named(slowest_.rank);
}

std::string RankReports::named(int rank) const { return str(rank, " (", ranks_.topology().host_of(rank), ')'); }

void RankReports::dump(int done, const Speed& speed) {
  const std::vector<double> computing = gather_computing(ranks_, speed);
  const std::vector<DimensionTime> dimensions = reducer_.sums().take_times();
  name_slowest(computing);
  if (!ranks_.root()) return;
  log_.communication({.iter = done,
                      .speed = speed,
                      .buckets = summed_count(),
                      .bytes = total_bytes(),
                      .dimensions = dimensions,
                      .slowest = slowest_.rank,
                      .slowest_name = slowest_name_,
                      .slowest_seconds = slowest_.seconds,
                      .slowest_lag = slowest_.lag()});
  if (ranks_.options().dbg_level < 2) return;
  for (size_t rank = 0; rank < computing.size(); ++rank) {
    LOG_INFO << "    rank " << named(static_cast<int>(rank)) << " computed "
             << 1e3 * computing[rank] / static_cast<double>(speed.iterations) << " ms per iteration";
  }
}

void RankReports::rebind(int done, const Speed& speed) {
  const std::vector<double> computing = gather_computing(ranks_, speed);
  name_slowest(computing);
  const std::vector<int> slow = slow_.check(computing);
  if (!ranks_.root()) return;
  for (const int rank : slow) {
    const double lag = computing[static_cast<size_t>(rank)] / slowest_.middle - 1;
    LOG_WARNING << "Iteration " << done << ": rank " << named(rank) << " was slow in the last " << SlowRanks::kChecks
                << " checks, now by " << std::lround(100 * lag)
                << " %: all others wait for it. Look there for other programs, a smaller share of the cores, a hot or "
                << "failing processor; leave the host out, or bind the rank to other cores in the rank file";
  }
}

}  // namespace robusta
