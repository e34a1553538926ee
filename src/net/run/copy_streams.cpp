// Copies run in streams beside the steps; the plan says who waits for whom, and only that is waited for.

#include "net/run/copy_streams.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Page-locked memory is taken from all other programs: asked for only where all processes of this host get theirs.
std::shared_ptr<void> take_host_memory(size_t bytes, const NetOptions& options) {
  const size_t available = available_host_memory();
  const auto processes = static_cast<size_t>(std::max(1, options.lms.processes));
  if (bytes > available / processes) {
    throw Error(ErrorKind::kMemory,
                str("large model support wants ", bytes_text(bytes), " of the host's memory for each of ", processes,
                    processes == 1 ? " process" : " processes", " here, and ", bytes_text(available), " are available"),
                "use -lms auto, which moves the least, a smaller batch, or fewer processes on this host");
  }
  return options.device->host_memory(bytes);
}

}  // namespace

CopyStreams::CopyStreams(const Plan& plan, const NetOptions& options, Stream& compute)
    : plan_(plan),
      compute_(compute),
      host_(take_host_memory(plan.offloading.host_bytes, options)),
      out_(options.device->make_stream()),
      in_(options.device->make_stream()),
      done_(plan.steps.size()) {}

CopyStreams::~CopyStreams() {
  try {
    out_->synchronize();
    in_->synchronize();
  } catch (const std::exception&) {
    // The pass that they belong to has failed, and has said so.
  }
}

Stream& CopyStreams::stream_of(const Step& step) {
  return step.kind == StepKind::kOffload ? *out_ : step.kind == StepKind::kPrefetch ? *in_ : compute_;
}

void CopyStreams::wait_for_needs(StepId index) {
  const Step& step = plan_.steps[index];
  // What was done before this group is done for all of it.
  const auto is_open = [this](StepId needed) { return done_[needed] != nullptr; };
  if (std::ranges::none_of(step.waits, is_open)) return;
  Stream& stream = stream_of(step);
  const bool exposes = !is_copy(step.kind);
  const auto before = exposes ? stream.record_timed() : nullptr;
  for (const StepId needed : step.waits) {
    if (is_open(needed)) stream.wait(done_[needed]);
  }
  if (exposes) (recording_ ? recorded_.waits : exposed_).emplace_back(before, stream.record_timed());
}

void CopyStreams::mark_done(StepId index) {
  const Step& step = plan_.steps[index];
  if (step.awaited) done_[index] = stream_of(step).record();
}

void CopyStreams::copy(StepId index, void* memory, size_t bytes) {
  const Step& step = plan_.steps[index];
  char* host = static_cast<char*>(host_.get()) + step.host_offset;
  apart_ = true;
  if (!recording_) copied_ = true;
  if (step.kind == StepKind::kOffload) {
    out_->copy_to_host(host, memory, bytes);
    (recording_ ? recorded_.bytes_out : totals_.bytes_out) += bytes;
  } else {
    in_->copy_to_device(memory, host, bytes);
    (recording_ ? recorded_.bytes_in : totals_.bytes_in) += bytes;
  }
}

/// Both streams come after what the compute stream has been given, so that nobody has to wait for single steps of it.
void CopyStreams::follow(const std::shared_ptr<Event>& computed) {
  out_->wait(computed);
  in_->wait(computed);
  done_.assign(done_.size(), nullptr);
}

void CopyStreams::come_back() {
  compute_.wait(out_->record());
  compute_.wait(in_->record());
  apart_ = false;
}

void CopyStreams::begin_group(bool recording) {
  // Nothing of a recording can wait for what is outside of it: launch() sees to that.
  if (apart_ && !recording) come_back();
  was_apart_ = apart_;
  recording_ = recording;
  recorded_ = {};
  follow(compute_.record());
}

void CopyStreams::end_group() {
  come_back();
  if (!std::exchange(recording_, false)) return follow(compute_.record());
  apart_ = was_apart_;
  complete_ = std::exchange(recorded_, {});
}

void CopyStreams::launch(Recording& group) {
  if (apart_) come_back();
  Group& last = groups_[&group];
  add_last_launch(last);
  if (complete_) last = *std::exchange(complete_, std::nullopt);
  compute_.launch(group);
  last.done = compute_.record();
  follow(last.done);
  totals_.bytes_out += last.bytes_out;
  totals_.bytes_in += last.bytes_in;
}

void CopyStreams::forget_recordings() {
  for (auto& [recording, group] : groups_) add_last_launch(group);
  groups_.clear();
}

void CopyStreams::add(const Waits& waits) {
  for (const auto& [before, after] : waits) totals_.exposed_ms += after->ms_since(*before);
}

/// Its events are reached anew by the next one.
void CopyStreams::add_last_launch(Group& group) {
  if (!group.done) return;
  try {
    std::exchange(group.done, nullptr)->wait();
    add(group.waits);
  } catch (const std::exception&) {
    // The pass that it belongs to has failed, and has said so.
  }
}

const CopyTotals& CopyStreams::totals() {
  for (auto& [recording, group] : groups_) {
    if (group.done && group.done->reached()) add_last_launch(group);
  }
  totals_.recordings = groups_.size();
  return totals_;
}

void CopyStreams::end_steps(Arena& arena) {
  add(std::exchange(exposed_, {}));
  if (!copied_) return;
  copied_ = false;
  arena.leave_under_way(out_->record());
  arena.leave_under_way(in_->record());
}

}  // namespace robusta
