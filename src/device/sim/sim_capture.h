/// What streams of the fake accelerator append while one of them records.
///
/// As while CUDA captures: a stream that waits for an event of the recording belongs to it from then on, as a branch;
/// events are the edges between branches and mean nothing outside; and when the recording ends, the stream that began
/// it must have waited for all that the others were given. Launched, a branch runs on a thread of its own and not in
/// the stream that it was recorded from: it is ordered by what was recorded alone. One thread records, that which
/// drives the streams.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/sim/sim_event.h"

namespace robusta {

/// A recording while it is made.
class SimCapture {
 public:
  /// Another stream belongs to it: the branch that becomes that stream's. The first one's begins the recording.
  size_t join();
  void append(size_t branch, std::function<void()> work);
  /// An event of the recording, for wait().
  std::shared_ptr<SimEvent> mark(size_t branch, const std::shared_ptr<SimCapture>& self, SimState& state);
  void wait(size_t branch, const SimEvent& event);
  /// An event that each launch reaches anew, for whoever measures times.
  void time(size_t branch, std::shared_ptr<SimEvent> event);

  /// From here on no stream belongs to it.
  void close() { open_ = false; }
  bool open() const { return open_; }
  /// Whether the first branch has waited for all of the others.
  bool is_joined() const;

  struct Op {
    enum class Kind { kWork, kSignal, kWait, kTime } kind;
    std::function<void()> work = nullptr;
    size_t event = 0;  ///< that is signalled, or waited for
    std::shared_ptr<SimEvent> timed = nullptr;
  };
  struct Branch {
    std::vector<Op> ops = {};
    std::vector<size_t> known = {};  ///< so many operations of each branch come before what is appended next
  };
  /// What was recorded, when it is closed.
  const std::vector<Branch>& branches() const { return branches_; }
  size_t events() const { return known_at_.size(); }

 private:
  void note(size_t branch, Op op);

  std::vector<Branch> branches_;
  std::vector<std::vector<size_t>> known_at_;  ///< of each event: Branch::known
  bool open_ = true;
};

}  // namespace robusta
