/// Which steps of a pass are launched together, and their recordings.
///
/// Steps in a row that need nothing of the host are a segment. Its steps are launched one by one the first time, as
/// libraries then load code and take memory; the second time they are recorded (Stream::begin_recording), and from then
/// on a segment costs the host one call. What a recording holds by value - addresses, the seed, the batch, whether
/// gradients accumulate, what comes before the steps - is compared or forgotten when it changes; what differs in each
/// pass, the position, kernels read in the device's memory. Copies of large model support belong to segments
/// (copy_streams.h), unless somebody hears of gradients: segments would end in the midst of copies, and all of these be
/// waited for there. One thread drives it, the executor's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

class GradientSink;

/// What has become of the wish to record a net's passes.
struct GraphUse {
  int recordings = 0, steps = 0;  ///< steps in them
  std::string why_not;            ///< nothing is recorded; "": it may be
};

/// For the log.
std::string describe_graphs(const GraphUse& use);

class PassGraphs {
 public:
  /// Keeps the plan.
  PassGraphs(const Plan& plan, const Device& device);

  bool on() const { return use_.why_not.empty(); }
  /// Whether the step belongs to a segment, which is recorded.
  bool records(StepId step, const Pass& pass, const GradientSink* sink) const;
  /// Whether what is enqueued now will only run when its recording is launched.
  bool recording() const { return recording_; }
  const GraphUse& use() const { return use_; }

  /// Where the segment ends that begins at a step: behind that step alone where it cannot be recorded. A step that
  /// completes what `sink` waits for ends one, too.
  StepId end_of_segment(StepId begin, StepId end, const Pass& pass, const GradientSink* sink) const;

  /// What a segment is besides its steps.
  struct Form {
    bool accumulates = false;              ///< gradients are added to those that there are
    bool begins = false, prelude = false;  ///< the pass begins with it; with work of the trainer's before (PassPrelude)
    friend bool operator==(const Form&, const Form&) = default;
  };
  struct Steps {
    StepId begin, end;
    friend bool operator==(const Steps&, const Steps&) = default;
  };
  /// What is to be launched in the place of a segment's steps; null: they are to be enqueued. `enqueue` does that, for
  /// a recording. REQUIRES: records() its steps.
  Recording* recording_of(Stream& stream, const Steps& steps, const Form& form, const Pass& pass,
                          const std::function<void()>& enqueue);
  /// Drops all recordings: addresses have changed.
  void forget();
  /// `told` is called before recordings are dropped, whatever the cause.
  void before_forgetting(std::function<void()> told) { before_forgetting_ = std::move(told); }

 private:
  struct Segment {
    Steps steps;
    Form form;
    bool ran = false;
    std::unique_ptr<Recording> recording = nullptr;
  };

  bool recordable(const Step& step, const Pass& pass) const;
  Segment& segment_of(const Steps& steps, const Form& form);
  std::unique_ptr<Recording> record(Stream& stream, const Steps& steps, const std::function<void()>& enqueue);

  const Plan& plan_;
  std::vector<Segment> segments_;
  uint64_t seed_ = 0;  ///< that recordings hold by value: with another one they are made anew
  int64_t batch_ = 0;
  GraphUse use_;
  bool recording_ = false;
  std::function<void()> before_forgetting_;
};

}  // namespace robusta
