// Linux' tcp(7), TCP_INFO. glibc's own struct of this name ends before the counts of bytes.
//
// Counted are the connections to hosts of the job, MPI's, without the watch's own: bytes that move there say that a
// wait of this rank is no deadlock. The sockets are found in /proc/self/fd, as MPI does not tell them.

#include "comm/liveness/transfers.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

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

/// What the system knows of a connection.
struct TcpState {
  uint64_t bytes = 0;    ///< sent and acknowledged, or received; 0 where they are not counted (before Linux 4.1)
  bool pending = false;  ///< something is to be sent, or to be acknowledged
  double quiet = 0;      ///< seconds since anything was acknowledged
};

TcpState state_of(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr size_t kNeeded = offsetof(tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) return {};
  return {info.tcpi_bytes_acked + info.tcpi_bytes_received, info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0,
          info.tcpi_last_ack_recv / 1000.0};
}

}  // namespace

Transfers::Transfers(const Roster& roster, RankId mine, RankId parent)
    : own_port_(static_cast<uint16_t>(roster[mine].port)) {
  for (RankId rank(0); rank < roster.end_id(); ++rank) {
    for (const NetworkAddress& its : addresses_of(roster[rank])) hosts_.emplace(its.address, rank);
    for (const Address6& its : addresses6_of(roster[rank])) hosts6_.emplace(its, rank);
  }
  if (!parent) return;
  parent_port_ = static_cast<uint16_t>(roster[parent].port);
  for (const NetworkAddress& its : addresses_of(roster[parent])) parent_addresses_.insert(its.address);
}

uint64_t Transfers::look(double now) {
  uint64_t sum = 0;
  std::map<int, Waiting> waiting;
  unanswered_ = {};
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    const RankId peer = peer_of(file);
    if (!peer) continue;
    const TcpState state = state_of(file);
    sum += state.bytes;
    if (!state.pending) continue;
    const auto before = waiting_.find(file);
    const bool waited = before != waiting_.end() && before->second.bytes == state.bytes;
    const Waiting& its = waiting[file] = waited ? before->second : Waiting{state.bytes, now};
    const double seconds = std::min(now - its.since, state.quiet);
    if (seconds > unanswered_.seconds) unanswered_ = {peer, seconds};
  }
  waiting_ = std::move(waiting);
  changes_ += sum != bytes_;
  bytes_ = sum;
  return changes_;
}

RankId Transfers::peer_of(int socket) const {
  const sockaddr_storage peer = end_of(socket, getpeername);
  if (const auto four = as_ipv4(peer)) {
    const auto own = as_ipv4(end_of(socket, getsockname));
    return peer_of(*four, own ? ntohs(own->sin_port) : uint16_t{0});
  }
  if (peer.ss_family != AF_INET6) return RankId::none();
  const auto host = hosts6_.find(address_of(reinterpret_cast<const sockaddr_in6&>(peer)));
  return host == hosts6_.end() ? RankId::none() : host->second;
}

/// The watch's own connections are all over IPv4.
RankId Transfers::peer_of(const sockaddr_in& peer, uint16_t own_port) const {
  const auto host = hosts_.find(peer.sin_addr.s_addr);
  if (host == hosts_.end()) return RankId::none();
  const bool called = own_port_ != 0 && own_port == own_port_;
  const bool calls = ntohs(peer.sin_port) == parent_port_ && parent_addresses_.count(peer.sin_addr.s_addr) > 0;
  return called || calls ? RankId::none() : host->second;
}

}  // namespace robusta::liveness
