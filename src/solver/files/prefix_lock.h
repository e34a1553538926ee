/// The lock on a snapshot prefix: of the trainings that write snapshots under one prefix only one runs at a time.
///
/// Two would write each other's PREFIX_iter_N, and one would resume from the weights of the other. The lock is the file
/// PREFIX.lock: locked by fcntl(2), which ends with its process, and holding a lease (prefix_lease.h) for file systems
/// whose locks do not reach other machines, or that have none. Only who writes snapshots locks; readers need nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "solver/files/prefix_lease.h"

namespace robusta {

/// Tests have less time.
struct LeaseTimes {
  std::chrono::milliseconds beat{5000};      ///< the holder counts up so often
  std::chrono::milliseconds silence{30000};  ///< who has not counted for so long is gone
  bool kernel_locks = true;                  ///< false: as on a file system without locks
};

/// What the kernel says of a lock on the whole file.
enum class PrefixLocking { kLocked, kHeldByAnother, kNoLocks };

class PrefixLock {
 public:
  /// Takes what nobody alive holds. A lease of another machine is watched for `silence` first. Throws Error{kOutput}
  /// that names the holder. `job`: of ranks that come and go: what another process of the same job holds is taken from
  /// it, as the ranks have agreed that it writes no more.
  explicit PrefixLock(std::string prefix, const LeaseTimes& times = {}, std::string job = "");
  /// Releases it, and removes the file.
  ~PrefixLock();
  /// Throws what taking it would throw, and takes nothing: a check beside others and beside a training that begins is
  /// in nobody's way.
  static void refuse_if_held(const std::string& prefix, const LeaseTimes& times = {});
  PrefixLock(const PrefixLock&) = delete;
  PrefixLock& operator=(const PrefixLock&) = delete;

  /// Before files are written: takes it again where somebody has removed the file. Throws Error{kOutput} where another
  /// training has taken it meanwhile, as after this machine was cut off for longer than `silence`.
  void keep();

 private:
  struct NotTaken {};
  PrefixLock(std::string prefix, const LeaseTimes& times, std::string job, NotTaken);
  void take();
  /// Opens, and locks where there are locks; throws where a living process holds it.
  Descriptor open_unheld() const;
  void remove_own_jobs() const;
  void require_regular(const Descriptor& file) const;
  /// Returns the lease of one that is gone, if there is one.
  std::optional<PrefixLease> refuse_holder(int fd, PrefixLocking locking) const;
  bool still_beats(const PrefixLease& lease) const;
  bool is_ours() const;
  void write_beat();
  void beat_until_stopped();
  [[noreturn]] void refuse(const PrefixLease& holder) const;

  const std::string prefix_, path_;
  const LeaseTimes times_;
  const std::string job_;  ///< "": of a training by itself
  std::mutex mutex_;       ///< of what follows
  std::condition_variable stopping_;
  bool stop_ = false;  ///< ends the thread
  Descriptor file_;
  PrefixLease lease_;
  std::thread beater_;  ///< writes the lease again and again, to show that it lives
};

}  // namespace robusta
