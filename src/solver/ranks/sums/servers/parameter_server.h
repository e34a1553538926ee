/// What a parameter server hears from the groups, and what it answers.
///
/// Each group has a thread of its own here that receives a push and waits; the driver alone takes pushes, updates the
/// parameters and answers. Stale synchronous parallel (Ho et al. 2013, "More Effective Distributed ML via a Stale
/// Synchronous Parallel Parameter Server", section 3): a group is answered when it is at most `max_staleness` rounds
/// ahead of the slowest one. Nothing is received but what a group is sure to send: after a pause the threads wait for
/// resume().
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/ddl_options.h"
#include "solver/ranks/sums/servers/served_sum.h"
#include "solver/ranks/votes.h"

namespace robusta {

class ParameterServer {
 public:
  /// Takes the lines of the sum.
  ParameterServer(ServedSum& sum, const ServerOptions& options);
  /// Where an error ends the training while groups push, the threads are left to the end of the process: nothing calls
  /// them back from a message.
  ~ParameterServer();

  /// Groups begin to push.
  void resume();
  /// Returns when all have paused, after which all ranks may talk of other things.
  void await_pause();

  /// The group whose push came first of those that are not taken. Blocks.
  int await_one();
  /// Until all groups have pushed. Blocks.
  void await_all();

  /// What a group has pushed: gradients of this server's elements, one after the other, which the driver may change,
  /// and votes.
  std::byte* gradients(int group) { return line(group).values.data(); }
  const Votes& votes(int group) const { return line(group).votes; }
  /// The sum of all, in the order of groups, becomes the first one's.
  std::byte* add_gradients();

  /// Rounds of the group that are taken, and of the slowest one.
  int64_t rounds(int group) const { return line(group).taken; }
  int64_t slowest() const;
  /// The group's push is used up. Its answer, with these weights, waits until nobody is too far behind it.
  void taken(int group);
  /// A group that may go on and has not been answered; -1: none.
  int next_to_answer() const;
  /// `weights` of this server's elements, one after the other.
  void answer(int group, const void* weights, const Votes& votes);

 private:
  enum class At { kPaused, kReceiving, kPushed, kAnswering };

  struct Line {
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<Channel> channel;
    std::vector<std::byte> values, tail;  ///< gradients on their way in, weights on their way out; votes as they travel
    Votes votes;
    At at = At::kPaused;
    bool used = false;  ///< the push is taken, and not answered
    int64_t taken = 0, order = 0;
    std::thread thread;
  };

  /// What threads and driver share; all of them keep it alive.
  struct Lines {
    DType type = DType::kF32;
    std::vector<size_t> pieces;  ///< bytes: how this server's elements travel
    bool answers_votes = false;  ///< the first server does
    std::mutex mutex;
    std::condition_variable changed;
    bool ending = false;       ///< guarded by mutex, as the states of all lines
    std::exception_ptr error;  ///< of a thread; thrown where the driver waits
    int64_t pushes = 0;        ///< that have come in
    std::vector<std::unique_ptr<Line>> all;

    void run(Line& line);
    /// False when it is a pause.
    bool receive(Line& line);
    void send(Line& line);
    void set(Line& line, At at);
    /// Waits for this state; false at the end.
    bool await(Line& line, At at);
  };

  Line& line(int group) const { return *lines_->all[static_cast<size_t>(group)]; }
  bool all_paused() const;
  template <typename Ready>
  void wait(const Ready& ready);

  const int max_staleness_;
  const std::shared_ptr<Lines> lines_;
};

}  // namespace robusta
