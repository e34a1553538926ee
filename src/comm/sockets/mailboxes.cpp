// A box is never both: letters lie in it when nobody waits, and parcels wait when it has no letter.

#include "comm/sockets/mailboxes.h"

namespace robusta::sockets {

Mailboxes::Target Mailboxes::begin(Conversation conversation, int from, size_t bytes) {
  Box& box = boxes_[{conversation, from}];
  Target target;
  if (box.waiting.empty()) {
    target.letter = std::make_shared<Letter>(bytes);
    box.letters.push_back(target.letter);
  } else {
    target.parcel = box.waiting.front();
    box.waiting.pop_front();
  }
  return target;
}

std::shared_ptr<Letter> Mailboxes::ask(Parcel& parcel) {
  Box& box = boxes_[{parcel.conversation, parcel.peer}];
  if (box.letters.empty()) {
    box.waiting.push_back(&parcel);
    return nullptr;
  }
  const std::shared_ptr<Letter> letter = box.letters.front();
  box.letters.pop_front();
  return letter;
}

}  // namespace robusta::sockets
