/// Runs a program of this build and keeps what it says.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/backend.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::test {

/// `caffe args...` in `folder`, with stdout and stderr in a file, or stderr on a terminal of its own.
class CaffeProcess {
 public:
  CaffeProcess(const std::string& folder, const std::vector<std::string>& args, bool terminal = false)
      : out_(folder + "/out.txt"), log_(folder + "/log.txt") {
    unlink(log_.c_str());
    int slave = -1;
    if (terminal && openpty(&master_, &slave, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("no terminal");
    std::vector<std::string> words = {tools_dir() + "/caffe"};
    words.insert(words.end(), args.begin(), args.end());
    pid_ = fork();
    if (pid_ == 0) {
      if (chdir(folder.c_str()) != 0) _exit(126);
      const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int log = terminal ? slave : open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      dup2(out, STDOUT_FILENO);
      dup2(log, STDERR_FILENO);
      setenv("TERM", "xterm", 1);
      setenv("XDG_CACHE_HOME", folder.c_str(), 1);
      setenv("TMPDIR", folder.c_str(), 1);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    if (slave >= 0) close(slave);
  }
  ~CaffeProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
    if (master_ >= 0) close(master_);
  }
  CaffeProcess(const CaffeProcess&) = delete;

  /// The exit code; 128 + signal for a killed one.
  int wait() {
    if (master_ >= 0) read_terminal();
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  bool ended() const {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }
  void signal(int number) { kill(pid_, number); }
  pid_t id() const { return pid_; }
  std::string out() const { return read_file(out_); }
  std::string log() const {
    if (master_ >= 0) return terminal_;
    return std::filesystem::exists(log_) ? read_file(log_) : "";
  }

  /// Waits until the log holds `text`; false after 60 seconds or when the program has ended without it.
  bool wait_for(const std::string& text) {
    for (int i = 0; i < 6000; ++i) {
      if (log().find(text) != std::string::npos) return true;
      if (ended()) return log().find(text) != std::string::npos;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  void read_terminal() {
    char buffer[4096];
    ssize_t count;
    while ((count = read(master_, buffer, sizeof buffer)) > 0) terminal_.append(buffer, static_cast<size_t>(count));
  }

  std::string out_, log_, terminal_;
  pid_t pid_ = -1;
  int master_ = -1;
};

/// Whether the regular expression is found in the text.
inline bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

struct Finished {
  int code;
  std::string out, log;
};

inline Finished run_caffe_program(const std::string& folder, const std::vector<std::string>& args) {
  CaffeProcess process(folder, args);
  const int code = process.wait();
  return {code, process.out(), process.log()};
}

/// `caffe arguments` under mpirun, as the shell has them, or `program` instead of caffe; it may begin with variables of
/// its environment (env A=B).
inline Finished run_ranks(const std::string& folder, int ranks, const std::string& arguments,
                          const std::string& program = tools_dir() + "/caffe") {
  const std::string command =
      "cd " + folder +
      " && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 XDG_CACHE_HOME=$PWD "
      "OMPI_MCA_mpi_yield_when_idle=1 ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "  // MPI's own
      "mpirun --oversubscribe --bind-to none -n " +
      std::to_string(ranks) + " " + program + " " + arguments + " > out.txt 2> log.txt";
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_file(folder + "/out.txt"), read_file(folder + "/log.txt")};
}

/// Why ranks cannot be processes here; "" where they can.
inline std::string no_processes_as_ranks() {
  if (std::system("command -v mpirun > /dev/null") != 0) return "there is no mpirun";
  if (!world_backend()) return "this build has no MPI";
  return "";
}

}  // namespace robusta::test
