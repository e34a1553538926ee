/// What has arrived and what is waited for, by conversation and sender: the first message that was sent goes to the
/// first that asked.
///
/// Not locked: whoever calls holds the lock of the mailboxes' owner.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "comm/sockets/parcel.h"

namespace robusta::sockets {

/// A message that came before anybody asked for it.
struct Letter {
  explicit Letter(size_t size) : bytes(size), data(new std::byte[size]) {}
  size_t bytes;
  std::unique_ptr<std::byte[]> data;
  bool whole = false;            ///< all of it has arrived
  Parcel* claimed_by = nullptr;  ///< who asked meanwhile
};

class Mailboxes {
 public:
  /// Where a message that begins to arrive is to go: a parcel, or a new letter.
  struct Target {
    Parcel* parcel = nullptr;
    std::shared_ptr<Letter> letter;
  };
  Target begin(Conversation conversation, int from, size_t bytes);
  /// The oldest letter for a parcel, or nothing: then the parcel waits here.
  std::shared_ptr<Letter> ask(Parcel& parcel);

 private:
  struct Box {
    std::deque<Parcel*> waiting;
    std::deque<std::shared_ptr<Letter>> letters;
  };
  std::map<std::pair<Conversation, int>, Box> boxes_;
};

}  // namespace robusta::sockets
