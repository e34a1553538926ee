/// What a parameter server hears from the groups, and what it answers.
///
/// Each group has a thread of its own here that receives a push and waits; the driver alone takes pushes, updates the
/// parameters and answers. Nothing is received but what a group is sure to send: after a pause the threads wait for
/// resume().
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "solver/ranks/sums/servers/served_sum.h"
#include "solver/ranks/votes.h"

namespace robusta {

class ParameterServer {
 public:
  /// Takes the lines of the sum.
  explicit ParameterServer(ServedSum& sum);
  /// Where an error ends the training while groups push, the threads are left to the end of the process: nothing calls
  /// them back from a message.
  ~ParameterServer();

  /// Groups begin to push.
  void resume();
  /// Returns when all have paused, after which all ranks may talk of other things.
  void await_pause();

  /// Until this group has pushed, or all have, or more have than these. Blocks.
  void await(int group);
  void await_all();
  void await_more_than(size_t groups);
  /// The groups that have pushed, in the order in which they did.
  std::vector<int> waiting() const;

  /// What a group has pushed: gradients of this server's elements, one after the other, which the driver may change,
  /// and votes.
  std::byte* gradients(int group) { return line(group).values.data(); }
  const Votes& votes(int group) const { return line(group).votes; }
  /// The sum of all, in the order of groups, becomes the first one's.
  std::byte* add_gradients();

  /// The push is used up. `weights` of this server's elements, one after the other; the votes and the ticket are the
  /// first server's business.
  void answer(int group, const void* weights, const Answer& answer);

 private:
  enum class At { kPaused, kReceiving, kPushed, kAnswering };

  struct Line {
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<Channel> channel;
    std::vector<std::byte> values, tail;  ///< gradients on their way in, weights on their way out; votes as they travel
    Votes votes;
    Answer answer;
    At at = At::kPaused;
    int64_t order = 0;  ///< of its push among all
    std::thread thread;
  };

  /// What threads and driver share; all of them keep it alive.
  struct Lines {
    DType type = DType::kF32;
    std::vector<size_t> pieces;  ///< bytes: how this server's elements travel
    bool answers = false;        ///< the first server does, beyond weights
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
  std::vector<int> pushed() const;
  template <typename Ready>
  void wait(const Ready& ready);

  const std::shared_ptr<Lines> lines_;
};

}  // namespace robusta
