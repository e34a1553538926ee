// A port that is free on one address may be taken on another, so opening tries several ports.
#include "comm/liveness/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta::liveness {
namespace {

constexpr int kBacklog = 256;  // calls that the system holds until they are accepted; they cost us no descriptor

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

Descriptor listen_at(Address address, uint16_t& port) {
  Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // At a port that was named: a job that begins anew meets where the last one met, whose connections linger.
  const int named = port != 0;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &named, sizeof named);
  sockaddr_in place = socket_address(address, port);
  socklen_t bytes = sizeof place;
  auto* const generic = reinterpret_cast<sockaddr*>(&place);
  const bool listens = listener.is_open() && bind(listener.get(), generic, bytes) == 0 &&
                       listen(listener.get(), kBacklog) == 0 && getsockname(listener.get(), generic, &bytes) == 0;
  if (!listens) return Descriptor();
  port = ntohs(place.sin_port);
  return listener;
}

Listener::Listener(const std::vector<Address>& addresses) {
  constexpr int kAttempts = 20;
  int attempt = 0;
  while (!open(addresses)) {
    if (errno == EADDRINUSE && ++attempt < kAttempts) continue;
    throw Error(ErrorKind::kCommunication, str("the liveness watch cannot listen on a TCP port: ", strerror(errno)),
                "raise the limit of open files (ulimit -n), or switch the watch off with -timeout 0");
  }
  refill();
}

bool Listener::open(const std::vector<Address>& addresses) {
  sockets_.clear();
  port_ = 0;
  for (const Address address : addresses) {
    Descriptor socket = listen_at(address, port_);
    if (!socket.is_open()) return false;
    sockets_.push_back(std::move(socket));
  }
  return true;
}

std::optional<Caught> Listener::accept() {
  starved_ = false;
  for (size_t i = 0; i < sockets_.size();) {
    sockaddr_in from{};
    socklen_t bytes = sizeof from;
    Descriptor caller(
        accept4(sockets_[i].get(), reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (caller.is_open()) return Caught{std::move(caller), from.sin_addr.s_addr};
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (lacks_descriptors(errno) && !reserve_.empty()) {
      reserve_.pop_back();
      continue;
    }
    starved_ = starved_ || lacks_descriptors(errno);
    ++i;
  }
  return std::nullopt;
}

/// Spare descriptors are held back, for callers that come when the process has used up its limit of them.
void Listener::refill() {
  while (!sockets_.empty() && reserve_.size() < kReserve) {
    Descriptor spare(fcntl(sockets_[0].get(), F_DUPFD_CLOEXEC, 0));
    if (!spare.is_open()) return;
    reserve_.push_back(std::move(spare));
  }
}

void Listener::add_to(std::vector<pollfd>& polled) const {
  for (const Descriptor& socket : sockets_) polled.push_back({socket.get(), POLLIN, 0});
}

}  // namespace robusta::liveness
