/// Contests between several ways to compute the same: they run turn about, and the fastest wins.
///
/// Noise of a machine only ever adds, so an option's time is the least that it took. Who is clearly slower runs once;
/// who is close runs some rounds, and until it is behind or the contest has taken its time.
#pragma once

#include <functional>

namespace robusta {

/// How much time a contest between close options may take, once each has run.
struct ContestBudget {
  int least_rounds = 3;    ///< in which all that are still in it run once; fewer only where one is left
  double seconds = 0.060;  ///< after these rounds: no more begins when this time is over
};

/// Seconds since some moment.
using Clock = std::function<double()>;
double steady_seconds();

/// The option, from 0, that takes the least time on the host; of those within 1 % of it the first, so that another
/// contest says the same. `run(i)` runs option i once; an Error{kUnsupported} from it rules the option out. The first
/// run of all may take longer for what it sets up. 0 where none runs.
int fastest_on_host(int options, const std::function<void(int)>& run, const ContestBudget& budget,
                    const Clock& now = steady_seconds);

/// The same on a GPU, where an option's first run makes its plan, and compiles and loads kernels: it does not count.
/// From then on times differ little.
int fastest_on_gpu(int options, const std::function<void(int)>& run);

}  // namespace robusta
