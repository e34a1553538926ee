/// What the watches of two processes say to each other.
///
/// Plain structures, sent as they lie in memory: all ranks run the same binary on the same kind of machine. Times are
/// durations, because the clocks of hosts differ; only `Verdict::last_sign` is a wall-clock time, of the judge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "comm/liveness/rank_id.h"

namespace robusta::liveness {

/// What a training thread says about itself.
enum class Activity : int32_t {
  kComputing,  ///< works by itself: standing still longer than the timeout is a stall
  kWaiting,    ///< waits for other ranks: never a stall of its own
  kPausing,    ///< a step that may take long, with a limit of its own
  kFinished,   ///< has nothing left to do
};

inline constexpr size_t kDoingBytes = 64;

/// Copies as much as fits, and ends it with a zero.
template <size_t bytes>
void copy_text(char (&to)[bytes], const std::string& from) {
  const size_t length = std::min(from.size(), bytes - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, bytes - length);
}

struct Status {
  RankId rank;
  Activity activity = Activity::kPausing;
  int64_t iteration = -1;  ///< -1: before the first
  double age = 0;          ///< seconds since the training thread last moved, without those of `starved`
  double starved = 0;      ///< of that time, in which it had no processor
  char doing[kDoingBytes] = {};
};

/// What was sent to the host of rank `to` has not been acknowledged for so many seconds: the network is cut. No rank
/// where all is answered.
struct Unanswered {
  RankId to;
  double seconds = 0;
};

/// A rank that gets no answer.
struct CutOff {
  Status rank;
  Unanswered unanswered;
};

/// Sent over every link once per beat.
struct Beat {
  Status own;           ///< of the sender
  Status straggler;     ///< to the parent: the rank of the sender's subtree that is furthest behind
  CutOff cut_off;       ///< to the parent: the rank of the sender's subtree that has been without an answer for longest
  double youngest = 0;  ///< to the parent: seconds since any rank of the subtree moved; infinite when all have finished
  double late = 0;      ///< seconds that beats of the sender were late of late, as it had no processor
  int32_t finished = 0;  ///< to the parent: the whole subtree has finished; to a child: all ranks have
};

enum class Fault : int32_t {
  kEnded,     ///< the rank ended by an error that it named
  kDied,      ///< its process is gone without a word
  kSilent,    ///< nothing heard: stopped, or its host or the way to it is down
  kStalled,   ///< its process lives, but the training thread stands still
  kDeadlock,  ///< every rank waits for another
};

/// Why the job ends.
struct Verdict {
  Fault fault = Fault::kDied;
  int32_t code = 0;       ///< exit code of every rank
  RankId rank;            ///< the rank at fault; for a deadlock the one without an answer, else the one furthest behind
  RankId judge;           ///< the rank that found it
  int32_t alone = 0;      ///< the judge heard from no other host either: it may be the one that is cut off
  int32_t padding = 0;    ///< named, as messages are sent as they lie in memory
  int64_t last_sign = 0;  ///< when the rank last gave a sign of life, by the judge's clock (seconds since 1970)
  double quiet = 0;       ///< seconds from then to the verdict
  Status last;            ///< the last that is known of the rank
  Unanswered unanswered;  ///< kDeadlock: of the rank, if that is why
  char text[1024] = {};   ///< kEnded: what the error says
};

/// Whether what arrived can be meant: numbers of ranks of a job of `ranks`, known kinds, texts that end, times that are
/// numbers. A beat has to be of its sender.
bool is_sane(const Beat& beat, RankId sender, int ranks);
bool is_sane(const Verdict& verdict, int ranks);

static_assert(std::is_trivially_copyable_v<Beat> && std::is_trivially_copyable_v<Verdict>);

}  // namespace robusta::liveness
