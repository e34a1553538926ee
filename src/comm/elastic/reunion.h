/// How the members of a generation that has ended find each other again, and make the next one.
///
/// Each calls the old members below it, the lowest first, at the place where it listens as long as it lives; who finds
/// nobody below it leads. The leader waits for those that may still come, and goes on with whoever has: more than half
/// of those whose process is not known to be gone, or half of them with the lowest (so that of two halves of a torn
/// network one goes on at most; where the dead decide, it asks first whether the job runs elsewhere). A member says yes
/// to one leader at a time, which makes this an election as Garcia-Molina's
/// ("Elections in a Distributed Computing System", 1982), with a majority in place of his trust in time-outs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/elastic/admission.h"
#include "comm/elastic/outgoing_call.h"

namespace robusta::elastic {

/// How it ended for a member.
struct ReunionEnd {
  std::optional<Admission> admission = {};  ///< none: it goes on as somebody new
  std::optional<int> job_code = {};         ///< the job is over
  bool led = false;                         ///< and it was this member that ended it
  std::string why = {};                     ///< it goes on as somebody new: for the log
  Member place = {};                        ///< port other than 0: it is waited for there
};

class Reunion {
 public:
  struct Times {
    double answer = 2;  ///< seconds for one that is called to answer
    double come = 3;    ///< for those to come of whom nothing bad is known
    double silent = 1;  ///< for those on a host of which nothing was heard
  };
  /// `own`: the listener of this process for other members. `open_door`: opens where new ones call, when it leads.
  /// References are kept.
  Reunion(Standing& standing, const Admission& last, const Blame& blame, Gathering& gathering, int own,
          const std::function<std::vector<int>()>& open_door, const Times& times);

  /// `progress`: how far the state is that this process holds.
  ReunionEnd run(int64_t progress);

 private:
  enum class Part { kCalling, kFollowing, kLeading };

  /// The lowest old rank below this one that is worth a call; none: this one leads.
  std::optional<int> next_above() const;
  std::optional<ReunionEnd> call(int rank);
  void pass(int rank, bool reached);
  /// What the call has come to; nothing: it goes on.
  static std::optional<ReunionEnd> ended(const OutgoingCall& call);
  ReunionEnd lead();
  std::optional<ReunionEnd> try_to_admit();
  void probe_missing();
  std::optional<ReunionEnd> look_for_leader(double seconds);
  void serve(double seconds);
  std::optional<Answer> judge(const Call& call);

  bool suspected(int rank) const;
  std::vector<int> missing() const;
  bool has_majority() const;
  bool counts_on_the_dead() const;
  /// Where ranks of this job train already, without this one.
  std::optional<Member> running_job();
  Ledger ledger_with_losses() const;
  int ranks() const { return static_cast<int>(last_.members.size()); }
  const Member& member(int rank) const { return last_.members[static_cast<size_t>(rank)]; }

  Standing& standing_;
  const Admission& last_;
  const Blame& blame_;
  Gathering& gathering_;
  std::vector<int> listeners_;
  const std::function<std::vector<int>()>& open_door_;
  const Times times_;
  Call mine_;
  Part part_ = Part::kCalling;
  std::set<int> gone_;    ///< old ranks whose process is known to have ended
  std::set<int> passed_;  ///< those that did not answer, or lead no more
  Member leader_;         ///< while this one follows
  std::map<int, OutgoingCall> probes_;
  bool asked_around_ = false;
  std::optional<OutgoingCall> above_;  ///< of a leader that nobody follows, at one that may lead the others
};

}  // namespace robusta::elastic
