// Connections are made without blocking: the watch's thread must not wait for one address while others would answer.
//
// All addresses of the peer are called side by side, each again and again; the first over which it answers with a
// welcome for this call counts. That a port accepts says nothing, as another program may have it by now.

#include "comm/liveness/caller.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/str.h"

namespace robusta::liveness {
namespace {

constexpr double kRetry = 0.5;  // seconds between two calls of one address
/// The system itself sends a first packet that was lost again after 1 s, 3 s, 7 s: after a cut that is too seldom.
constexpr double kPatience = 2;

/// 0 when connected, EINPROGRESS while it is not known, else why not.
int connect_status(int fd) {
  pollfd polled{fd, POLLOUT, 0};
  if (poll(&polled, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t bytes = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
  return error;
}

}  // namespace

Caller::Caller(const Contact& to, const Hello& hello, bool same_host)
    : port_(static_cast<uint16_t>(to.port)), hello_(hello) {
  const Address loopback = htonl(INADDR_LOOPBACK);
  if (same_host) addresses_.push_back(loopback);
  for (size_t i = 0; i < kMaxAddresses; ++i) {
    const Address address = to.addresses[i].address;
    if ((to.listens_at >> i & 1) != 0 && !(same_host && address == loopback)) addresses_.push_back(address);
  }
}

std::optional<Caller::Reached> Caller::call(double now) {
  begin(now);
  for (size_t i = 0; i < attempts_.size();) {
    Attempt& attempt = attempts_[i];
    const Step step = advance(attempt, now);
    if (step == Step::kReached) {
      Reached reached{std::move(attempt.link), attempt.address};
      attempts_.clear();
      return reached;
    }
    if (step == Step::kGoesOn) {
      ++i;
      continue;
    }
    errors_[attempt.address] = attempt.link.error();
    next_try_[attempt.address] = now + kRetry;
    attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return std::nullopt;
}

void Caller::begin(double now) {
  for (Address address : addresses_) {
    const auto is_same = [&](const Attempt& attempt) { return attempt.address == address; };
    const bool busy = std::any_of(attempts_.begin(), attempts_.end(), is_same);
    if (!busy && now >= next_try_[address]) attempts_.push_back({address, Link::connect(address, port_), now});
  }
}

Caller::Step Caller::advance(Attempt& attempt, double now) {
  if (attempt.called) return hear(attempt);
  const int status = attempt.link.error() != 0 ? attempt.link.error() : connect_status(attempt.link.fd());
  if (status == EINPROGRESS && now - attempt.since < kPatience) return Step::kGoesOn;
  if (status != 0) {
    attempt.link.note_error(status == EINPROGRESS ? ETIMEDOUT : status);
    return Step::kFailed;
  }
  attempt.called = true;
  attempt.link.queue(FrameType::kHello, &hello_, sizeof hello_);
  return attempt.link.send() == Link::Outcome::kOpen ? Step::kGoesOn : Step::kFailed;
}

/// Whoever accepted may be slow or stopped: there is no limit to its patience here.
Caller::Step Caller::hear(Attempt& attempt) {
  std::vector<Frame> frames;
  const Link::Outcome outcome = attempt.link.receive_hello(frames);
  for (const Frame& frame : frames) {
    Hello answer;
    const bool right = frame.type == FrameType::kWelcome && unpack(frame, answer) && answer.magic == hello_.magic &&
                       answer.from == hello_.to && answer.to == hello_.from && answer.token == hello_.token;
    return right ? Step::kReached : Step::kFailed;
  }
  return outcome == Link::Outcome::kOpen ? Step::kGoesOn : Step::kFailed;
}

bool Caller::is_refused(Address address) const {
  const auto found = errors_.find(address);
  return found != errors_.end() && found->second == ECONNREFUSED;
}

std::string Caller::why() const {
  std::string text;
  for (Address address : addresses_) {
    const auto found = errors_.find(address);
    const int error = found == errors_.end() ? ETIMEDOUT : found->second;
    text += str(text.empty() ? "" : ", ", to_string(address), " port ", port_, ": ",
                error == 0 ? "another program answered" : strerror(error));
  }
  return text;
}

void Caller::add_to(std::vector<pollfd>& polled) const {
  for (const Attempt& attempt : attempts_) {
    polled.push_back({attempt.link.fd(), static_cast<short>(attempt.called ? POLLIN : POLLOUT), 0});
  }
}

}  // namespace robusta::liveness
