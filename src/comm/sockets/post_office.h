/// All messages between this process and the other ranks, over TCP: one thread of its own moves them, so that messages
/// arrive while the ranks compute.
///
/// A connection is opened by the first message from one rank to another, and used in that direction alone. What arrives
/// before anybody asks for it is kept. Whoever cannot prove to be a rank of this job is heard no further than its first
/// bytes, and only for a while.
#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "comm/sockets/lines.h"
#include "robusta/error.h"

namespace robusta::sockets {

class PostOffice {
 public:
  /// What the end of a connection to a rank means: the job ends, of which others will tell; or its generation, at once
  /// and for all (comm/elastic/).
  enum class Loss { kEndsTheJob, kEndsTheGeneration };
  explicit PostOffice(Company company, Loss loss = Loss::kEndsTheJob);
  /// Closes all connections at once; what is under way is lost.
  ~PostOffice();
  PostOffice(const PostOffice&) = delete;
  PostOffice& operator=(const PostOffice&) = delete;

  int rank() const { return company_.rank; }
  int ranks() const { return static_cast<int>(company_.members.size()); }
  const Member& member(int rank) const { return company_.members[static_cast<size_t>(rank)]; }

  /// The parcel says what, with whom and where. Each returns at once; wait() tells when it is done. Any thread may
  /// call.
  void send(Parcel& parcel);
  void receive(Parcel& parcel);
  /// Returns when the parcel is done, at once for one that is not under way. Throws Error{kCommunication} when its peer
  /// has been gone for so long that whoever watches the ranks would have said so, and Error{kMemory} when a message
  /// that nobody had asked for yet found no room.
  void wait(Parcel& parcel);

  /// Every wait, from now on and those that go on, throws EndOfGeneration. REQUIRES: kEndsTheGeneration.
  void break_off(const std::string& why);
  /// The same happens at this moment, unless another is set.
  void break_off_at(Clock::time_point deadline) { deadline_ = deadline; }
  /// For loops that wait for a peer without a parcel: throws it, when it is time.
  void check();
  /// No message is sent or received any more; what others called is left to whoever listens on. Afterwards nobody
  /// touches parcels.
  Descriptor take_listener();

  /// Ends the other ranks, as far as this one reaches them and they others.
  void end_job(int code);

 private:
  /// A message that there was no memory for.
  struct Unkept {
    int from = 0;
    uint64_t bytes = 0;
  };
  /// How the job is ended early: by this rank, or by another one that has told.
  struct End {
    int code = 0;
    int from = -1;  ///< who told; -1: this rank
    Clock::time_point since;
  };

  void serve();
  void poll_lines();
  bool make_room();
  void greet_callers();
  /// Those with something to send.
  std::vector<std::pair<int, OutgoingLine*>> busy_lines();
  void move(OutgoingLine& line, int to);
  /// False: the line has ended.
  bool move(IncomingLine& line);
  bool welcome(IncomingLine& line);
  bool begin_message(IncomingLine& line);
  void end_message(IncomingLine& line);
  void pass_end_on();
  void judge_gone();
  void look_for_hang_ups();
  [[noreturn]] void throw_broken();
  std::optional<Error> failure_of(const Parcel& parcel) const;
  void deliver_here(Parcel& parcel);
  void mark_done(Parcel& parcel);
  void note_gone(int rank);
  OutgoingLine& line_to(int rank);
  void wake() const;
  void halt();

  Company company_;
  const Loss loss_;
  Descriptor bell_;  ///< rung when there is something new to send

  // The thread's own:
  std::list<IncomingLine> incoming_;
  std::vector<pollfd> polled_;
  bool closed_ = false;  ///< nobody can be let in for a moment

  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::map<int, OutgoingLine> outgoing_;   ///< never taken away; the thread alone sends
  std::map<int, Clock::time_point> gone_;  ///< ranks whose connections have ended, and when
  Mailboxes mail_;
  std::optional<Unkept> unkept_;
  std::optional<End> end_;
  bool end_is_told_ = false;  ///< to all who can be reached
  bool halted_ = false;
  std::string why_broken_;

  std::atomic<bool> broken_{false};
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};
  Clock::time_point looked_;  ///< the thread's: for hang-ups

  std::atomic<bool> stops_{false};
  std::mutex joining_;
  std::thread thread_;
};

}  // namespace robusta::sockets
