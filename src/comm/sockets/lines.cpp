// Both ends move what the system gives or takes at once, a bounded part of it, so that one thread serves all.

#include "comm/sockets/lines.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace robusta::sockets {
namespace {

constexpr size_t kAtOnce = 4 << 20;  // of one line before the others have their turn

/// The part of a block that lies behind its first `skipped` bytes, which are then that many fewer.
iovec rest(const void* data, size_t bytes, size_t& skipped) {
  const size_t gone = std::min(skipped, bytes);
  skipped -= gone;
  return {const_cast<std::byte*>(static_cast<const std::byte*>(data)) + gone, bytes - gone};
}

}  // namespace

OutgoingLine::OutgoingLine(Greeting greeting, const Member& to)
    : socket_(begin_connect(to.address, static_cast<uint16_t>(to.port))), greeting_(greeting) {
  broken_ = !socket_.is_open();
}

Progress OutgoingLine::fail() {
  broken_ = true;
  return Progress::kBroken;
}

bool OutgoingLine::load() {
  if (broken_) return false;
  if (!head_ && !parcels_.empty()) {
    parcel_ = parcels_.front();
    parcels_.pop_front();
    head_ = Head{parcel_->conversation, parcel_->bytes};
  } else if (!head_ && end_of_job_) {
    head_ = Head{kEndOfJob, static_cast<uint64_t>(*end_of_job_)};
    end_of_job_.reset();
  }
  return head_ || told_ < sizeof greeting_;
}

Progress OutgoingLine::step(Parcel*& sent) {
  sent = nullptr;
  if (!connected_ && connect_error(fd()) != 0) return fail();
  connected_ = true;
  size_t skipped = told_, moved = moved_;
  std::array<iovec, 3> parts{rest(&greeting_, sizeof greeting_, skipped), {}, {}};
  if (head_) parts[1] = rest(&*head_, sizeof *head_, moved);
  if (parcel_) parts[2] = rest(parcel_->data, parcel_->bytes, moved);
  parts[2].iov_len = std::min(parts[2].iov_len, kAtOnce);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t taken = sendmsg(fd(), &message, MSG_NOSIGNAL);
  if (taken < 0) return is_for_later(errno) || errno == ENOTCONN ? Progress::kNothing : fail();
  const size_t greeted = std::min(static_cast<size_t>(taken), sizeof greeting_ - told_);
  told_ += greeted;
  moved_ += static_cast<size_t>(taken) - greeted;
  if (head_ && moved_ == sizeof *head_ + (parcel_ ? parcel_->bytes : 0)) {
    sent = std::exchange(parcel_, nullptr);
    head_.reset();
    moved_ = 0;
  }
  return Progress::kAgain;
}

Progress IncomingLine::read(void* to, size_t bytes, size_t& done) {
  for (size_t budget = kAtOnce; done < bytes;) {
    if (budget == 0) return Progress::kNothing;
    const ssize_t got = recv(fd(), static_cast<std::byte*>(to) + done, std::min(bytes - done, budget), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_for_later(errno)) return Progress::kNothing;
    if (got <= 0) return Progress::kBroken;
    done += static_cast<size_t>(got);
    budget -= static_cast<size_t>(got);
  }
  done = 0;
  return Progress::kAgain;
}

Progress IncomingLine::read_greeting() { return read(&greeting_, sizeof greeting_, done_); }

Progress IncomingLine::read_head() { return read(&head_, sizeof head_, done_); }

void IncomingLine::begin_body(Mailboxes::Target target) {
  target_ = std::move(target);
  in_body_ = true;
}

Progress IncomingLine::read_body() {
  std::byte* const to = target_.parcel ? target_.parcel->data : target_.letter->data.get();
  return read(to, head_.bytes, done_);
}

Mailboxes::Target IncomingLine::end_body() {
  in_body_ = false;
  return std::move(target_);
}

}  // namespace robusta::sockets
