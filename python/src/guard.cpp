// Guards of nets. All counts are changed under the interpreter's lock alone.

#include "guard.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "robusta/error.h"

namespace robusta::python {
namespace {

std::atomic<int> passes = 0;
std::atomic<bool> closing = false;

}  // namespace

Guard::Guard() : process_(getpid()) {}

bool Guard::here() const { return getpid() == process_; }

void Guard::require_no_pass() const {
  if (in_pass_) throw Error(ErrorKind::kUsage, "a pass of this net is under way, and calls this function", "begin none within it");
}

void Guard::enter() {
  if (!here()) {
    throw Error(ErrorKind::kUsage, "the net was built by another process: its threads are not here",
                "build nets after fork, or start processes with spawn");
  }
  const std::thread::id self = std::this_thread::get_id();
  if (depth_ > 0 && driver_ != self)
    throw Error(ErrorKind::kUsage, "the net is in use by another thread", "give every thread a net of its own");
  driver_ = self;
  ++depth_;
}

void Guard::leave() { --depth_; }

Guard::Use::Use(Guard& guard) : guard_(guard) { guard_.enter(); }
Guard::Use::~Use() { guard_.leave(); }

Guard::Pass::Pass(Guard& guard) : guard_(guard) {
  if (closing) throw Error(ErrorKind::kUsage, "the interpreter ends: no pass begins any more");
  guard_.require_no_pass();
  guard_.enter();
  guard_.in_pass_ = true;
  ++passes;
  released_ = PyEval_SaveThread();
}

Guard::Pass::~Pass() {
  PyEval_RestoreThread(released_);
  --passes;
  guard_.in_pass_ = false;
  guard_.leave();
}

void end_passes() {
  closing = true;
  const pybind11::gil_scoped_release released;
  for (int waited = 0; passes > 0 && waited < 60000; ++waited) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool passes_end() { return closing; }

}  // namespace robusta::python
