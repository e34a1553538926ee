/// Sockets that listen on several addresses at one port, with descriptors of their own in reserve.
///
/// Callers that nobody has asked in can take neither the descriptors that the program needs for its files nor, when
/// the program has used up all others, keep the ranks' own callers out.
#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "comm/liveness/interfaces.h"

namespace robusta::liveness {

/// Listens there without blocking; port 0: one of the system's choice, which it then receives. Not open: errno tells.
Descriptor listen_at(Address address, uint16_t& port);

struct Caught {
  Descriptor socket;
  Address from = 0;  ///< of the caller, in network order
};

class Listener {
 public:
  /// At a port that the system chooses, the same for all addresses. Throws Error{kCommunication}.
  explicit Listener(const std::vector<Address>& addresses);

  uint16_t port() const { return port_; }
  /// The next that called; nothing when nobody has, or nobody can be let in for want of descriptors (`starved`).
  std::optional<Caught> accept();
  bool starved() const { return starved_; }
  /// Takes descriptors into reserve again, as far as they are missing.
  void refill();
  void add_to(std::vector<pollfd>& polled) const;

 private:
  static constexpr size_t kReserve = 8;

  bool open(const std::vector<Address>& addresses);

  uint16_t port_ = 0;
  bool starved_ = false;                       ///< the last accept lacked a descriptor
  std::vector<Descriptor> sockets_, reserve_;  ///< one per address; held back for the day that descriptors run out
};

}  // namespace robusta::liveness
