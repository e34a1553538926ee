// What arrives is collected until a word is whole. Only who knows the secret is called, so it is believed; lengths are
// looked at all the same, as another program may listen there.

#include "comm/elastic/outgoing_call.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace robusta::elastic {
namespace {

constexpr int kMostRanks = 1 << 20;

}  // namespace

OutgoingCall::OutgoingCall(Address address, uint32_t port, const Call& call, Introduce introduce)
    : call_(call),
      introduce_(std::move(introduce)),
      socket_(sockets::begin_connect(address, static_cast<uint16_t>(port))) {
  called_.address = address;
  called_.port = port;
  if (!socket_.is_open()) end(errno == ECONNREFUSED ? State::kNobody : State::kClosed);
}

double OutgoingCall::quiet() const { return std::chrono::duration<double>(Clock::now() - heard_).count(); }

OutgoingCall::State OutgoingCall::step() {
  if (state_ != State::kCalling && state_ != State::kWaiting) return state_;
  if (sent_ < sizeof call_) begin();
  if (sent_ == sizeof call_) read();
  return state_;
}

void OutgoingCall::begin() {
  if (!connected_) {
    pollfd polled{socket_.get(), POLLOUT, 0};
    if (poll(&polled, 1, 0) <= 0) return;
    const int error = sockets::connect_error(socket_.get());
    if (error != 0) return end(error == ECONNREFUSED ? State::kNobody : State::kClosed);
    connected_ = true;
    if (introduce_) introduce_(call_, sockets::own_address(socket_.get()));
  }
  const ssize_t sent = send(socket_.get(), reinterpret_cast<const char*>(&call_) + sent_, sizeof call_ - sent_,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !sockets::is_for_later(errno)) return end(State::kClosed);
  if (sent > 0) sent_ += static_cast<size_t>(sent);
}

void OutgoingCall::read() {
  char bytes[4096];
  for (;;) {
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    const bool over = got == 0 || (got < 0 && !sockets::is_for_later(errno));
    if (got > 0) inbox_.append(bytes, static_cast<size_t>(got));
    while ((state_ == State::kCalling || state_ == State::kWaiting) && take_word()) continue;
    if (state_ != State::kCalling && state_ != State::kWaiting) return;
    if (over) return end(State::kClosed);
    if (got < 0) return;
  }
}

bool OutgoingCall::take_word() {
  Answer answer;
  if (inbox_.size() < sizeof answer) return false;
  std::memcpy(&answer, inbox_.data(), sizeof answer);
  if (answer.magic != kMagic) return end(State::kClosed), true;
  if (answer.word == Word::kAdmitted) return take_admission(answer);
  inbox_.erase(0, sizeof answer);
  heard_ = Clock::now();
  switch (answer.word) {
    case Word::kPropose:
      if (send(socket_.get(), &kYes, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) end(State::kClosed);
      break;
    case Word::kElsewhere:
      place_.address = answer.address;
      place_.port = answer.port;
      end(State::kElsewhere);
      break;
    case Word::kRefused:
    case Word::kOver:
      answer.text[sizeof answer.text - 1] = 0;
      why_ = answer.text;
      code_ = answer.code;
      end(answer.word == Word::kOver ? State::kOver : State::kRefused);
      break;
    default:
      state_ = State::kWaiting;
  }
  return true;
}

bool OutgoingCall::take_admission(const Answer& answer) {
  const bool sane = answer.ranks > 0 && answer.ranks < kMostRanks && answer.rank >= 0 && answer.rank < answer.ranks &&
                    answer.losses >= 0 && answer.losses < kMostRanks;
  if (!sane) return end(State::kClosed), true;
  const auto ranks = static_cast<size_t>(answer.ranks), losses = static_cast<size_t>(answer.losses);
  if (inbox_.size() < sizeof answer + 2 * ranks * sizeof(Member) + losses * sizeof(Loss)) return false;
  Admission& taken = admission_;
  taken.rank = answer.rank;
  taken.token = answer.token;
  taken.generation = answer.generation;
  taken.batch = answer.batch;
  taken.job.assign(answer.job, strnlen(answer.job, sizeof answer.job));
  taken.members.resize(ranks);
  taken.offices.resize(ranks);
  taken.losses.resize(losses);
  const char* const lists = inbox_.data() + sizeof answer;
  std::memcpy(taken.members.data(), lists, ranks * sizeof(Member));
  std::memcpy(taken.offices.data(), lists + ranks * sizeof(Member), ranks * sizeof(Member));
  if (losses > 0) std::memcpy(taken.losses.data(), lists + 2 * ranks * sizeof(Member), losses * sizeof(Loss));
  for (Member& member : taken.members) member.host[sizeof member.host - 1] = 0;
  for (Member& member : taken.offices) member.host[sizeof member.host - 1] = 0;
  for (Loss& loss : taken.losses) loss.host[sizeof loss.host - 1] = 0;
  end(State::kAdmitted);
  return true;
}

}  // namespace robusta::elastic
