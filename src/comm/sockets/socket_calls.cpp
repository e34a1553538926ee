// Every socket here is non-blocking, is not inherited by programs that this one starts, and sends small messages at
// once (TCP_NODELAY), since somebody waits for each of them.

#include "comm/sockets/socket_calls.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta::sockets {
namespace {

constexpr int kKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Calls step() until it has moved all bytes; it returns as send and recv do.
template <typename Step>
int move_all(int socket, short events, size_t bytes, Clock::time_point deadline, const Step& step) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t moved = step(done);
    if (moved == 0) return ECONNRESET;
    if (moved > 0) {
      done += static_cast<size_t>(moved);
    } else if (!is_for_later(errno)) {
      return errno;
    } else if (!await(socket, events, deadline)) {
      return ETIMEDOUT;
    }
  }
  return 0;
}

}  // namespace

Address resolve(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &wanted, &list);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, freeaddrinfo);
  if (code != 0 || !found) {
    throw Error(ErrorKind::kCommunication, str("no IPv4 address of host \"", host, "\": ", gai_strerror(code)),
                "give MASTER_ADDR as a name that all hosts know, or as a number");
  }
  return reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr;
}

Descriptor accept_from(int listener, Address* from) {
  sockaddr_in caller_at{};
  socklen_t bytes = sizeof caller_at;
  Descriptor caller(accept4(listener, reinterpret_cast<sockaddr*>(&caller_at), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!caller.is_open()) return caller;
  send_at_once(caller.get());
  if (from) *from = caller_at.sin_addr.s_addr;
  return caller;
}

Descriptor begin_connect(Address address, uint16_t port) {
  Descriptor caller(socket(AF_INET, kKind, 0));
  if (!caller.is_open()) return caller;
  send_at_once(caller.get());
  const sockaddr_in to = liveness::socket_address(address, port);
  const int status = ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return status == 0 || errno == EINPROGRESS ? std::move(caller) : Descriptor();
}

int connect_error(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

Address own_address(int socket) {
  sockaddr_in own{};
  socklen_t bytes = sizeof own;
  getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes);
  return own.sin_addr.s_addr;
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

bool await(int socket, short events, Clock::time_point deadline) {
  pollfd polled{socket, events, 0};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = poll(&polled, 1, static_cast<int>(std::clamp<int64_t>(left + 1, 0, 60'000)));
    if (ready > 0) return true;
    if (left <= 0) return false;
  }
}

int send_all(int socket, const void* data, size_t bytes, Clock::time_point deadline) {
  return move_all(socket, POLLOUT, bytes, deadline, [&](size_t done) {
    return send(socket, static_cast<const char*>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}

int receive_all(int socket, void* data, size_t bytes, Clock::time_point deadline) {
  return move_all(socket, POLLIN, bytes, deadline,
                  [&](size_t done) { return recv(socket, static_cast<char*>(data) + done, bytes - done, 0); });
}

}  // namespace robusta::sockets
