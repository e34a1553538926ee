/// Those who connected to a watch and have not yet proved to be ranks of the job.
///
/// Anybody who reaches the port may connect. So guests are few, a guest may send no more than one hello, and has to
/// send it soon; who comes when all places are taken gets that of the oldest who is not known to be on a host of the
/// job. The hello holds the job's token. It is answered by a welcome, and only when the guest speaks again is it
/// handed on: calls that were given up long ago while this process was stopped are not taken for links.
#pragma once

#include <poll.h>

#include <optional>
#include <set>
#include <vector>

#include "comm/liveness/link.h"
#include "comm/liveness/listener.h"

namespace robusta::liveness {

/// Who may call, and where from.
struct Invited {
  RankId host;  ///< the rank that listens
  Token token{};
  std::set<RankId> ranks;       ///< the children of `host`
  std::set<Address> addresses;  ///< of their hosts
};

/// A rank that has proved to be one, with what it said first.
struct Arrival {
  RankId from;
  Link link;
  std::vector<Frame> frames;
  Link::Outcome outcome;  ///< kOver: it has already ended
};

class Guests {
 public:
  Guests(std::optional<Listener> listener, Invited invited);

  /// The sockets to wait for. At most this many seconds may be waited: while callers come faster than they can be
  /// looked at, none is let in for a moment.
  double add_to(std::vector<pollfd>& polled, double now) const;
  /// Lets callers in and out, and returns those that are ranks.
  std::vector<Arrival> serve(double now);

 private:
  struct Guest {
    Link link;
    Address address;
    double since;
    RankId from = {};  ///< the rank that its hello named
  };
  enum class Stay { kYes, kNo, kArrived };

  void accept(double now);
  bool make_room(Address address);
  Stay hear(Guest& guest, double now);
  bool welcome(Guest& guest, const Frame& frame) const;
  bool is_known(Address address) const { return invited_.addresses.count(address) > 0; }

  std::optional<Listener> listener_;  ///< none where nobody is invited
  Invited invited_;
  size_t most_;                ///< guests at a time
  double closed_until_ = 0;    ///< nobody is accepted before this time
  std::vector<Guest> guests_;  ///< the oldest first
  std::vector<Frame> frames_;  ///< of the guest that is being heard
  Link::Outcome outcome_ = Link::Outcome::kOpen;
};

}  // namespace robusta::liveness
