/// What streams of the fake accelerator append while one of them records, and how that is launched.
///
/// As while CUDA captures: a stream that waits for an event of the recording belongs to it from then on, as a branch;
/// events are the edges between branches and mean nothing outside; and when the recording ends, the stream that began
/// it must have waited for all that the others were given. Launched, a branch runs on a thread of its own and not in
/// the stream that it was recorded from: it is ordered by what was recorded alone. One thread records, that which
/// drives the streams.
#pragma once

#include <memory>
#include <vector>

#include "device/sim/sim_stream.h"

namespace robusta {

/// A recording while it is made.
class SimCapture {
 public:
  explicit SimCapture(SimStream& origin) { join(origin); }

  /// The branch that becomes the stream's.
  size_t join(SimStream& stream);
  void append(size_t branch, std::function<void()> work);
  /// An event of the recording, for wait().
  std::shared_ptr<SimEvent> mark(size_t branch, const std::shared_ptr<SimCapture>& self, SimState& state);
  void wait(size_t branch, const SimEvent& event);
  /// An event that each launch reaches anew, for whoever measures times.
  void time(size_t branch, std::shared_ptr<SimEvent> event);

  /// Leaves all streams.
  void close();
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
    SimStream* stream;
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

class SimRecording : public Recording {
 public:
  SimRecording(std::shared_ptr<const SimCapture> captured, SimState& state);
  /// Appends it to the stream.
  void launch(SimStream& stream);

 private:
  std::shared_ptr<const SimCapture> captured_;
  std::vector<std::unique_ptr<SimStream>> threads_;  ///< of all branches but the first
};

}  // namespace robusta
