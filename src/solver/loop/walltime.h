/// The end of the time that a batch system grants.
#pragma once

#include <chrono>
#include <string>

namespace robusta {

/// "3600" or "HH:MM:SS" in seconds; 0 for "". Throws Error{kUsage}.
double parse_walltime(const std::string& text);

/// Counts from construction.
class Walltime {
 public:
  explicit Walltime(double limit_seconds) : limit_(limit_seconds) {}
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool limited() const { return limit_ > 0; }
  double left() const { return limit_ - elapsed(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double limit_;  ///< seconds
};

}  // namespace robusta
