/// A communicator of the fake NCCL (fake_nccl.cpp): one rank among threads or processes of a host.
///
/// As with NCCL's communicators that do not block, what is begun is enqueued when it is polled for the second time, so
/// that an event recorded too early shows. Polled and aborted by one thread at a time; its work runs on streams.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "device/device.h"
#include "device/nccl/nccl_api.h"

namespace robusta::fake {

constexpr int kMostRanks = 16;
constexpr size_t kChunk = size_t{1} << 16;

/// What the ranks of a communicator share.
struct Shared {
  std::atomic<int> joined, arrived;
  std::atomic<unsigned> round;
  alignas(64) std::byte slots[kMostRanks][kChunk];
};

struct Fault {
  std::string what;
  int rank = -1, call = 0;
};

inline Fault fault_asked_for() {
  const char* text = std::getenv("ROBUSTA_FAKE_NCCL");
  char what[16] = "";
  Fault fault;
  if (text && std::sscanf(text, "%15[a-z]:%d:%d", what, &fault.rank, &fault.call) >= 2) fault.what = what;
  return fault;
}

inline void log_line(const std::string& line) {
  const char* const file = std::getenv("ROBUSTA_FAKE_NCCL_LOG");
  if (!file) return;
  const int out = open(file, O_WRONLY | O_APPEND | O_CREAT, 0644);
  const std::string text = line + "\n";
  if (write(out, text.data(), text.size()) < 0) std::abort();
  close(out);
}

inline void nap() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Ends the collective of a communicator that is aborted.
struct Aborted {};

class Comm {
 public:
  Comm(const NcclId& id, int ranks, int rank) : ranks_(ranks), rank_(rank), fault_(fault_asked_for()), name_(id.bytes) {
    const int file = shm_open(name_.c_str(), O_RDWR, 0600);
    // A member that has left took the name along; who comes then waits in vain.
    const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) std::abort();
    shared_ = static_cast<Shared*>(memory);
    log_line("connect " + std::to_string(rank) + " of " + std::to_string(ranks));
    static thread_local int connections = 0;
    const bool strikes = connections++ == fault_.call;
    if (strikes && mine("refused")) error_ = kNcclSystemError;
    if (strikes && (mine("unreachable") || mine("refused"))) return;
    if (shared_->joined.fetch_add(1) + 1 == ranks) shm_unlink(name_.c_str());
  }
  ~Comm() { munmap(shared_, sizeof(Shared)); }
  Comm(const Comm&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool busy() const { return waiting_ > 0; }

  NcclResult poll() {
    if (error_ != kNcclSuccess) return error_;
    if (shared_->joined < ranks_) return kNcclInProgress;
    if (begun_) {
      if (polls_++ == 0) return kNcclInProgress;
      std::exchange(begun_, nullptr)();
    }
    return finalizing_ && busy() ? kNcclInProgress : kNcclSuccess;
  }

  /// Enqueues `work` when polled.
  NcclResult begin(Stream* stream, const std::shared_ptr<Comm>& self, std::function<void()> work) {
    if (begun_ || finalizing_ || poll() != kNcclSuccess) return kNcclInvalidUsage;
    const bool strikes = calls_++ == fault_.call;
    if (strikes && mine("error")) error_ = kNcclRemoteError;
    const bool hangs = strikes && (mine("hang") || mine("error"));
    ++waiting_;
    polls_ = 0;
    begun_ = [stream, self, hangs, work = std::move(work)] {
      stream->run([self, hangs, work] { self->run(hangs, work); });
    };
    if (error_ != kNcclSuccess) std::exchange(begun_, nullptr)();
    return kNcclInProgress;
  }

  void finalize() { finalizing_ = true; }
  /// What has not begun will do nothing.
  void abort() {
    log_line("abort " + std::to_string(rank_));
    aborted_ = true;
    begun_ = nullptr;
    shm_unlink(name_.c_str());
    while (running_ > 0) nap();
  }

  void barrier() {
    const unsigned round = shared_->round;
    if (shared_->arrived.fetch_add(1) + 1 == ranks_) {
      shared_->arrived = 0;
      ++shared_->round;
      return;
    }
    while (shared_->round == round) {
      if (aborted_) throw Aborted{};
      nap();
    }
  }
  std::byte* slot(int rank) { return shared_->slots[rank]; }

 private:
  bool mine(const char* what) const { return fault_.what == what && fault_.rank == rank_; }

  void run(bool hangs, const std::function<void()>& work) {
    ++running_;
    try {
      while (hangs && !aborted_) nap();
      if (!aborted_) work();
    } catch (const Aborted&) {}
    --running_;
    --waiting_;
  }

  int ranks_, rank_;
  Fault fault_;
  std::string name_;
  Shared* shared_;
  NcclResult error_ = kNcclSuccess;
  bool finalizing_ = false;
  int calls_ = 0, polls_ = 0;
  std::function<void()> begun_;
  std::atomic<bool> aborted_ = false;
  std::atomic<int> waiting_ = 0, running_ = 0;
};

}  // namespace robusta::fake
