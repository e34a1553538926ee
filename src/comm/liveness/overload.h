/// Hosts that have more to run than processors, told while it lasts.
///
/// Each rank measures for which share of a window its threads were ready to run and had no processor (starvation.h).
/// The first rank of a host knows the worst of its host; the worst hosts rise to rank 0 over the tree of the watch,
/// once per window, and rank 0 has a warning to give, at most once in five minutes. A pure state machine: time comes in
/// as an argument.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/liveness/roster.h"
#include "comm/liveness/tree.h"

namespace robusta::liveness {

/// Of a host: its rank that waited most, and for which share of the time.
struct HostLoad {
  RankId rank;
  float waiting = 0;  ///< for a processor, 0 to 1
};

/// The overloaded hosts below a rank. Sent as it lies in memory.
struct LoadReport {
  static constexpr size_t kNamed = 4;
  int32_t hosts = 0;                     ///< how many there are
  std::array<HostLoad, kNamed> worst{};  ///< of them, the worst first
};

/// Whether what arrived can be meant, in a job of `ranks`.
bool is_sane(const LoadReport& report, int ranks);

class Overload {
 public:
  static constexpr float kMuch = 0.5f;         ///< as with two threads that compute for each processor
  static constexpr double kRepeatAfter = 300;  ///< seconds between two warnings

  /// `window`: seconds over which is measured.
  Overload(RankId rank, const Neighbours& neighbours, double window);

  /// `starved`: Starvation::seconds().
  void sample(double starved, double now);
  /// A child's report.
  void hear(RankId child, const LoadReport& report, double now);
  /// For the parent, when there is something new to say.
  std::optional<LoadReport> take_report(double now);
  /// At the root: the warning, when it is time for one.
  std::optional<std::string> take_warning(const Roster& roster, double now);

 private:
  struct Heard {
    LoadReport report;
    double at;
  };
  LoadReport merge(double now);

  RankId rank_;
  std::vector<RankId> remote_;
  double window_;  ///< seconds over which waiting is averaged
  std::optional<double> begun_at_;
  double starved_at_begin_ = 0;  ///< seconds of waiting when the window began
  HostLoad own_;                 ///< in the last window
  std::map<RankId, Heard> heard_;
  bool changed_ = false, told_ = false;         ///< since the last report; that there is any overload
  double quiet_until_ = 0;                      ///< no report goes up before
  std::optional<double> judge_at_, warned_at_;  ///< rank 0: when to look at all reports; the last warning
};

}  // namespace robusta::liveness
