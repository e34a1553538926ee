/// The network interfaces of this host, and those over which its ranks talk.
///
/// The watch listens where ranks of the same job call, and nowhere else: on a network that a host of a caller is on
/// too, and on the loopback for callers of this host.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

namespace robusta::liveness {

/// An IPv4 address in network byte order.
using Address = uint32_t;
std::string to_string(Address address);

/// An address, and how many of its leading bits name the network.
struct NetworkAddress {
  Address address = 0;
  int bits = 32;  ///< 32: the host alone
  friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

/// Whether both are addresses of one network.
bool share_network(const NetworkAddress& a, const NetworkAddress& b);

/// The addresses of this host that others may reach, those of virtual bridges last; the loopback's when there is no
/// other. `chosen` (the form of Open MPI's btl_tcp_if_include: names of interfaces and networks, with commas) leaves
/// only those that it names, unless none is.
std::vector<NetworkAddress> own_addresses(const std::string& chosen = "");

/// What the launcher was told to use; "" when it may choose.
std::string chosen_interfaces();

/// Where to listen on a host with the addresses `own` for callers from other hosts (their addresses each), and from
/// this one. In the order of `own`, the loopback last. `route(to)` tells the address that packets to `to` leave from,
/// 0 when there is no way: for callers that no network is shared with.
std::vector<Address> listening_addresses(const std::vector<NetworkAddress>& own,
                                         const std::vector<std::vector<NetworkAddress>>& callers, bool callers_here,
                                         Address (*route)(Address to));

/// By the routes of the system.
Address source_address(Address to);

/// As the calls of the system want it. `address` in network byte order, `port` not.
sockaddr_in socket_address(Address address, uint16_t port);

}  // namespace robusta::liveness
