// Timing as FFTW's planner does it (Frigo and Johnson 2005, "The Design and Implementation of FFTW3"): every option
// runs on the machine at hand.

#include "net/contest.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "robusta/error.h"

namespace robusta {
namespace {

/// What runs an option, and how long that took.
struct Timer {
  const std::function<void(int)>& run;
  const Clock& now;

  double seconds_of(int option) const {
    const double start = now();
    run(option);
    return now() - start;
  }
};

/// An option that runs.
struct Contender {
  int option = 0;
  double least = 0;  ///< of its times
  double spent = 0;  ///< all of them
  int runs = 0;

  void time(const Timer& timer) {
    const double seconds = timer.seconds_of(option);
    least = runs == 0 ? seconds : std::min(least, seconds);
    spent += seconds;
    ++runs;
  }
};

using Contenders = std::vector<Contender>;

double least_of(const Contenders& contenders) { return std::ranges::min(contenders, {}, &Contender::least).least; }

/// Those that run, each with one run.
Contenders entrants(int options, const Timer& timer) {
  Contenders contenders;
  for (int option = 0; option < options; ++option) {
    try {
      Contender one{.option = option};
      one.time(timer);
      contenders.push_back(one);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
    }
  }
  return contenders;
}

/// How many times the least time one may take that stays, after so many rounds. A run may have been interrupted, by 4
/// ms where another process had its turn: one of less than 10 ms is no evidence by itself, and a longer one only
/// against who takes twice the time. Short ones that cost next to nothing are repeated some times before a small
/// difference counts, since all of them may fall into the turns of others.
double still_close(const Contender& one, int rounds) {
  constexpr double kEvidence = 0.010;
  constexpr int kEnough = 8;
  if (one.spent < kEvidence && one.runs < 2) return std::numeric_limits<double>::infinity();
  if (one.spent < kEvidence && one.runs < kEnough) return 3;
  if (one.runs < 2) return 2;
  constexpr double kCloser[] = {1.3, 1.3, 1.15, 1.08, 1.05, 1.03};
  return kCloser[std::min(rounds, 5)];
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int fastest_on_host(int options, const std::function<void(int)>& run, const ContestBudget& budget, const Clock& now) {
  const Timer timer{run, now};
  constexpr int kMostRounds = 50;
  constexpr double kSame = 1.01;
  Contenders contenders = entrants(options, timer);
  if (contenders.empty()) return 0;
  if (contenders[0].least > least_of(contenders)) {
    contenders[0] = {.option = contenders[0].option};  // what it set up says nothing about it
    contenders[0].time(timer);
  }
  double spent = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const double least = least_of(contenders);
    std::erase_if(contenders, [&](const Contender& one) { return one.least > still_close(one, round) * least; });
    if (contenders.size() < 2 || (round >= budget.least_rounds && spent >= budget.seconds)) break;
    for (Contender& one : contenders) {
      const double before = one.spent;
      one.time(timer);
      spent += one.spent - before;
    }
  }
  const double least = least_of(contenders);
  return std::ranges::find_if(contenders, [&](const Contender& one) { return one.least <= kSame * least; })->option;
}

int fastest_on_gpu(int options, const std::function<void(int)>& run) {
  const Clock now = steady_seconds;
  const Timer timer{run, now};
  Contenders contenders = entrants(options, timer);
  if (contenders.empty()) return 0;
  for (Contender& one : contenders) one.least = timer.seconds_of(one.option);
  // How much slower than the fastest one that stays may be, round by round.
  for (const double slower : {2.0, 2.0, 1.5, 1.25, 1.1, 1.1, 1.05, 1.05}) {
    const double least = least_of(contenders);
    std::erase_if(contenders, [&](const Contender& one) { return one.least > slower * least; });
    if (contenders.size() < 2) break;
    for (Contender& one : contenders) one.time(timer);
  }
  return std::ranges::min(contenders, {}, &Contender::least).option;
}

}  // namespace robusta
