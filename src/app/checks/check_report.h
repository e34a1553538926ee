/// The report of `caffe check`: one line per thing looked at, in the order in which it happens, then the outcome.
///
/// Rank 0 prints, each line as soon as it is known: were a check to hang, the report would show which. Collective.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "app/checks/host_facts.h"
#include "base/counted.h"
#include "robusta/error.h"
#include "solver/ranks/ranks.h"

namespace robusta {

class CheckReport {
 public:
  CheckReport(Ranks& ranks, std::ostream& out) : ranks_(ranks), out_(out) {}

  /// Runs a check on all ranks. It returns what to say (rank 0's counts) or throws on all ranks, by Ranks::together.
  /// Returns whether it passed.
  bool run(const std::string& topic, const std::function<std::string()>& check);
  void warn(const HostWarning& warning);
  void skip(const std::string& topic, const std::string& why) { line("--", topic, why); }

  /// The outcome; returns the exit code, that of the first failure, on all ranks.
  int finish();
  const std::string& first_failure() const { return first_failure_; }

 private:
  void line(const char* mark, const std::string& topic, const std::string& text);

  Ranks& ranks_;
  std::ostream& out_;
  int code_ = 0, failures_ = 0, warnings_ = 0;  ///< of the first failure; how many there were
  std::string first_failure_;
};

}  // namespace robusta
