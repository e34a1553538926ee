// Linux' tcp(7), TCP_INFO. glibc's own struct of this name ends before the counts of bytes.
//
// Counted are the connections to hosts of the job, MPI's, without the watch's own: bytes that move there say that a
// wait of this rank is no deadlock. The sockets are found in /proc/self/fd, as MPI does not tell them.

#include "comm/liveness/transfers.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace robusta::liveness {
namespace {

/// Of a connection over IPv4, if by a socket of IPv6.
std::optional<sockaddr_in> as_ipv4(const sockaddr_storage& place) {
  if (place.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(place);
  if (place.ss_family != AF_INET6) return std::nullopt;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(place);
  const std::optional<in_addr> mapped = mapped_ipv4(address_of(six));
  return mapped ? std::optional(socket_address(mapped->s_addr, ntohs(six.sin6_port))) : std::nullopt;
}

/// Of the ends of a socket: `ask` is getpeername or getsockname.
sockaddr_storage end_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  if (ask(socket, reinterpret_cast<sockaddr*>(&place), &size) != 0) place.ss_family = AF_UNSPEC;
  return place;
}

/// Sent and acknowledged, or received; 0 where the system does not count them (before Linux 4.1).
uint64_t bytes_of(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr size_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) return 0;
  return info.tcpi_bytes_acked + info.tcpi_bytes_received;
}

}  // namespace

Transfers::Transfers(const Roster& roster, RankId mine, RankId parent)
    : own_port_(static_cast<uint16_t>(roster[mine].port)) {
  for (const Contact& contact : roster) {
    for (const NetworkAddress& its : addresses_of(contact)) hosts_.insert(its.address);
    for (const Address6& its : addresses6_of(contact)) hosts6_.insert(its);
  }
  if (!parent) return;
  parent_port_ = static_cast<uint16_t>(roster[parent].port);
  for (const NetworkAddress& its : addresses_of(roster[parent])) parent_addresses_.insert(its.address);
}

uint64_t Transfers::look() {
  const uint64_t now = bytes();
  changes_ += now != bytes_;
  bytes_ = now;
  return changes_;
}

bool Transfers::is_counted(int socket) const {
  const sockaddr_storage peer = end_of(socket, getpeername);
  if (const auto four = as_ipv4(peer)) {
    const auto own = as_ipv4(end_of(socket, getsockname));
    return is_counted(*four, own ? ntohs(own->sin_port) : uint16_t{0});
  }
  return peer.ss_family == AF_INET6 && hosts6_.count(address_of(reinterpret_cast<const sockaddr_in6&>(peer))) > 0;
}

/// The watch's own connections are all over IPv4.
bool Transfers::is_counted(const sockaddr_in& peer, uint16_t own_port) const {
  if (hosts_.count(peer.sin_addr.s_addr) == 0) return false;
  const bool called = own_port_ != 0 && own_port == own_port_;
  const bool calls = ntohs(peer.sin_port) == parent_port_ && parent_addresses_.count(peer.sin_addr.s_addr) > 0;
  return !called && !calls;
}

uint64_t Transfers::bytes() const {
  uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    if (is_counted(file)) sum += bytes_of(file);
  }
  return sum;
}

}  // namespace robusta::liveness
