/// How ranks that no MPI brings together find each other: all call rank 0 at an address that whoever started them told
/// them, and get the list of all.
///
/// Rank 0 listens at that address alone, the others where they called from. Whoever does not know the job's secret gets
/// no answer. The ranks come within the time that is given, or all that came end with the same error, which names those
/// that did not.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "comm/liveness/roster.h"
#include "comm/sockets/socket_calls.h"

namespace robusta::sockets {

struct Meeting {
  int rank = 0, ranks = 1;
  std::string host;   ///< of rank 0
  uint16_t port = 0;  ///< where it listens
  std::string secret;
  double seconds = 0;  ///< for all to come
};

/// Where a rank can be reached; sent as it lies in memory.
struct Member {
  Address address = 0;
  uint32_t port = 0;
  char host[128] = {};
};

/// Drawn by rank 0, for the connections between the ranks.
using liveness::Token;

struct Company {
  int rank = 0;
  std::vector<Member> members;  ///< by rank
  Token token{};
  Descriptor listener;  ///< of this rank, for the others
};

/// Throws Error{kCommunication}.
Company meet(const Meeting& meeting);

/// Names of a cluster that is being started become known one after the other: that of a pod when it has an address.
/// Throws Error{kCommunication} when this one is not known by then.
Address resolve_before(const std::string& host, Clock::time_point deadline);

/// ROBUSTA_MEETING_SECONDS, or 300. Throws Error{kUsage}.
double meeting_seconds();

/// "ranks 2, 3 and 17 others", of those that did not come.
std::string some_of(const std::vector<int>& ranks);

}  // namespace robusta::sockets
