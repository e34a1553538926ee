// Guards of nets. All counts but those of the whole process are changed under the interpreter's lock, or by the thread
// that runs the pass.

#include "guard.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "robusta/error.h"

namespace robusta::python {
namespace {

std::atomic<int> passes = 0;         ///< threads that want the lock again
std::atomic<int> in_layers_code = 0;  ///< those of them that may be waiting within a layer's code
std::atomic<bool> closing = false, closed = false;
thread_local Guard* running = nullptr;

/// The threads of other passes are not there in a child.
const int counts_after_fork = pthread_atfork(nullptr, nullptr, [] {
  passes = 0;
  in_layers_code = 0;
});

}  // namespace

Guard::Guard() : process_(getpid()) {}

bool Guard::here() const { return getpid() == process_; }

Guard* Guard::of_this_thread() { return running; }

void Guard::require_no_pass() const {
  if (in_pass_) throw Error(ErrorKind::kUsage, "a pass of this net is under way, and calls this function", "begin none within it");
}

void Guard::enter() {
  if (!here()) {
    throw Error(ErrorKind::kUsage, "this was built by another process, whose threads are not here",
                "build nets after fork, or start processes with spawn");
  }
  const std::thread::id self = std::this_thread::get_id();
  if (depth_ > 0 && driver_ != self)
    throw Error(ErrorKind::kUsage, "the net is in use by another thread", "give every thread a net of its own");
  if (blind_ > 0) {
    throw Error(ErrorKind::kUsage, "the net is being planned: its blobs have no memory yet",
                "look at other blobs than bottom and top in forward(), not in setup() or reshape()");
  }
  driver_ = self;
  ++depth_;
}

void Guard::leave() { --depth_; }

Guard::Use::Use(std::shared_ptr<Guard> guard) : guard_(std::move(guard)) { guard_->enter(); }
Guard::Use::~Use() { guard_->leave(); }

Guard::Unlocked::Unlocked() {
  if (closing) throw Error(ErrorKind::kUsage, "the interpreter ends: no pass begins any more");
  ++passes;
  released_ = PyEval_SaveThread();
}

Guard::Unlocked::~Unlocked() {
  // Python ends threads that want its lock after the interpreter, in ways that C++ does not survive.
  while (closed) std::this_thread::sleep_for(std::chrono::hours(1));
  PyEval_RestoreThread(released_);
  --passes;
}

Guard::Pass::Pass(std::shared_ptr<Guard> guard) : guard_(std::move(guard)), outer_(running) {
  guard_->require_no_pass();
  guard_->enter();
  try {
    unlocked_ = std::make_unique<Unlocked>();
  } catch (...) {
    guard_->leave();
    throw;
  }
  guard_->in_pass_ = true;
  running = guard_.get();
}

Guard::Pass::~Pass() {
  running = outer_;
  unlocked_ = nullptr;
  guard_->in_pass_ = false;
  guard_->leave();
}

Guard::Blind::Blind(Guard* guard) : guard_(guard) {
  if (guard_) ++guard_->blind_;
}
Guard::Blind::~Blind() {
  if (guard_) --guard_->blind_;
}

InLayersCode::InLayersCode() { ++in_layers_code; }
InLayersCode::~InLayersCode() { --in_layers_code; }

void end_passes() {
  closing = true;
  constexpr int kLongest = 60'000, kInLayersCode = 2'000;  // milliseconds
  const pybind11::gil_scoped_release released;
  int in_layers_alone = 0;
  for (int waited = 0; passes > 0 && waited < kLongest && in_layers_alone < kInLayersCode; ++waited) {
    in_layers_alone = passes <= in_layers_code ? in_layers_alone + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  closed = passes > 0;
}

bool passes_end() { return closing; }

}  // namespace robusta::python
