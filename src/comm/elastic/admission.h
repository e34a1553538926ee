/// How a leader makes a generation of those who have come: in one order that all would find, and of none but those that
/// say once more that they are there.
#pragma once

#include <optional>
#include <span>

#include "comm/elastic/gathering.h"
#include "comm/elastic/standing.h"

namespace robusta::elastic {

class Admitting {
 public:
  /// `listeners`: who calls meanwhile is heard, as `judge` says. References are kept.
  Admitting(const Standing& standing, Gathering& gathering, std::span<const int> listeners, Gathering::Judge judge)
      : standing_(standing), gathering_(gathering), listeners_(listeners), judge_(std::move(judge)) {}

  /// Members of the last generation come first, those with the newest state before others; then new ones, as they came.
  /// All of them as long as there are seats; the others wait on. `self` is the leader's own call: it always has a seat.
  /// Nothing: there are too few, or somebody did not answer and is gone now; the leader goes on waiting. `ledger`: what
  /// the members are to know of losses.
  std::optional<Admission> admit(const Call& self, const Ledger& ledger);

 private:
  bool ask(const std::vector<size_t>& chosen);

  const Standing& standing_;
  Gathering& gathering_;
  std::span<const int> listeners_;
  Gathering::Judge judge_;
};

/// Seconds of a clock that never goes back, for ledgers.
double steady_seconds();

}  // namespace robusta::elastic
