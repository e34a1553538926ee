/// How often each host was lost of late: one that comes and goes is kept out after three times.
///
/// Every rank has a copy, handed on with each generation, so that it outlives any of them. Times are kept as ages,
/// since the clocks of hosts differ.
#pragma once

#include <string>
#include <vector>

namespace robusta::elastic {

/// Sent as it lies in memory.
struct Loss {
  char host[128] = {};
  double age = 0;       ///< seconds
  double kept_out = 0;  ///< 1: the host is kept out for as long as the job lives
};

class Ledger {
 public:
  static constexpr int kMostLosses = 3;

  /// `within_s`: losses older than that are forgiven, as long as the host is not kept out yet.
  explicit Ledger(double within_s = 600) : within_(within_s) {}

  /// A rank of the host is gone; once per generation and host. True: the host is kept out from now on.
  bool note(const std::string& host, double now);
  bool keeps_out(const std::string& host) const;

  /// For others, and from others, instead of what was known.
  std::vector<Loss> losses(double now) const;
  void take_over(const std::vector<Loss>& losses, double now);

 private:
  struct Entry {
    std::string host;
    double at = 0;
    bool kept_out = false;
  };
  double within_;
  std::vector<Entry> entries_;
};

}  // namespace robusta::elastic
