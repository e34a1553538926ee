// Linux' tcp(7), TCP_INFO. glibc's own struct of this name ends before the counts of bytes.

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

/// The other end of a connection over IPv4.
std::optional<sockaddr_in> peer_of(int socket) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  const bool known = getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  return known && peer.sin_family == AF_INET ? std::optional(peer) : std::nullopt;
}

uint16_t own_port_of(int socket) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.sin_port);
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
  const std::optional<sockaddr_in> peer = peer_of(socket);
  if (!peer || hosts_.count(peer->sin_addr.s_addr) == 0) return false;
  const bool called = own_port_ != 0 && own_port_of(socket) == own_port_;
  const bool calls = ntohs(peer->sin_port) == parent_port_ && parent_addresses_.count(peer->sin_addr.s_addr) > 0;
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
