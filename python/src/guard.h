/// One thread at a time in a net, and in no process but the one that built it.
///
/// A solver and its nets have one guard. Whoever holds the interpreter's lock takes a Use before it touches the net; a
/// pass keeps it while it runs without that lock, so that other threads get an exception instead of half a blob. The
/// thread that runs a pass may look at blobs from callbacks, and begins no other pass there.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <thread>

namespace robusta::python {

class Guard {
 public:
  Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Access to blobs and parameters, under the interpreter's lock. Throws Error{kUsage}.
  class Use {
   public:
    explicit Use(Guard& guard);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Guard& guard_;
  };

  /// The same for work that runs without the lock: it is taken again when this ends.
  class Pass {
   public:
    explicit Pass(Guard& guard);
    ~Pass();

   private:
    Guard& guard_;
    PyThreadState* released_;
  };

  /// Whether this is the process that made it: after fork it is not.
  bool here() const;
  /// Throws Error{kUsage} within a pass, for what a pass does not survive. REQUIRES: a Use.
  void require_no_pass() const;

 private:
  void enter();
  void leave();

  pid_t process_;
  std::thread::id driver_;
  int depth_ = 0;
  bool in_pass_ = false;
};

/// From now on no pass begins, and those of other threads end: the interpreter is about to. Called with its lock held,
/// which is given up while this waits.
void end_passes();
/// Whether end_passes() has been called: what can be ended early ends.
bool passes_end();

}  // namespace robusta::python
