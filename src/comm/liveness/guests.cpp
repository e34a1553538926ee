// The limits are those of a job's start: every child calls at once, over a few addresses each.
//
// Who has not said the right hello is a stranger. Strangers may hold some places for a while but never keep a rank out:
// where room is lacking the oldest of them goes, those from addresses of no rank first.
#include "comm/liveness/guests.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace robusta::liveness {
namespace {

constexpr size_t kStrangers = 32;  // guests beside the ranks that are invited
constexpr double kHelloSeconds = 10;
constexpr double kPause = 0.05;  // seconds without accepting after as many callers as there are places

/// Whether two tokens are equal, in a time that does not tell how far they are.
bool same(const Token& a, const Token& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

Guests::Guests(std::optional<Listener> listener, Invited invited)
    : listener_(std::move(listener)), invited_(std::move(invited)), most_(invited_.ranks.size() + kStrangers) {}

double Guests::add_to(std::vector<pollfd>& polled, double now) const {
  for (const Guest& guest : guests_) polled.push_back({guest.link.fd(), POLLIN, 0});
  if (!listener_) return std::numeric_limits<double>::infinity();
  if (now < closed_until_) return closed_until_ - now;
  listener_->add_to(polled);
  return guests_.empty() ? std::numeric_limits<double>::infinity() : kHelloSeconds;
}

std::vector<Arrival> Guests::serve(double now) {
  if (listener_ && now >= closed_until_) accept(now);
  std::vector<Arrival> arrivals;
  for (size_t i = 0; i < guests_.size();) {
    Guest& guest = guests_[i];
    const Stay stay = hear(guest, now);
    if (stay == Stay::kArrived) {
      arrivals.push_back({guest.from, std::move(guest.link), std::exchange(frames_, {}), outcome_});
    }
    if (stay == Stay::kYes) {
      ++i;
    } else {
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (listener_) listener_->refill();
  return arrivals;
}

void Guests::accept(double now) {
  for (size_t count = 0; count < most_; ++count) {
    std::optional<Caught> caller = listener_->accept();
    if (!caller) {
      // The caller stays in the backlog, and polling it would return at once.
      if (listener_->starved()) closed_until_ = now + kPause;
      return;
    }
    if (make_room(caller->from)) guests_.push_back({Link(std::move(caller->socket)), caller->from, now});
  }
  closed_until_ = now + kPause;
}

bool Guests::make_room(Address address) {
  if (guests_.size() < most_) return true;
  const auto is_stranger = [this](const Guest& guest) { return !guest.from && !is_known(guest.address); };
  auto oldest = std::find_if(guests_.begin(), guests_.end(), is_stranger);
  if (oldest == guests_.end() && is_known(address)) {
    oldest = std::find_if(guests_.begin(), guests_.end(), [](const Guest& guest) { return !guest.from; });
  }
  if (oldest == guests_.end()) return false;
  guests_.erase(oldest);
  return true;
}

Guests::Stay Guests::hear(Guest& guest, double now) {
  frames_.clear();
  if (guest.from) {
    outcome_ = guest.link.receive(frames_);
    if (!frames_.empty()) return Stay::kArrived;
    return outcome_ == Link::Outcome::kOpen ? Stay::kYes : Stay::kNo;
  }
  outcome_ = guest.link.receive_hello(frames_);
  if (!frames_.empty()) return welcome(guest, frames_[0]) ? Stay::kYes : Stay::kNo;
  return outcome_ == Link::Outcome::kOpen && now - guest.since < kHelloSeconds ? Stay::kYes : Stay::kNo;
}

bool Guests::welcome(Guest& guest, const Frame& frame) const {
  Hello hello;
  const bool right = frame.type == FrameType::kHello && unpack(frame, hello) && hello.magic == Hello().magic &&
                     same(hello.token, invited_.token) && hello.to == invited_.host &&
                     invited_.ranks.count(hello.from) > 0;
  if (!right) return false;
  guest.from = hello.from;
  std::swap(hello.from, hello.to);
  guest.link.queue(FrameType::kWelcome, &hello, sizeof hello);
  return guest.link.send() == Link::Outcome::kOpen;
}

}  // namespace robusta::liveness
