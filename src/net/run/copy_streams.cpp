// Copies run in streams beside the steps; the plan says who waits for whom, and only that is waited for.

#include "net/run/copy_streams.h"

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
  if (step.waits.empty()) return;
  Stream& stream = stream_of(step);
  const bool exposes = !is_copy(step.kind);
  const auto before = exposes ? stream.record_timed() : nullptr;
  for (const StepId needed : step.waits) stream.wait(done_[needed]);
  if (exposes) exposed_.emplace_back(before, stream.record_timed());
}

void CopyStreams::mark_done(StepId index) {
  const Step& step = plan_.steps[index];
  if (step.awaited) done_[index] = stream_of(step).record();
}

void CopyStreams::copy(StepId index, void* memory, size_t bytes) {
  const Step& step = plan_.steps[index];
  char* host = static_cast<char*>(host_.get()) + step.host_offset;
  copied_ = true;
  if (step.kind == StepKind::kOffload) {
    out_->copy_to_host(host, memory, bytes);
    totals_.bytes_out += bytes;
  } else {
    in_->copy_to_device(memory, host, bytes);
    totals_.bytes_in += bytes;
  }
}

void CopyStreams::end_steps(Arena& arena) {
  for (const auto& [before, after] : exposed_) totals_.exposed_ms += after->ms_since(*before);
  exposed_.clear();
  if (!copied_) return;
  copied_ = false;
  arena.leave_under_way(out_->record());
  arena.leave_under_way(in_->record());
}

}  // namespace robusta
