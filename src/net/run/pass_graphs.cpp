// Segments are found by walking the steps; a recording is kept for each that has run once.
//
// What always holds: a pass gives the same bits launched from recordings and step by step.

#include "net/run/pass_graphs.h"

#include <algorithm>

#include "base/str.h"
#include "net/run/gradient_sink.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string why_nothing(const Plan& plan, const Device& device) {
  if (!device.records_graphs()) return "this device has none";
  if (!device.graphs()) return "switched off";
  if (device.kernel_kind() == "cpu") return "the kernels are the processor's";
  return "";
}

}  // namespace

std::string describe_graphs(const GraphUse& use) {
  if (!use.why_not.empty()) return "CUDA graphs: none: " + use.why_not;
  return str("CUDA graphs: ", use.recordings, " for ", use.steps, " steps");
}

PassGraphs::PassGraphs(const Plan& plan, const Device& device) : plan_(plan) {
  use_.why_not = why_nothing(plan, device);
}

bool PassGraphs::records(StepId step, const Pass& pass, const GradientSink* sink) const {
  return on() && recordable(plan_.steps[step], pass) && !(sink && plan_.offloading.moved > 0);
}

bool PassGraphs::recordable(const Step& step, const Pass& pass) const {
  if (step.kind == StepKind::kSource) return false;
  if (step.reorder || is_copy(step.kind)) return true;
  const Booking& booking = plan_.units[step.unit].kernel->booking();
  return !booking.host_work && !(pass.ranks && booking.asks_ranks);
}

StepId PassGraphs::end_of_segment(StepId begin, StepId end, const Pass& pass, const GradientSink* sink) const {
  const auto waits = [&](const Step& step) {
    return sink && std::ranges::any_of(step.ready, [&](const Param* param) { return sink->urgent(*param); });
  };
  StepId s = begin;
  for (; s < end && records(s, pass, sink); ++s) {
    if (waits(plan_.steps[s])) return s + 1;
  }
  return std::max(s, begin + 1);
}

PassGraphs::Segment& PassGraphs::segment_of(const Steps& steps, const Form& form) {
  for (Segment& segment : segments_) {
    if (segment.steps == steps && segment.form == form) return segment;
  }
  return segments_.emplace_back(Segment{.steps = steps, .form = form});
}

Recording* PassGraphs::recording_of(Stream& stream, const Steps& steps, const Form& form, const Pass& pass,
                                    const std::function<void()>& enqueue) {
  if (pass.seed != seed_ || pass.batch != batch_) forget();
  seed_ = pass.seed;
  batch_ = pass.batch;
  Segment& segment = segment_of(steps, form);
  if (segment.ran && !segment.recording) segment.recording = record(stream, steps, enqueue);
  segment.ran = true;
  return segment.recording.get();
}

/// Null where it is refused: nothing has run then, and all goes on without.
std::unique_ptr<Recording> PassGraphs::record(Stream& stream, const Steps& steps,
                                              const std::function<void()>& enqueue) {
  // Kernels may keep copies of parameters that have not changed: here they renew them, and so does each launch.
  stream.run([this, steps] {
    for (StepId s = steps.begin; s < steps.end; ++s) {
      if (is_copy(plan_.steps[s].kind)) continue;
      const Unit& unit = plan_.units[plan_.steps[s].unit];
      for (Param* param : unit.params) ++param->version;
    }
  });
  try {
    stream.begin_recording();
    recording_ = true;
    enqueue();
    std::unique_ptr<Recording> recording = stream.end_recording();
    recording_ = false;
    ++use_.recordings;
    use_.steps += steps.end - steps.begin;
    return recording;
  } catch (const Error& error) {
    recording_ = false;
    stream.abandon_recording();
    use_.why_not = error.cause();
    return nullptr;
  } catch (...) {
    recording_ = false;
    stream.abandon_recording();
    throw;
  }
}

void PassGraphs::forget() {
  if (before_forgetting_) before_forgetting_();
  segments_.clear();
  use_.recordings = use_.steps = 0;
}

}  // namespace robusta
