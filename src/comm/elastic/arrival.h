/// How a process comes into an elastic job that it is not in: one that has just been started, or one that the others
/// have gone on without.
///
/// It calls where new ones are to look (MASTER_ADDR, ROBUSTA_PEERS, and the hosts that it knows of), again and again,
/// until somebody lets it in. The process that was started as rank 0 listens there itself, and founds the job with
/// those that come, unless it hears of one that runs already.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/elastic/admission.h"
#include "comm/elastic/outgoing_call.h"

namespace robusta::elastic {

struct ArrivalEnd {
  std::optional<Admission> admission = {};
  int job_code = 0;  ///< no admission: the job is over
  std::string why = {};
};

class Arrival {
 public:
  /// The listeners for calls and for messages are opened by the first call that goes through, and kept, with their
  /// places in `standing`. `known`: addresses of hosts that had ranks.
  Arrival(Standing& standing, Descriptor& calls, Descriptor& office, std::vector<Address> known);

  /// Throws Error{kCommunication} when nobody lets it in within the meeting time, or somebody refuses to.
  ArrivalEnd run();
  /// This place first.
  void look_first_at(const Member& place) { next_.push_front(place); }

 private:
  bool may_found() const { return standing_.launch_rank == 0 && standing_.job.empty(); }
  ArrivalEnd found();
  ArrivalEnd seek();
  std::optional<ArrivalEnd> ask(const Member& place);
  std::unique_ptr<OutgoingCall> call(const Member& place);
  /// Of an address of this host, if it does not listen there yet.
  void listen_for_members(Address own);
  /// Where somebody may know of the job; of names that are not known nothing.
  std::vector<Member> places() const;
  std::optional<Answer> judge(const Call& call);
  bool all_have_come() const;
  std::optional<Member> running_job();
  double seconds_left() const;
  [[noreturn]] void give_up() const;

  Standing& standing_;
  Descriptor &calls_, &office_;
  std::vector<Address> known_;
  Clock::time_point deadline_;
  std::deque<Member> next_;  ///< places to be asked before all others
  Gathering gathering_;      ///< of a founder
  std::optional<Member> summoned_;
  std::unique_ptr<OutgoingCall> question_;  ///< of a founder, whether a job runs already
  size_t asked_ = 0;
  std::string last_words_;  ///< why the last place gave no answer
};

}  // namespace robusta::elastic
