// Branches know of each other by vector clocks (Mattern 1989, "Virtual Time and Global States of Distributed Systems"):
// that tells whether all of them have come back when a recording ends.

#include "device/sim/sim_recording.h"

#include <algorithm>
#include <utility>

namespace robusta {
namespace {

void learn(std::vector<size_t>& mine, const std::vector<size_t>& theirs) {
  mine.resize(std::max(mine.size(), theirs.size()), 0);
  for (size_t b = 0; b < theirs.size(); ++b) mine[b] = std::max(mine[b], theirs[b]);
}

}  // namespace

size_t SimCapture::join(SimStream& stream) {
  branches_.push_back({.stream = &stream});
  return branches_.size() - 1;
}

void SimCapture::note(size_t branch, Op op) {
  Branch& mine = branches_[branch];
  mine.ops.push_back(std::move(op));
  mine.known.resize(std::max(mine.known.size(), branch + 1), 0);
  mine.known[branch] = mine.ops.size();
}

void SimCapture::append(size_t branch, std::function<void()> work) {
  note(branch, {.kind = Op::Kind::kWork, .work = std::move(work)});
}

std::shared_ptr<SimEvent> SimCapture::mark(size_t branch, const std::shared_ptr<SimCapture>& self, SimState& state) {
  note(branch, {.kind = Op::Kind::kSignal, .event = known_at_.size()});
  known_at_.push_back(branches_[branch].known);
  return std::make_shared<SimEvent>(state, self, known_at_.size() - 1);
}

void SimCapture::wait(size_t branch, const SimEvent& event) {
  learn(branches_[branch].known, known_at_[event.place()]);
  note(branch, {.kind = Op::Kind::kWait, .event = event.place()});
}

void SimCapture::time(size_t branch, std::shared_ptr<SimEvent> event) {
  note(branch, {.kind = Op::Kind::kTime, .timed = std::move(event)});
}

void SimCapture::close() {
  open_ = false;
  for (const Branch& branch : branches_) branch.stream->leave_capture();
}

bool SimCapture::is_joined() const {
  const std::vector<size_t>& known = branches_[0].known;
  for (size_t b = 1; b < branches_.size(); ++b) {
    if ((b < known.size() ? known[b] : 0) < branches_[b].ops.size()) return false;
  }
  return true;
}

SimRecording::SimRecording(std::shared_ptr<const SimCapture> captured, SimState& state)
    : captured_(std::move(captured)) {
  for (size_t b = 1; b < captured_->branches().size(); ++b) threads_.push_back(std::make_unique<SimStream>(state));
}

void SimRecording::launch(SimStream& stream) {
  std::vector<std::shared_ptr<SimEvent>> events;
  for (size_t e = 0; e < captured_->events(); ++e) events.push_back(std::make_shared<SimEvent>(stream.state()));
  const auto& branches = captured_->branches();
  for (size_t b = 0; b < branches.size(); ++b) {
    SimStream& thread = b == 0 ? stream : *threads_[b - 1];
    if (b > 0) thread.forget_failure();
    for (const SimCapture::Op& op : branches[b].ops) {
      switch (op.kind) {
        case SimCapture::Op::Kind::kWork:
          thread.enqueue_work(op.work);
          break;
        case SimCapture::Op::Kind::kSignal:
          thread.enqueue_signal(events[op.event]);
          break;
        case SimCapture::Op::Kind::kWait:
          thread.enqueue_wait(events[op.event]);
          break;
        case SimCapture::Op::Kind::kTime:
          op.timed->rearm();
          thread.enqueue_signal(op.timed);
          break;
      }
    }
  }
}

}  // namespace robusta
