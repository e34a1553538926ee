// Messages come from processes that know the token of the job; that does not make every number in them right, and they
// choose places of tables.
#include "comm/liveness/messages.h"

#include <cmath>

namespace robusta::liveness {
namespace {

constexpr int kMostCode = 255;  // of an exit code

bool is_rank(RankId rank, int ranks) { return rank && rank < RankId(ranks); }

template <size_t bytes>
bool ends(const char (&text)[bytes]) {
  return std::memchr(text, '\0', bytes) != nullptr;
}

/// Infinite times are meant: of ranks that have finished.
bool is_time(double seconds) { return !std::isnan(seconds); }

bool is_sane(const Status& status, int ranks) {
  const auto activity = static_cast<int32_t>(status.activity);
  return is_rank(status.rank, ranks) && activity >= 0 && activity <= static_cast<int32_t>(Activity::kFinished) &&
         is_time(status.age) && is_time(status.starved) && ends(status.doing);
}

bool is_sane(const Unanswered& unanswered, int ranks) {
  return (!unanswered.to || is_rank(unanswered.to, ranks)) && unanswered.seconds >= 0;
}

}  // namespace

bool is_sane(const Beat& beat, RankId sender, int ranks) {
  return beat.own.rank == sender && is_sane(beat.own, ranks) && is_sane(beat.straggler, ranks) &&
         is_sane(beat.cut_off.rank, ranks) && is_sane(beat.cut_off.unanswered, ranks) && is_time(beat.youngest) &&
         beat.late >= 0;
}

bool is_sane(const Verdict& verdict, int ranks) {
  const auto fault = static_cast<int32_t>(verdict.fault);
  return fault >= 0 && fault <= static_cast<int32_t>(Fault::kDeadlock) && verdict.code > 0 &&
         verdict.code <= kMostCode && is_rank(verdict.rank, ranks) && is_rank(verdict.judge, ranks) &&
         is_time(verdict.quiet) && is_sane(verdict.last, ranks) && is_sane(verdict.unanswered, ranks) &&
         ends(verdict.text);
}

}  // namespace robusta::liveness
