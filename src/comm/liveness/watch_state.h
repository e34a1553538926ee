/// The judgement of one rank's watch, without sockets, threads or clocks.
///
/// Fed with what is heard from neighbours, with samples of the own training thread and with the time (seconds, any
/// origin, never going back), it says what to send and when and how this process ends. Neighbours are judged by their
/// silence, each training thread by the watch of its own process, and a job in which every rank waits by the root, to
/// which the ages of all ranks rise as one minimum. A verdict floods over all links; of several, all ranks agree
/// on the same one within the grace. One thread drives it.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "comm/liveness/messages.h"
#include "comm/liveness/tree.h"

namespace robusta::liveness {

/// All in seconds.
struct Timing {
  double timeout = 60;  ///< silence or standing still of this length is a fault
  double beat = 1;      ///< between two beats
  double grace = 0.3;   ///< between the first verdict and the end: a better one may arrive, and sent ones leave
  double connect = 30;  ///< a link that was never up counts as silent no earlier than this
};

/// A look at the own training thread.
struct Sample {
  uint64_t moves = 0;      ///< counts whatever the thread publishes
  int64_t iteration = -1;  ///< -1: before the first
  Activity activity = Activity::kPausing;
  double limit = 0;       ///< of kPausing, in seconds
  double starved = 0;     ///< seconds that the process waited for a processor (starvation.h), since any moment
  Unanswered unanswered;  ///< of what the process has sent
  char doing[kDoingBytes] = {};
};

/// What this rank prints about the verdict: one report for the job.
enum class Say { kNothing, kLine, kReport };

class WatchState {
 public:
  WatchState(RankId rank, Neighbours neighbours, const Timing& timing);

  /// Judging begins; before it only a death is noticed. `connected` are the neighbours whose links are up.
  void start(double now, const std::vector<RankId>& connected);
  /// Judges nobody any more, and holds an end of a neighbour for no fault.
  void cease() { ceased_ = true; }

  /// A neighbour spoke.
  void hear(RankId peer, const Beat& beat, double now);
  void hear(RankId peer, const Verdict& verdict, double now);
  /// A neighbour's process closed the connection.
  void hear_end(RankId peer, double now);

  void sample(const Sample& sample, double now);
  /// This rank ends by an error.
  void announce(int code, const std::string& text, double now);
  /// This rank has nothing left to do.
  void finish(double now);
  /// Judges, and beats when it is time. Call after all that has arrived was heard.
  void tick(double now);

  struct Outgoing {
    RankId peer;
    std::variant<Beat, Verdict> message;
  };
  /// What is to be sent since the last call.
  std::vector<Outgoing> take_outgoing();
  /// What a neighbour whose link came up anew needs to know.
  std::vector<Outgoing> greeting(RankId peer, double now) const;

  double next_beat() const { return next_beat_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }
  /// The verdict stands and this process has to end. REQUIRES for the time itself: verdict().
  bool ends(double now) const { return verdict_ && now >= ends_at_; }
  double ends_at() const { return ends_at_; }
  /// Every rank has finished.
  bool done() const { return done_; }
  Say say() const;

  /// Of this rank's subtree (rank 0: of the job), the rank furthest behind.
  Status straggler(double now) const;

 private:
  struct Link {
    double heard_at = 0;
    double beat_at = -1;  ///< -1: no beat yet
    Beat beat;
    bool ended = false;
  };

  /// Time without a processor is not counted as standing still, up to a multiple of the timeout: a thread that hangs
  /// beside others that are starved is found all the same.
  void forgive_starvation(double starved, double now);
  /// The most that own beats were late for want of a processor, of late: it fades.
  void note_lateness(double now);
  /// Silence that is no fault yet: the timeout, and more of a rank that has said that its watch waits for processors.
  double patience_with(const Link& link) const;
  void note_heard(Link& link, double now);
  void forgive_gap(double now);
  void judge_neighbours(double now);
  void accuse_silent(RankId peer, double now);
  void judge_self(double now);
  void judge_all(double now);
  /// All ranks wait for each other, for so long.
  void accuse_deadlock(double still, double now);
  /// Takes over a verdict that is better than the one known, and passes it on to all but `from`.
  void adopt(const Verdict& verdict, RankId from, double now);
  void accuse(Fault fault, const Status& last, double quiet, double now, const Unanswered& unanswered = {});
  /// When all of the subtree has finished: tells the parent, and the children once all ranks have.
  void detect_termination(double now);
  void send_beats(double now);
  Beat beat_for(RankId peer, double now) const;
  Status own_status(double now) const;
  double youngest(double now) const;
  /// Of this rank's subtree, the rank that has been without an answer for longest.
  CutOff cut_off(double now) const;
  bool subtree_finished() const;
  bool is_alone(double now) const;

  RankId rank_;
  Neighbours neighbours_;
  Timing timing_;
  std::map<RankId, Link> links_;    ///< to the parent and the children
  std::vector<Outgoing> outgoing_;  ///< since the last take_outgoing()
  std::optional<Verdict> verdict_;
  Sample own_;           ///< the last one
  double forgiven_ = 0;  ///< for starvation, since the thread last moved
  double starved_ = 0;   ///< since the last beat was sent
  double late_ = 0;      ///< note_lateness()
  /// seconds; when the own thread last moved, and so on
  double moved_at_ = 0, last_tick_ = 0, next_beat_ = 0, ends_at_ = 0;
  bool started_ = false, finished_ = false, subtree_told_ = false, done_ = false, ceased_ = false;
};

}  // namespace robusta::liveness
