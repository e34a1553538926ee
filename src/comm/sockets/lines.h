/// The two ends of a one-way connection between ranks: who sends has opened it, with a hello that proves that it may.
#pragma once

#include <deque>
#include <optional>

#include "base/descriptor.h"
#include "comm/sockets/mailboxes.h"
#include "comm/sockets/meeting.h"

namespace robusta::sockets {

struct Greeting {
  uint32_t magic = 0x52424c4e;  // of this version of what follows
  int32_t from = 0, to = 0;
  Token token{};
};

/// Before the bytes of each message.
struct Head {
  Conversation conversation = 0;
  uint64_t bytes = 0;
};

/// The conversation of a head that ends the job; its `bytes` are the exit code, and no bytes follow.
inline constexpr Conversation kEndOfJob = 0;

/// What a step of a line has come to.
enum class Progress { kAgain, kNothing, kBroken };

/// Parcels to one rank, in their order. Others queue them, under a lock of the line's owner; one thread sends them.
class OutgoingLine {
 public:
  OutgoingLine(Greeting greeting, const Member& to);

  int fd() const { return socket_.get(); }
  /// Nothing more can be sent. The thread's, after the constructor.
  bool is_broken() const { return broken_; }

  // Under the lock:
  void queue(Parcel& parcel) { parcels_.push_back(&parcel); }
  void queue_end_of_job(int code) { end_of_job_ = code; }
  /// Takes the next message up when none is being sent; false: there is nothing to do.
  bool load();

  /// Sends what the socket takes, without the lock. REQUIRES: load(). `sent`, if not null, has left: its memory is
  /// free.
  Progress step(Parcel*& sent);

 private:
  Progress fail();

  std::deque<Parcel*> parcels_;
  std::optional<int> end_of_job_;

  Descriptor socket_;
  Greeting greeting_;
  size_t told_ = 0;           ///< of the greeting
  Parcel* parcel_ = nullptr;  ///< that is being sent; null: a message of a head alone
  std::optional<Head> head_;  ///< of what is being sent
  size_t moved_ = 0;          ///< of the head and the bytes
  bool connected_ = false, broken_ = false;
};

/// Of one rank, or, before the greeting is there, of nobody yet.
class IncomingLine {
 public:
  IncomingLine(Descriptor socket, Address caller, Clock::time_point since)
      : socket_(std::move(socket)), caller_(caller), since_(since) {}

  int fd() const { return socket_.get(); }
  /// -1: it has not said.
  int from() const { return known_ ? greeting_.from : -1; }
  Address caller() const { return caller_; }
  Clock::time_point since() const { return since_; }

  /// Reads what there is of the greeting, and no byte more.
  Progress read_greeting();
  const Greeting& greeting() const { return greeting_; }
  void accept() { known_ = true; }

  /// Reads what there is of a head; kAgain: it is whole.
  Progress read_head();
  const Head& head() const { return head_; }
  void begin_body(Mailboxes::Target target);
  bool in_body() const { return in_body_; }
  /// Reads what there is of the body; kAgain: it is whole.
  Progress read_body();
  Mailboxes::Target end_body();

 private:
  /// Up to `bytes` in all, of which `done` are there.
  Progress read(void* to, size_t bytes, size_t& done);

  Descriptor socket_;
  Address caller_;
  Clock::time_point since_;
  Greeting greeting_;
  Head head_;
  Mailboxes::Target target_;
  size_t done_ = 0;  ///< of what is being read
  bool known_ = false, in_body_ = false;
};

}  // namespace robusta::sockets
