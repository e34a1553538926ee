/// One thread at a time in a net, and in no process but the one that built it.
///
/// A solver and its nets have one guard. Whoever holds the interpreter's lock takes a Use before it touches the net; a
/// pass keeps it while it runs without that lock, so that other threads get an exception instead of half a blob. The
/// thread that runs a pass may look at blobs from callbacks, and begins no other pass there.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <memory>
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
    explicit Use(std::shared_ptr<Guard> guard);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::shared_ptr<Guard> guard_;
  };

  /// Gives the interpreter's lock up for as long as this lives. The interpreter waits for it before it ends
  /// (end_passes). Throws Error{kUsage} when that has begun.
  class Unlocked {
   public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

   private:
    PyThreadState* released_;
  };

  /// A pass: a Use, without the lock, in which no other pass begins.
  class Pass {
   public:
    explicit Pass(std::shared_ptr<Guard> guard);
    ~Pass();

   private:
    std::shared_ptr<Guard> guard_;
    Guard* outer_;
    std::unique_ptr<Unlocked> unlocked_;
  };

  /// While shapes and memory are others than they were a moment ago nobody looks, not even this thread: code of layers
  /// that the library asks for shapes gets an exception.
  class Blind {
   public:
    /// Null: nothing.
    explicit Blind(Guard* guard);
    ~Blind();
    Blind(const Blind&) = delete;
    Blind& operator=(const Blind&) = delete;

   private:
    Guard* guard_;
  };

  /// Of the pass that this thread runs; null: none.
  static Guard* of_this_thread();

  /// Whether this is the process that made it: after fork it is not.
  bool here() const;
  /// Throws Error{kUsage} within a pass, for what a pass does not survive. REQUIRES: a Use.
  void require_no_pass() const;

 private:
  void enter();
  void leave();

  pid_t process_;
  std::thread::id driver_;
  int depth_ = 0, blind_ = 0;
  bool in_pass_ = false;
};

/// While a layer's own code runs in a pass: what may wait for ever, and whom end_passes does not wait for.
class InLayersCode {
 public:
  InLayersCode();
  ~InLayersCode();
};

/// From now on no pass begins, and those of other threads end: the interpreter is about to. Called with its lock held,
/// which is given up while this waits.
void end_passes();
/// Whether end_passes() has been called: what can be ended early ends.
bool passes_end();

}  // namespace robusta::python
