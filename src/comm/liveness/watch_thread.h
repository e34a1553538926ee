/// The thread behind a LivenessWatch: joins the state machine, the sockets and the clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/liveness/activity_board.h"
#include "comm/liveness/ending.h"
#include "comm/liveness/liveness_watch.h"
#include "comm/liveness/mesh.h"

namespace robusta {

/// The watch's thread and the owner's share `state_` under `mutex_`; `mesh_` is the thread's alone, but for is_up().
class LivenessWatch::Thread {
 public:
  Thread(Communicator& world, LivenessOptions options);
  ~Thread();

  Failure announce_end(int code, const std::string& text);
  void goodbye();
  liveness::Status straggler() const;

  liveness::ActivityBoard board;
  std::atomic<bool> failed{false};

 private:
  enum class Phase { kWatching, kLeaving, kEnding, kOver };

  void connect(Communicator& world);
  void cease();
  void start_thread();
  void stop_thread();
  void run();
  void look(double now);
  void leave(double now);
  void end(double now);
  void wake() const;
  double seconds_to_wait(double now) const;

  int rank_;
  LivenessOptions options_;
  liveness::Timing timing_;
  liveness::Roster roster_;
  Descriptor wake_;
  std::optional<liveness::WatchState> state_;
  std::optional<liveness::Mesh> mesh_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kWatching;
  double phase_since_ = 0;
  bool stop_ = false, announced_ = false, agreed_ = false;
  liveness::Sample sample_;
  std::optional<liveness::LastWords> last_words_;
  std::thread thread_;
};

}  // namespace robusta
