// Locks of open file descriptions (F_OFD_SETLK, fcntl(2)), not of the process: those would end as soon as anything in
// this process closed the file, and two trainings of one process would not see each other. The kernel's answer holds
// for this machine; what another machine has written there is judged by its beat alone, so that clocks need not agree.
#include "solver/files/prefix_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/output_place.h"
#include "base/str.h"
#include "base/thread_name.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kLargestLease = 4096;

struct flock whole_file() {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

PrefixLocking lock_whole(int fd) {
  struct flock whole = whole_file();
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return PrefixLocking::kLocked;
  return errno == EAGAIN || errno == EACCES ? PrefixLocking::kHeldByAnother : PrefixLocking::kNoLocks;
}

/// As lock_whole, but leaves it as it is.
PrefixLocking could_lock_whole(int fd) {
  struct flock whole = whole_file();
  if (::fcntl(fd, F_OFD_GETLK, &whole) != 0) return PrefixLocking::kNoLocks;
  return whole.l_type == F_UNLCK ? PrefixLocking::kLocked : PrefixLocking::kHeldByAnother;
}

std::string read_all(int fd) {
  std::string text(kLargestLease, '\0');
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

/// Opened anew, since a network file system shows other machines' writes from the next open on.
bool read_lease(const std::string& path, PrefixLease& lease) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.is_open() && parse_lease(read_all(file.get()), lease);
}

/// Whether the name still leads to the open file: who held it may have removed it since.
bool still_named(const std::string& path, int fd) {
  struct stat named = {}, opened = {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

}  // namespace

PrefixLock::PrefixLock(std::string prefix, const LeaseTimes& times, std::string job, NotTaken)
    : prefix_(std::move(prefix)), path_(prefix_ + ".lock"), times_(times), job_(std::move(job)) {}

void PrefixLock::refuse_if_held(const std::string& prefix, const LeaseTimes& times) {
  const PrefixLock look(prefix, times, "", NotTaken());
  const Descriptor file(::open(look.path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return;
  look.require_regular(file);
  look.refuse_holder(file.get(), times.kernel_locks ? could_lock_whole(file.get()) : PrefixLocking::kNoLocks);
}

PrefixLock::PrefixLock(std::string prefix, const LeaseTimes& times, std::string job)
    : PrefixLock(std::move(prefix), times, std::move(job), NotTaken()) {
  remove_own_jobs();
  take();
  beater_ = std::thread([this] {
    name_this_thread("prefix lock");
    beat_until_stopped();
  });
}

PrefixLock::~PrefixLock() {
  if (!beater_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  beater_.join();
  if (is_ours()) ::unlink(path_.c_str());
}

void PrefixLock::keep() {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open() || !is_ours()) take();
}

void PrefixLock::take() {
  PrefixLease mine = own_lease(job_);
  file_ = Descriptor();  // else its lock would stand in our own way
  Descriptor file = open_unheld();
  const std::string text = lease_text(mine);
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), text.data(), text.size(), 0) < 0 ||
      ::fsync(file.get()) != 0) {
    const int code = errno;
    ::unlink(path_.c_str());
    fail_output("cannot write", path_, code);
  }
  file_ = std::move(file);
  lease_ = std::move(mine);
}

/// A process that still has the old file open finds at its next snapshot that it is no longer the owner.
void PrefixLock::remove_own_jobs() const {
  PrefixLease found;
  if (!job_.empty() && read_lease(path_, found) && found.job == job_) ::unlink(path_.c_str());
}

Descriptor PrefixLock::open_unheld() const {
  for (;;) {
    Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
    require_regular(file);
    const std::optional<PrefixLease> left =
        refuse_holder(file.get(), times_.kernel_locks ? lock_whole(file.get()) : PrefixLocking::kNoLocks);
    if (!still_named(path_, file.get())) continue;
    if (left)
      LOG_INFO << "The lock on snapshots with prefix " << prefix_ << " was left by " << describe(*left)
               << ", which is gone: taken over";
    return file;
  }
}

void PrefixLock::require_regular(const Descriptor& file) const {
  if (!file.is_open()) fail_output("cannot lock snapshots by", path_, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(ErrorKind::kOutput, "cannot lock snapshots by " + path_ + ": it is no regular file", "remove it");
}

std::optional<PrefixLease> PrefixLock::refuse_holder(int fd, PrefixLocking locking) const {
  PrefixLease found;
  const bool whole = parse_lease(read_all(fd), found);
  if (locking == PrefixLocking::kHeldByAnother) refuse(found);
  if (!whole) return std::nullopt;                       // new, or cut off while it was written
  if (found.token == lease_.token) return std::nullopt;  // our own, that was away for a while
  switch (look_for_holder(found)) {
    case HolderIs::kGone:
      break;
    case HolderIs::kAlive:
      if (locking == PrefixLocking::kNoLocks) refuse(found);
      break;  // the kernel would have kept its lock: a training of that process that has let go
    case HolderIs::kUnknown:
      if (still_beats(found)) refuse(found);
  }
  return found;
}

bool PrefixLock::still_beats(const PrefixLease& lease) const {
  LOG_INFO << path_ << " is of " << describe(lease) << ": waiting for up to "
           << std::chrono::duration_cast<std::chrono::seconds>(times_.silence).count() << " s to see whether it lives";
  const auto end = std::chrono::steady_clock::now() + times_.silence;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(times_.beat / 5);
    PrefixLease now;
    if (read_lease(path_, now) && (now.beat != lease.beat || now.token != lease.token)) return true;
  }
  return false;
}

bool PrefixLock::is_ours() const {
  PrefixLease found;
  return read_lease(path_, found) && found.token == lease_.token;
}

/// The text has the same length with every beat, so that a reader sees the old or the new one.
void PrefixLock::write_beat() {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open() || !still_named(path_, file_.get()) || !is_ours()) return;
  ++lease_.beat;
  const std::string text = lease_text(lease_);
  // What cannot be written is seen by keep(), before the next snapshot.
  if (::pwrite(file_.get(), text.data(), text.size(), 0) > 0) ::fdatasync(file_.get());
}

void PrefixLock::beat_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, times_.beat, [this] { return stop_; })) {
    lock.unlock();
    write_beat();
    lock.lock();
  }
}

void PrefixLock::refuse(const PrefixLease& holder) const {
  const std::string who = holder.process > 0 ? "another training (" + describe(holder) + ")" : "another training";
  throw Error(ErrorKind::kOutput, str(who, " writes snapshots with the prefix ", prefix_),
              str("give this one a snapshot_prefix of its own, or end the other first; remove ", path_,
                  " only if you know that it does not run"));
}

}  // namespace robusta
