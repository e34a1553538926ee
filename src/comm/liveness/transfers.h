/// Whether bytes pass between the hosts of the job and this process, by what the system knows of its TCP connections.
///
/// A library that sums for minutes over a slow link (MPI_Allreduce, one large message) tells nobody how far it is. The
/// system counts what the other side has acknowledged, so that packets that vanish and are sent again count for
/// nothing. Connections of the watch itself, and with others than hosts of the job, are left out.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "comm/liveness/messages.h"
#include "comm/liveness/roster.h"

namespace robusta::liveness {

class Transfers {
 public:
  /// As rank `mine` of the job; `parent`: whom its watch calls, none at the root.
  Transfers(const Roster& roster, RankId mine, RankId parent);

  /// Counts looks between which bytes have passed. A look costs about a microsecond per open file. `now` in seconds.
  uint64_t look(double now);
  /// At the last look, what had been sent and not been acknowledged for longest. A peer that does not read is no such
  /// case: its system acknowledges that it has no room.
  const Unanswered& unanswered() const { return unanswered_; }

 private:
  /// A connection on which something waits for its acknowledgement.
  struct Waiting {
    uint64_t bytes;
    double since;
  };

  /// A rank at the other end; none for connections that do not count.
  RankId peer_of(int socket) const;
  RankId peer_of(const sockaddr_in& peer, uint16_t own_port) const;

  std::map<Address, RankId> hosts_;
  std::map<Address6, RankId> hosts6_;
  std::map<int, Waiting> waiting_;  ///< by socket
  Unanswered unanswered_;
  uint16_t own_port_, parent_port_ = 0;  ///< of the watch, whose own bytes do not count
  std::set<Address> parent_addresses_;
  uint64_t bytes_ = 0, changes_ = 0;  ///< at the last look; how many looks found others
};

}  // namespace robusta::liveness
