// All ranks go through the same calls, whatever fails on any of them: it is told by counts, and thrown in the end.
#include "solver/loop/parted_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// The unfinished file, as rank 0 tells of it; of 0 bytes: there is none.
struct Unfinished {
  uint64_t inode = 0, bytes = 0, arrays = 0;
};

/// Thrown through the writing of the file, which leaves nothing then.
struct Abandoned {};

class Writer {
 public:
  Writer(Ranks& ranks, Updater& updater) : ranks_(ranks), updater_(updater) {}

  bool write(const std::function<PartedState()>& state) {
    ranks_.root() ? lead(state) : follow();
    ranks_.together([&] {
      if (error_) throw *error_;
    });
    return written_;
  }

 private:
  void lead(const std::function<PartedState()>& state) {
    bool told = false;
    try {
      const PartedState file = state();
      if (file.message) {
        write_file_atomically(file.path, [&](int fd) {
          file.message->write_frames(fd);
          told = true;
          tell(fd, *file.message);
          if (!write_parts(fd)) throw Abandoned();
        });
        LOG_INFO << "Snapshotting solver state to " << file.path << ": each rank has written its part";
      }
    } catch (const Abandoned&) {
      written_ = false;
    } catch (const Error& error) {
      error_ = error;
    }
    if (!told) {
      Unfinished none;
      ranks_.broadcast_value(none);
    }
  }

  void tell(int fd, const ArrayMessage& message) {
    struct stat info {};
    ::fstat(fd, &info);
    ::fsync(fd);  // its size, for who looks from another host
    places_ = message.array_places();
    file_ = {info.st_ino, message.bytes(), places_.size()};
    std::error_code unknown;  // nobody sees it then
    path_ = std::filesystem::read_symlink(str("/proc/self/fd/", fd), unknown).string();
    ranks_.broadcast_value(file_);
    ranks_.broadcast(path_);
    ranks_.broadcast(places_.data(), places_.size() * sizeof(size_t));
  }

  void follow() {
    ranks_.broadcast_value(file_);
    if (file_.bytes == 0) return;
    places_.resize(file_.arrays);
    ranks_.broadcast(path_);
    ranks_.broadcast(places_.data(), places_.size() * sizeof(size_t));
    const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    write_parts(sees(file) ? file.get() : -1);
  }

  bool sees(const Descriptor& file) const {
    struct stat info {};
    return file.is_open() && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_ino == file_.inode &&
           static_cast<uint64_t>(info.st_size) == file_.bytes;
  }

  /// `fd`: -1 where this rank does not see the file. Whether all ranks have written.
  bool write_parts(int fd) {
    double blind[] = {fd < 0 ? 1.0 : 0.0};
    ranks_.sum(blind);
    if (blind[0] > 0) return false;
    double failed[] = {write_own(fd) ? 0.0 : 1.0};
    ranks_.sum(failed);
    return written_ = failed[0] == 0;
  }

  bool write_own(int fd) {
    try {
      size_t array = 0;
      for (const HistoryId id : updater_.history_ids()) {
        if (updater_.history_param(id).desc.count() == 0) continue;
        const size_t place = places_.at(array++);
        const Updater::HistoryPart part = updater_.own_history(id);
        if (!part.shared && !ranks_.root()) continue;
        write_all_at(fd, part.values.data(), part.values.size() * sizeof(float),
                     place + static_cast<size_t>(part.elements.begin) * sizeof(float));
      }
      if (::fsync(fd) != 0) fail_output("cannot write", path_, errno);
      return true;
    } catch (const Error& error) {
      error_ = error;
      return false;
    }
  }

  Ranks& ranks_;
  Updater& updater_;
  Unfinished file_;
  std::string path_;
  std::vector<size_t> places_;  ///< of the histories in the file
  std::optional<Error> error_;  ///< of this rank
  bool written_ = false;
};

}  // namespace

bool write_parted_state(Ranks& ranks, Updater& updater, const std::function<PartedState()>& state) {
  if (ranks.alone() || !updater.shares_histories()) return false;
  return Writer(ranks, updater).write(state);
}

}  // namespace robusta
