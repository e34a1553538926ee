// The public face of the watch: every call is passed on to the thread, or does nothing in a job of one rank.

#include "comm/liveness/liveness_watch.h"

#include <utility>

#include "comm/liveness/exit_file.h"
#include "comm/liveness/watch_thread.h"

namespace robusta {

LivenessWatch::LivenessWatch(Communicator& world, LivenessOptions options) : rank_(world.rank()) {
  if (world.size() > 1 && options.timeout_s > 0)
    thread_ = std::make_unique<liveness::WatchThread>(world, std::move(options));
}

LivenessWatch::~LivenessWatch() = default;

void LivenessWatch::progress(int64_t iteration) {
  if (thread_) thread_->board.iteration(iteration);
}

void LivenessWatch::doing(std::string_view what, Activity activity, double limit_s) {
  if (thread_) thread_->board.note(what, activity, limit_s);
}

Activity LivenessWatch::switch_to(Activity activity) {
  return thread_ ? thread_->board.switch_to(activity) : Activity::kComputing;
}

void LivenessWatch::touch() {
  if (thread_) thread_->board.touch();
}

Failure LivenessWatch::announce_end(int code, const std::string& text) {
  if (thread_) return thread_->announce_end(code, text);
  write_exit_file(code, rank_, text);
  Failure failure;
  failure.code = code;
  failure.rank = rank_;
  failure.own = true;
  failure.line = text;
  return failure;
}

void LivenessWatch::goodbye() {
  if (thread_) thread_->goodbye();
}

bool LivenessWatch::peer_failed() const { return thread_ && thread_->failed.load(std::memory_order_relaxed); }

LivenessWatch::Straggler LivenessWatch::straggler() const {
  if (!thread_) return {};
  const liveness::Status status = thread_->straggler();
  return {status.rank.number(), status.iteration, status.age, status.doing};
}

}  // namespace robusta
