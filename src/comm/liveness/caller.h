/// Reaches one rank over whichever of its addresses answers.
///
/// All addresses are tried at once, because some are of bridges that lead nowhere or to another machine; the first
/// whose other end proves to be that rank of this job is taken. Call, welcome and the caller's first word make a
/// handshake of three: a process that was stopped finds calls long given up when it goes on, and must not take one for
/// a link.
#pragma once

#include <poll.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/liveness/link.h"

namespace robusta::liveness {

class Caller {
 public:
  Caller(const Contact& to, const Hello& hello, bool same_host);

  struct Reached {
    Link link;
    Address address;
  };
  /// Tries the addresses that are not being tried, and sees what became of the others.
  std::optional<Reached> call(double now);
  void give_up() { attempts_.clear(); }
  /// Whether the host at this address answered that nobody listens any more.
  bool is_refused(Address address) const;
  /// "10.0.0.1 port 4711: Connection refused, ..."
  std::string why() const;
  void add_to(std::vector<pollfd>& polled) const;

 private:
  struct Attempt {
    Address address;
    Link link;
    double since;
    bool called = false;
  };
  enum class Step { kGoesOn, kFailed, kReached };

  void begin(double now);
  Step advance(Attempt& attempt, double now);
  Step hear(Attempt& attempt);

  std::vector<Address> addresses_;  ///< at which the peer listens
  uint16_t port_;                   ///< the same at all addresses
  Hello hello_;
  std::vector<Attempt> attempts_;       ///< under way, at most one for each address
  std::map<Address, int> errors_;       ///< errno of the last call of an address
  std::map<Address, double> next_try_;  ///< not before this time
};

}  // namespace robusta::liveness
