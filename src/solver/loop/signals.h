/// Requests from outside: signals that ask for a snapshot or an end.
///
/// Handlers only set flags; the training polls them between iterations and batches of a test. One watch per process.
#pragma once

#include <string>

namespace robusta {

enum class Request { kNone, kSnapshot, kStop };  ///< a stop takes a snapshot too

/// "stop", "snapshot" or "none". Throws Error{kUsage} naming `flag`.
Request parse_effect(const std::string& flag, const std::string& value);

/// Installs handlers while it lives: SIGINT and SIGHUP as told; SIGTERM and SIGUSR1, which batch systems send before
/// the wall time ends, stop. A second SIGINT after one that stops ends the process at once with code 130. Until
/// training begins nothing would be lost, and the set-up may hang: signals that stop end the process at once then, but
/// for SIGUSR1, which asks for a good end and is obeyed after the set-up.
class SignalWatch {
 public:
  SignalWatch(Request sigint, Request sighup);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// From now on a stop waits for poll().
  void training_begins();
  /// What was asked for since the last call; a stop stays. Logs the signal.
  Request poll();
};

}  // namespace robusta
