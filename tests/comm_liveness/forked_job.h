/// A job of real processes on this machine that believe to be on several hosts.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "robusta/error.h"
#include "support/files.h"

namespace robusta::test {

/// Seconds since this program began.
inline double seconds_now() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Memory that all ranks of a ForkedJob see.
struct SharedPage {
  static constexpr size_t kRanks = 32, kBytes = 1024;
  std::atomic<int> arrived{0}, round{0}, ready{0};
  char slots[kRanks][kBytes];
};

/// The few calls of a communicator that a start needs, over a shared page.
class PageCommunicator : public Communicator {
 public:
  PageCommunicator(SharedPage& page, int rank, std::vector<std::string> hosts)
      : page_(page), rank_(rank), hosts_(std::move(hosts)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hosts_.size()); }
  std::string kind() const override { return "page"; }
  std::string host() const override { return hosts_[static_cast<size_t>(rank_)]; }

  void barrier() override {
    const int round = page_.round;
    if (++page_.arrived == size()) {
      page_.arrived = 0;
      ++page_.round;
    }
    while (page_.round == round) nap(0.001);
  }
  void broadcast(void* data, size_t bytes, int root) override {
    if (bytes > SharedPage::kBytes) throw std::length_error("broadcast");
    char* const slot = page_.slots[root];
    if (rank_ == root) std::memcpy(slot, data, bytes);
    barrier();
    std::memcpy(data, slot, bytes);
    barrier();
  }
  void all_gather(const void* mine, size_t bytes, void* all) override {
    if (bytes > SharedPage::kBytes) throw std::length_error("all_gather");
    std::memcpy(page_.slots[rank_], mine, bytes);
    barrier();
    for (int rank = 0; rank < size(); ++rank) {
      std::memcpy(static_cast<char*>(all) + bytes * static_cast<size_t>(rank), page_.slots[rank], bytes);
    }
    barrier();
  }

  void exchange(const void*, size_t, int, void*, size_t, int) override { refuse(); }
  std::unique_ptr<Channel> open_channel(int, Traffic) override { refuse(); }
  void all_reduce(void*, int64_t, DType) override { refuse(); }
  std::unique_ptr<Communicator> split(int, int) override { refuse(); }
  std::shared_ptr<SharedMemory> allocate(size_t) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("a start needs no such call"); }
  SharedPage& page_;
  int rank_;
  std::vector<std::string> hosts_;
};

/// `body` runs in a process per rank, and its value is the exit code (an Error's own, if one gets out). What a rank
/// prints to stderr goes into a file; ROBUSTA_EXIT_FILE is set.
class ForkedJob {
 public:
  using Body = std::function<int(Communicator&, ForkedJob&)>;

  /// `prepare(rank)` runs first in each process.
  ForkedJob(const std::vector<std::string>& hosts, const Body& body, const std::function<void(int)>& prepare = {})
      : page_(*new (mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                  SharedPage) {
    std::fflush(stdout);
    for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
      const int pid = fork();
      if (pid == 0) run_rank(rank, hosts, body, prepare);
      pids_.push_back(pid);
    }
  }
  ~ForkedJob() {
    for (int rank = 0; rank < size(); ++rank) {
      if (codes.count(rank) > 0) continue;
      signal(rank, SIGKILL);
      waitpid(pid(rank), nullptr, 0);
    }
    munmap(&page_, sizeof page_);
  }

  int size() const { return static_cast<int>(pids_.size()); }
  int pid(int rank) const { return pids_.at(static_cast<size_t>(rank)); }
  void signal(int rank, int number) const { ::kill(pid(rank), number); }
  /// For a rank to call.
  void ready() { ++page_.ready; }
  /// Waits until all ranks have called ready().
  bool wait_ready(double seconds = 30) const {
    for (const double end = seconds_now() + seconds; page_.ready < size(); nap(0.005)) {
      if (seconds_now() > end) return false;
    }
    return true;
  }

  /// Waits at most so long for the end of all ranks but `but`, and tells whether they ended.
  bool wait_end(double seconds, int but = -1) {
    const double since = seconds_now();
    for (;; nap(0.005)) {
      bool all = true;
      for (int rank = 0; rank < size(); ++rank) {
        int status = 0;
        if (codes.count(rank) > 0) continue;
        if (waitpid(pid(rank), &status, WNOHANG) == pid(rank)) {
          codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
          took[rank] = seconds_now() - since;
        } else if (rank != but) {
          all = false;
        }
      }
      if (all || seconds_now() - since > seconds) return all;
    }
  }
  /// Exit codes, those of signals negative, and the seconds of wait_end() that each rank took.
  std::map<int, int> codes;
  std::map<int, double> took;
  double slowest() const {
    double result = 0;
    for (const auto& [rank, seconds] : took) result = std::max(result, seconds);
    return result;
  }

  std::string said(int rank) const { return read_file(log(rank)); }
  std::string all_said() const {
    std::string text;
    for (int rank = 0; rank < size(); ++rank) text += said(rank);
    return text;
  }
  std::string exit_file() const { return std::filesystem::exists(folder_ / "exit") ? read_file(folder_ / "exit") : ""; }

 private:
  std::string log(int rank) const { return folder_ / ("log." + std::to_string(rank)); }

  [[noreturn]] void run_rank(int rank, const std::vector<std::string>& hosts, const Body& body,
                             const std::function<void(int)>& prepare) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(log(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, STDERR_FILENO);
    setenv("ROBUSTA_EXIT_FILE", (folder_ / "exit").c_str(), 1);
    int code = 99;
    try {
      if (prepare) prepare(rank);
      PageCommunicator world(page_, rank, hosts);
      code = body(world, *this);
    } catch (const Error& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
      code = error.exit_code();
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
    }
    _exit(code);
  }

  TempDir folder_;
  SharedPage& page_;
  std::vector<int> pids_;
};

inline int count(const std::string& text, const std::string& word) {
  int result = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++result;
  return result;
}

}  // namespace robusta::test
