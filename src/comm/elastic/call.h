/// What ranks that come and go say to each other while they look for each other; sent as it lies in memory.
///
/// A caller says once who it is and what it wants (Call), and hears words (Answer) until it is admitted, sent elsewhere
/// or refused; what it says after the call is one byte, that it is still there when it is asked (kPropose). Whoever
/// does not know the job's secret hears nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/elastic/ledger.h"
#include "comm/sockets/meeting.h"

namespace robusta::elastic {

using sockets::Address;
using sockets::Clock;
using sockets::Member;
using sockets::Token;

enum class Errand : int32_t {
  kJoin,    ///< wants to be a rank
  kReturn,  ///< was one of the generation that has just ended
  kSummon,  ///< is the first rank of a running job, at another address than new ones look at
};

inline constexpr uint32_t kMagic = 0x52424556;  // of this version of what follows

struct Call {
  uint32_t magic = kMagic;
  Errand errand = Errand::kJoin;
  char secret[128] = {};
  Token token{};                ///< kReturn: of the generation that has ended
  int32_t rank = 0;             ///< in that generation; of a new one: as its launcher has it
  int32_t ranks = 0;            ///< the same
  int64_t progress = kNoState;  ///< kReturn: how far the state is that it holds; the farther, the larger
  Member self;                  ///< where it listens for calls; kSummon: where new ones are let in
  Member office;                ///< where it listens for messages of its generation

  static constexpr int64_t kNoState = -1;
};

enum class Word : int32_t {
  kHere,       ///< heard, and said again and again while the caller has to wait
  kElsewhere,  ///< somebody else decides: call there
  kRefused,    ///< for good: `text` says why
  kOver,       ///< the job has ended, with `code`: `text` says how
  kPropose,    ///< are you still there?
  kAdmitted,   ///< followed by members, offices and losses
};

struct Answer {
  uint32_t magic = kMagic;
  Word word = Word::kHere;
  Address address = 0;  ///< kElsewhere
  uint32_t port = 0;
  // kAdmitted:
  int32_t rank = 0, ranks = 0, losses = 0;
  int32_t code = 0;  ///< kOver
  int64_t generation = 0, batch = 0;
  Token token{};
  char job[40] = {};
  char text[512] = {};  ///< kRefused, kOver
};

/// What a caller that is asked says.
inline constexpr char kYes = 1;

/// What a member of a new generation has to know.
struct Admission {
  int rank = 0;
  std::vector<Member> members;  ///< by rank: where each listens for calls
  std::vector<Member> offices;  ///< and for messages of this generation
  Token token{};
  int64_t generation = 0;
  int64_t batch = 0;  ///< what the number of ranks has to divide; 0: anything will do
  std::string job;    ///< a name of random letters: that of the job as long as it lives
  std::vector<Loss> losses;
};

/// Where a process listens names it: no two have the same place at a time.
inline bool same_place(const Member& a, const Member& b) { return a.address == b.address && a.port == b.port; }

/// Takes as long for a wrong guess as for a right one.
template <size_t bytes>
bool same_secret(const char (&a)[bytes], const char (&b)[bytes]) {
  int differing = 0;
  for (size_t i = 0; i < bytes; ++i) differing |= a[i] ^ b[i];
  return differing == 0;
}

/// "10.0.0.1:29500"
std::string place_text(Address address, uint32_t port);

}  // namespace robusta::elastic
