// What was heard from a child counts for two windows, as those of ranks do not end together.
//
// Of a host counts the rank that waited most: the ranks of a host share its processors. A child on the same host
// therefore competes with this rank, and one on another host is a host of its own.

#include "comm/liveness/overload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/str.h"

namespace robusta::liveness {
namespace {

size_t named(const LoadReport& report) { return std::min(static_cast<size_t>(report.hosts), LoadReport::kNamed); }

int percent(float share) { return static_cast<int>(std::lround(100 * share)); }

}  // namespace

bool is_sane(const LoadReport& report, int ranks) {
  if (report.hosts < 0 || report.hosts > ranks) return false;
  return std::all_of(report.worst.begin(), report.worst.begin() + static_cast<std::ptrdiff_t>(named(report)),
                     [&](const HostLoad& load) {
                       return load.rank && load.rank < RankId(ranks) && load.waiting >= 0 && load.waiting <= 1;
                     });
}

Overload::Overload(RankId rank, const Neighbours& neighbours, double window)
    : rank_(rank), remote_(neighbours.remote), window_(window), own_{rank, 0} {}

void Overload::sample(double starved, double now) {
  if (begun_at_ && now - *begun_at_ < window_) return;
  // After a pause of the whole process a window is longer than meant, and says nothing.
  if (begun_at_ && now - *begun_at_ < 2 * window_) {
    own_.waiting = static_cast<float>(std::clamp((starved - starved_at_begin_) / (now - *begun_at_), 0.0, 1.0));
    changed_ = true;
    // The windows of others end a little later, and what they say has to climb the tree.
    judge_at_ = now + window_ / 6;
  }
  begun_at_ = now;
  starved_at_begin_ = starved;
}

void Overload::hear(RankId child, const LoadReport& report, double now) {
  heard_[child] = {report, now};
  changed_ = true;
}

LoadReport Overload::merge(double now) {
  std::erase_if(heard_, [&](const auto& item) { return now - item.second.at > 2 * window_; });
  HostLoad own = own_;
  LoadReport all;
  std::vector<HostLoad> worst;
  const auto worse = [](const HostLoad& a, const HostLoad& b) { return a.waiting > b.waiting; };
  for (const auto& [child, heard] : heard_) {
    const auto begin = heard.report.worst.begin(), end = begin + static_cast<std::ptrdiff_t>(named(heard.report));
    if (contains(remote_, child)) {
      all.hosts += heard.report.hosts;
      worst.insert(worst.end(), begin, end);
    } else if (begin != end && worse(*begin, own)) {
      own = *begin;
    }
  }
  if (own.waiting > kMuch) {
    ++all.hosts;
    worst.push_back(own);
  }
  std::stable_sort(worst.begin(), worst.end(), worse);
  worst.resize(LoadReport::kNamed);
  std::copy(worst.begin(), worst.end(), all.worst.begin());
  return all;
}

std::optional<LoadReport> Overload::take_report(double now) {
  // What several children say meanwhile goes up together, else frames would add up on the way to the root.
  if (!changed_ || now < quiet_until_) return std::nullopt;
  changed_ = false;
  quiet_until_ = now + window_ / 60;
  const LoadReport report = merge(now);
  // That there is none any more is said once.
  const bool told_before = std::exchange(told_, report.hosts > 0);
  return told_ || told_before ? std::optional(report) : std::nullopt;
}

std::optional<std::string> Overload::take_warning(const Roster& roster, double now) {
  if (!judge_at_ || now < *judge_at_) return std::nullopt;
  judge_at_.reset();
  const LoadReport report = merge(now);
  if (report.hosts == 0 || (warned_at_ && now - *warned_at_ < kRepeatAfter)) return std::nullopt;
  warned_at_ = now;
  std::string hosts;
  for (size_t i = 0; i < named(report); ++i) {
    const HostLoad& load = report.worst[i];
    hosts += str(i == 0 ? "" : ", ", roster[load.rank].host, " (rank ", load.rank, ": ", percent(load.waiting), " %)");
  }
  if (const auto more = static_cast<size_t>(report.hosts) - named(report); more > 0) {
    hosts += str(" and ", more, more == 1 ? " more host" : " more hosts");
  }
  return str("Overload: in the last ", std::lround(window_),
             " s ranks waited for a processor for so much of the time: ", hosts,
             ". More threads compute there than there are processors: give ranks fewer threads ",
             "(OMP_NUM_THREADS), hosts fewer ranks, or end what else runs there");
}

}  // namespace robusta::liveness
