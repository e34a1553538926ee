/// The ranks of the job: host, process, and where their watches can be reached.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace robusta::liveness {

inline constexpr size_t kMaxAddresses = 8;

/// An IPv4 address in network byte order.
using Address = uint32_t;
std::string to_string(Address address);

/// 128 random bits that rank 0 draws: whoever does not know them is no rank of this job.
using Token = std::array<uint8_t, 16>;

/// Gathered as it lies in memory.
struct Contact {
  char host[128] = {};
  int32_t pid = 0;
  uint32_t port = 0;
  uint64_t started = 0;  ///< of the process, in clock ticks since the machine started: tells a reused pid
  std::array<Address, kMaxAddresses> addresses{};
  int32_t address_count = 0;
  Token token{};
  int32_t padding = 0;
};

using Roster = std::vector<Contact>;

/// Collective: tells all ranks of this one, which listens on `port`. O(ranks) memory, once.
Roster gather_roster(Communicator& world, uint16_t port);

std::vector<std::string> host_names(const Roster& roster);

/// The addresses of this host that others may reach, those of virtual bridges last; the loopback's when there is no
/// other.
std::vector<Address> own_addresses();

/// Start time of a process on this host, 0 when there is no such process.
uint64_t process_start(int pid);

}  // namespace robusta::liveness
