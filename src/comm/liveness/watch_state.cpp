// Failure detection by heartbeats and time-outs (Chandra and Toueg 1996). A pure state machine: time comes in as an
// argument, so that every case can be tested.

#include "comm/liveness/watch_state.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <tuple>
#include <utility>

#include "comm/liveness/verdict.h"
#include "robusta/error.h"

namespace robusta::liveness {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Time without a processor is forgiven up to so many timeouts.
constexpr double kMostTimeouts = 4;
constexpr int kCommunicationCode = static_cast<int>(ErrorKind::kCommunication);

/// Which of two ranks is further behind; those that have finished come last. Of those in one iteration the one that has
/// stood still the longest, then the lowest rank: all ranks choose alike.
bool is_behind(const Status& a, const Status& b) {
  const auto key = [](const Status& s) {
    return std::make_tuple(s.activity == Activity::kFinished, s.iteration, -s.age, s.rank);
  };
  return key(a) < key(b);
}

}  // namespace

WatchState::WatchState(RankId rank, Neighbours neighbours, const Timing& timing)
    : rank_(rank), neighbours_(std::move(neighbours)), timing_(timing) {
  if (neighbours_.parent) links_[neighbours_.parent];
  for (const RankId child : neighbours_.children) links_[child];
  for (auto& [peer, link] : links_) link.beat.own.rank = link.beat.straggler.rank = peer;
  own_.limit = kNever;
}

void WatchState::start(double now, const std::vector<RankId>& connected) {
  started_ = true;
  last_tick_ = next_beat_ = moved_at_ = now;
  for (auto& [peer, link] : links_) link.heard_at = contains(connected, peer) ? now : now + timing_.connect;
}

void WatchState::hear(RankId peer, const Beat& beat, double now) {
  Link& link = links_.at(peer);
  note_heard(link, now);
  link.beat_at = now;
  link.beat = beat;
  detect_termination(now);
}

void WatchState::hear(RankId peer, const Verdict& verdict, double now) {
  note_heard(links_.at(peer), now);
  adopt(verdict, peer, now);
}

void WatchState::note_heard(Link& link, double now) {
  // After a long cut TCP may need as long again to bring what the ranks wait for: its repetitions grow rare.
  if (started_ && now - link.heard_at > timing_.timeout / 3) moved_at_ = now;
  link.heard_at = now;
}

void WatchState::hear_end(RankId peer, double now) {
  Link& link = links_.at(peer);
  if (link.ended) return;
  link.ended = true;
  // Nobody needs a rank that has finished and has nobody below it.
  const bool free_to_go = contains(neighbours_.leaves, peer) && link.beat.finished;
  if (done_ || verdict_ || free_to_go) return;
  const double quiet = link.beat_at < 0 ? 0 : now - link.beat_at;
  Status last = link.beat.own;
  last.age += quiet;
  // A process that was silent for long was stopped or cut off, whatever ended it in the end.
  accuse(quiet > timing_.timeout / 2 ? Fault::kSilent : Fault::kDied, last, quiet, now);
}

void WatchState::sample(const Sample& sample, double now) {
  starved_ += std::max(sample.starved - own_.starved, 0.0);
  if (sample.moves != own_.moves) {
    moved_at_ = now;
    forgiven_ = 0;
  } else {
    forgive_starvation(sample.starved - own_.starved, now);
  }
  own_ = sample;
}

/// Never beyond now: a thread cannot have moved later than that.
void WatchState::forgive_starvation(double starved, double now) {
  const double room = std::min(kMostTimeouts * timing_.timeout - forgiven_, now - moved_at_);
  const double granted = std::clamp(starved, 0.0, std::max(room, 0.0));
  moved_at_ += granted;
  forgiven_ += granted;
}

void WatchState::announce(int code, const std::string& text, double now) {
  Verdict verdict;
  verdict.fault = Fault::kEnded;
  verdict.code = code;
  verdict.rank = verdict.judge = rank_;
  verdict.last_sign = std::time(nullptr);
  verdict.last = own_status(now);
  copy_text(verdict.text, text);
  adopt(verdict, RankId::none(), now);
}

void WatchState::finish(double now) {
  finished_ = true;
  moved_at_ = now;
  detect_termination(now);
}

void WatchState::tick(double now) {
  if (started_) {
    forgive_gap(now);
    if (!verdict_ && !done_) judge_neighbours(now);
    if (!verdict_ && !done_) judge_self(now);
    if (!verdict_ && !done_) judge_all(now);
  }
  if (now >= next_beat_) {
    note_lateness(now);
    send_beats(now);
    next_beat_ = now + timing_.beat;
  }
}

/// While this process was stopped, or the whole job suspended, nobody could be heard: that time counts for nobody.
void WatchState::forgive_gap(double now) {
  const double gap = now - last_tick_;
  last_tick_ = now;
  if (gap <= 4 * timing_.beat) return;
  const double missed = gap - timing_.beat;
  const auto shift = [&](double& time) { time = std::max(time, std::min(now, time + missed)); };
  for (auto& [peer, link] : links_) {
    shift(link.heard_at);
    if (link.beat_at >= 0) shift(link.beat_at);
  }
  shift(moved_at_);
}

/// A beat that is late by more than the starvation since the one before was late for another reason, such as a stop.
void WatchState::note_lateness(double now) {
  const double late = started_ ? std::min(now - next_beat_, starved_) : 0;
  late_ = std::max(late, late_ * std::exp(-(now - next_beat_ + timing_.beat) / (kMostTimeouts * timing_.timeout)));
  starved_ = 0;
}

/// What has come to be late by so much may be late by a few times as much (an adaptive failure detector, as that of
/// Chen, Toueg and Aguilera 2002).
double WatchState::patience_with(const Link& link) const {
  constexpr double kMargin = 4;
  return timing_.timeout + std::min(kMargin * link.beat.late, (kMostTimeouts - 1) * timing_.timeout);
}

void WatchState::judge_neighbours(double now) {
  for (const auto& [peer, link] : links_) {
    const double quiet = now - link.heard_at;
    if (link.ended || quiet <= patience_with(link)) continue;
    // Whoever hears nobody has lost the way to rank 0, whichever link ran out first.
    accuse_silent(neighbours_.parent && is_alone(now) ? neighbours_.parent : peer, now);
    return;
  }
}

void WatchState::accuse_silent(RankId peer, double now) {
  const Link& link = links_.at(peer);
  Status last = link.beat.own;
  last.age += link.beat_at < 0 ? 0 : now - link.beat_at;
  accuse(Fault::kSilent, last, now - link.heard_at, now);
}

void WatchState::judge_self(double now) {
  if (finished_ || own_.activity == Activity::kWaiting || own_.activity == Activity::kFinished) return;
  const double limit = own_.activity == Activity::kPausing ? std::max(own_.limit, timing_.timeout) : timing_.timeout;
  const double still = now - moved_at_;
  if (still > limit) accuse(Fault::kStalled, own_status(now), still, now);
}

void WatchState::judge_all(double now) {
  if (neighbours_.parent) return;
  // A rank that moved just now is known here only after its beat has climbed the tree.
  const double still = youngest(now);
  if (still == kNever || still <= timing_.timeout + (neighbours_.levels + 1) * timing_.beat) return;
  accuse_deadlock(still, now);
}

/// Packets without an answer are the cause; whoever is furthest behind may wait for one of those whom they cut off.
void WatchState::accuse_deadlock(double still, double now) {
  const CutOff found = cut_off(now);
  if (found.unanswered.seconds > timing_.timeout / 2) {
    accuse(Fault::kDeadlock, found.rank, still, now, found.unanswered);
  } else {
    accuse(Fault::kDeadlock, straggler(now), still, now);
  }
}

void WatchState::accuse(Fault fault, const Status& last, double quiet, double now, const Unanswered& unanswered) {
  Verdict verdict;
  verdict.fault = fault;
  verdict.code = kCommunicationCode;
  verdict.rank = last.rank;
  verdict.unanswered = unanswered;
  verdict.judge = rank_;
  verdict.alone = fault == Fault::kSilent && is_alone(now);
  // The time of day: steady clocks of other hosts have other origins.
  verdict.last_sign = std::time(nullptr) - static_cast<int64_t>(quiet);
  verdict.quiet = quiet;
  verdict.last = last;
  adopt(verdict, RankId::none(), now);
}

void WatchState::adopt(const Verdict& verdict, RankId from, double now) {
  if (ceased_ || done_ || ends(now) || (verdict_ && !is_better(verdict, *verdict_))) return;
  // A better verdict does not put off the end: it arrives everywhere within the grace of the first.
  if (!verdict_) ends_at_ = now + timing_.grace;
  verdict_ = verdict;
  for (const auto& [peer, link] : links_) {
    if (peer != from && !link.ended) outgoing_.push_back({peer, verdict});
  }
}

/// "Finished" gathers along the tree from the leaves to the root, and "all have finished" goes back down.
void WatchState::detect_termination(double now) {
  if (done_ || verdict_ || !subtree_finished()) return;
  const bool is_root = !neighbours_.parent;
  if (is_root || links_.at(neighbours_.parent).beat.finished) {
    done_ = true;
    for (const RankId child : neighbours_.children) outgoing_.push_back({child, beat_for(child, now)});
  } else if (!subtree_told_) {
    subtree_told_ = true;
    outgoing_.push_back({neighbours_.parent, beat_for(neighbours_.parent, now)});
  }
}

void WatchState::send_beats(double now) {
  for (const auto& [peer, link] : links_) {
    if (!link.ended) outgoing_.push_back({peer, beat_for(peer, now)});
  }
}

Beat WatchState::beat_for(RankId peer, double now) const {
  Beat beat;
  beat.own = own_status(now);
  beat.straggler = straggler(now);
  beat.cut_off = cut_off(now);
  beat.youngest = youngest(now);
  beat.late = late_;
  beat.finished = peer == neighbours_.parent ? subtree_finished() : done_;
  return beat;
}

Status WatchState::own_status(double now) const {
  Status status;
  status.rank = rank_;
  status.activity = finished_ ? Activity::kFinished : own_.activity;
  status.iteration = own_.iteration;
  status.age = now - moved_at_;
  status.starved = forgiven_;
  std::memcpy(status.doing, own_.doing, kDoingBytes);
  return status;
}

Status WatchState::straggler(double now) const {
  Status last = own_status(now);
  for (const RankId child : neighbours_.children) {
    const Link& link = links_.at(child);
    if (link.beat_at < 0) continue;
    Status other = link.beat.straggler;
    other.age += now - link.beat_at;
    if (is_behind(other, last)) last = other;
  }
  return last;
}

/// How long ago the last rank of this subtree moved; infinite where all have finished. A child that was not heard yet
/// counts as moving, so that nobody is accused while the job starts.
double WatchState::youngest(double now) const {
  const double still = now - moved_at_;
  const bool excused = own_.activity == Activity::kPausing && still <= own_.limit;
  double result = finished_ ? kNever : excused ? 0 : still;
  for (const RankId child : neighbours_.children) {
    const Link& link = links_.at(child);
    result = std::min(result, link.beat_at < 0 ? 0 : link.beat.youngest + (now - link.beat_at));
  }
  return result;
}

CutOff WatchState::cut_off(double now) const {
  CutOff result{own_status(now), own_.unanswered};
  for (const RankId child : neighbours_.children) {
    const Link& link = links_.at(child);
    if (link.beat_at < 0 || link.beat.cut_off.unanswered.seconds <= result.unanswered.seconds) continue;
    result = link.beat.cut_off;
    result.rank.age += now - link.beat_at;
  }
  return result;
}

bool WatchState::subtree_finished() const {
  return finished_ && std::all_of(neighbours_.children.begin(), neighbours_.children.end(),
                                  [&](RankId child) { return links_.at(child).beat.finished != 0; });
}

/// Whether several other hosts fell silent together: then it is rather this one that is cut off.
bool WatchState::is_alone(double now) const {
  const auto is_quiet = [&](RankId peer) { return now - links_.at(peer).heard_at > timing_.timeout / 2; };
  return neighbours_.remote.size() > 1 && std::all_of(neighbours_.remote.begin(), neighbours_.remote.end(), is_quiet);
}

Say WatchState::say() const {
  if (!verdict_ || verdict_->fault == Fault::kEnded) return Say::kNothing;
  if (rank_ == RankId(0)) return Say::kReport;
  // Whoever lost its parent cannot count on rank 0 being told, or telling.
  if (verdict_->rank != neighbours_.parent || verdict_->judge != rank_) return Say::kNothing;
  if (neighbours_.parent == RankId(0) && rank_ == neighbours_.heir) return Say::kReport;
  const bool other_host = contains(neighbours_.remote, neighbours_.parent);
  return verdict_->fault == Fault::kSilent && other_host ? Say::kLine : Say::kNothing;
}

std::vector<WatchState::Outgoing> WatchState::take_outgoing() { return std::exchange(outgoing_, {}); }

std::vector<WatchState::Outgoing> WatchState::greeting(RankId peer, double now) const {
  std::vector<Outgoing> result;
  result.push_back({peer, beat_for(peer, now)});
  if (verdict_) result.push_back({peer, *verdict_});
  return result;
}

}  // namespace robusta::liveness
