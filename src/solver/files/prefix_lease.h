/// The lease on a snapshot prefix: who writes snapshots under it, as a small text file PREFIX.lock says.
///
/// A lease names its holder so that everybody can judge it: the machine (its boot), the process and when that began.
/// Where that cannot be looked up, on another machine, the beat tells: a living holder counts it up.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

struct PrefixLease {
  std::string host;       ///< its name, for people
  std::string boot;       ///< what the kernel drew when it was booted: one machine, until it is booted again
  std::string processes;  ///< the namespace of process ids that `process` is of
  int process = 0;
  uint64_t started = 0;  ///< of the process, in ticks since the boot: process ids come again
  std::string since;     ///< for people
  std::string token;     ///< random: one for each lease
  std::string job;       ///< of ranks that come and go, whose first rank writes: the next first rank takes it over
  uint64_t beat = 0;     ///< counts up while the holder lives
};

/// The lease that this process takes out now.
PrefixLease own_lease(const std::string& job = "");

/// The whole text of the file. Its length does not depend on `beat`.
std::string lease_text(const PrefixLease& lease);

/// False for what is no such text.
bool parse_lease(const std::string& text, PrefixLease& lease);

enum class HolderIs { kAlive, kGone, kUnknown };  ///< unknown: on another machine, or among other process ids

/// Whether the holder's process lives, as far as this machine can tell.
HolderIs look_for_holder(const PrefixLease& lease);

/// "process 123 on node1, since 2026-11-22 16:05:56"
std::string describe(const PrefixLease& lease);

}  // namespace robusta
