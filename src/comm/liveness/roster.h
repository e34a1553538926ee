/// The ranks of the job: host, process, and where their watches can be reached.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/liveness/interfaces.h"
#include "comm/liveness/ipv6.h"
#include "comm/liveness/rank_id.h"

namespace robusta::liveness {

inline constexpr size_t kMaxAddresses = 8;

/// 128 random bits that rank 0 draws: whoever does not know them is no rank of this job.
using Token = std::array<uint8_t, 16>;
Token draw_token();

/// Gathered as it lies in memory.
struct Contact {
  char host[128] = {};
  int32_t pid = 0;
  uint32_t port = 0;     ///< 0: nobody calls this rank
  uint64_t started = 0;  ///< of the process, in clock ticks since the machine started: tells a reused pid
  std::array<NetworkAddress, kMaxAddresses> addresses{};
  int32_t address_count = 0;
  uint32_t listens_at = 0;    ///< bit i: at addresses[i]
  int32_t cannot_listen = 0;  ///< 1: all ranks are to end together
  int32_t address6_count = 0;
  std::array<Address6, kMaxAddresses> addresses6{};  ///< nobody calls the watch there
  Token token{};
};

using Roster = IdVector<RankId, Contact>;

/// What others have to know of this process; the token is rank 0's.
Contact own_contact(const Communicator& world);
void set_addresses(Contact& contact, const std::vector<NetworkAddress>& addresses);
void set_addresses6(Contact& contact, const std::vector<Address6>& addresses);
std::vector<NetworkAddress> addresses_of(const Contact& contact);
std::vector<Address6> addresses6_of(const Contact& contact);

/// Collective: tells all ranks of this one. O(ranks) memory.
Roster gather_roster(Communicator& world, const Contact& mine);

IdVector<RankId, std::string> host_names(const Roster& roster);

/// Start time of a process on this host, 0 when there is no such process.
uint64_t process_start(int pid);

}  // namespace robusta::liveness
