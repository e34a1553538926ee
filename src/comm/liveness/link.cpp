// Frames over TCP: a head of eight bytes, then the body. What cannot be sent at once is kept, within bounds, since the
// watch's thread must not wait for a peer that has stopped.

#include "comm/liveness/link.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace robusta::liveness {
namespace {

struct FrameHead {
  uint32_t bytes;
  FrameType type;
};

constexpr size_t kMaxFrame = 1 << 16;  // no message is as long: who announces more does not speak this language
/// Of what one peer sends: the others have to be heard, too.
constexpr size_t kMostAtOnce = 1 << 18;
/// A peer that has not taken this much is stopped or cut off.
constexpr size_t kMuchUnsent = 1 << 16;

/// Verdicts are small and urgent.
void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Link::Link(Descriptor socket) : socket_(std::move(socket)) { send_at_once(fd()); }

Link Link::connect(Address address, uint16_t port) {
  Link link(Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  const sockaddr_in to = socket_address(address, port);
  const int status = ::connect(link.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (status != 0 && errno != EINPROGRESS) link.error_ = errno;
  return link;
}

void Link::queue(FrameType type, const void* body, size_t bytes) {
  if (type != FrameType::kVerdict && out_.size() > kMuchUnsent) return;
  const FrameHead head{static_cast<uint32_t>(bytes), type};
  const char* parts[] = {reinterpret_cast<const char*>(&head), static_cast<const char*>(body)};
  out_.insert(out_.end(), parts[0], parts[0] + sizeof head);
  out_.insert(out_.end(), parts[1], parts[1] + bytes);
}

Link::Outcome Link::send() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0) return is_for_later(errno) ? Outcome::kOpen : fail(errno);
    out_.erase(out_.begin(), out_.begin() + sent);
  }
  return Outcome::kOpen;
}

Link::Outcome Link::receive(std::vector<Frame>& frames) {
  const Outcome outcome = read(kMostAtOnce);
  // Also what came before the end: a verdict is the last thing that a rank says.
  return cut(frames, kMaxFrame) ? outcome : fail(EPROTO);
}

Link::Outcome Link::receive_hello(std::vector<Frame>& frames) {
  constexpr size_t kWhole = sizeof(FrameHead) + sizeof(Hello);
  const Outcome outcome = in_.size() < kWhole ? read(kWhole - in_.size()) : Outcome::kOpen;
  return cut(frames, sizeof(Hello)) ? outcome : fail(EPROTO);
}

Link::Outcome Link::read(size_t most) {
  char buffer[1 << 14];
  while (most > 0) {
    const ssize_t got = recv(fd(), buffer, std::min(sizeof buffer, most), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_for_later(errno)) break;
    // The system tells an error once: when sending has met it, reading sees only an end.
    if (got <= 0) return fail(got == 0 ? error_ : errno);
    in_.insert(in_.end(), buffer, buffer + got);
    most -= static_cast<size_t>(got);
  }
  return Outcome::kOpen;
}

bool Link::cut(std::vector<Frame>& frames, size_t largest) {
  size_t at = 0;
  while (in_.size() - at >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, in_.data() + at, sizeof head);
    if (head.bytes > largest) return false;
    if (in_.size() - at - sizeof head < head.bytes) break;
    frames.push_back({head.type, std::string(in_.data() + at + sizeof head, head.bytes)});
    at += sizeof head + head.bytes;
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

Link::Outcome Link::fail(int error) {
  error_ = error;
  return error == 0 || error == ECONNRESET || error == EPIPE ? Outcome::kOver : Outcome::kBroken;
}

void Link::keep_trying(double seconds) {
  const auto milliseconds = static_cast<unsigned>(std::min(seconds * 1000, 1e9));
  setsockopt(fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

void Link::finish_sending() { shutdown(fd(), SHUT_WR); }

}  // namespace robusta::liveness
