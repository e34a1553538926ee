/// The thread behind a LivenessWatch: joins the state machine, the sockets and the clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/communicator.h"
#include "comm/liveness/activity_board.h"
#include "comm/liveness/ending.h"
#include "comm/liveness/failure.h"
#include "comm/liveness/mesh.h"
#include "comm/liveness/overload.h"
#include "comm/liveness/starvation.h"
#include "comm/liveness/transfers.h"

namespace robusta::liveness {

/// The watch's thread and the owner's share `state_` under `mutex_`; `mesh_` is the thread's alone, but for is_up().
class WatchThread {
 public:
  WatchThread(Communicator& world, LivenessOptions options);
  ~WatchThread();

  Failure announce_end(int code, const std::string& text);
  void goodbye();
  Status straggler() const;

  ActivityBoard board;
  std::atomic<bool> failed{false};

 private:
  enum class Phase { kWatching, kLeaving, kEnding, kOver };

  void connect(Communicator& world);
  void cease();
  void start_thread();
  void stop_thread();
  void run();
  void look(double now);
  void take_sample(double now);
  void tell_overload(double now);
  void leave(double now);
  void end(double now);
  bool goes_on();
  void wake() const;
  double seconds_to_wait(double now) const;

  RankId rank_;
  LivenessOptions options_;
  Timing timing_;
  Roster roster_;
  Descriptor wake_;  ///< an eventfd: ends the thread's wait for sockets
  std::optional<WatchState> state_;
  std::optional<Mesh> mesh_;
  mutable std::mutex mutex_;  ///< guards state_, phase_ and the flags
  std::condition_variable changed_;
  Phase phase_ = Phase::kWatching;
  double phase_since_ = 0;  ///< seconds
  bool stop_ = false, announced_ = false, agreed_ = false;
  Sample sample_;
  Starvation starvation_;
  std::optional<Transfers> transfers_;
  std::optional<Overload> overload_;
  double system_read_at_ = 0;                     ///< when /proc and the sockets were last looked at
  uint64_t moves_then_ = 0, transfers_seen_ = 0;  ///< at that time; what the connections have added to the moves
  std::optional<LastWords> last_words_;           ///< once the verdict stands and its grace is over
  std::thread thread_;
};

}  // namespace robusta::liveness
