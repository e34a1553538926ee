// Branches know of each other by vector clocks (Mattern 1989, "Virtual Time and Global States of Distributed Systems"):
// that tells whether all of them have come back when a recording ends.

#include "device/sim/sim_capture.h"

#include <algorithm>
#include <utility>

namespace robusta {
namespace {

void learn(std::vector<size_t>& mine, const std::vector<size_t>& theirs) {
  mine.resize(std::max(mine.size(), theirs.size()), 0);
  for (size_t b = 0; b < theirs.size(); ++b) mine[b] = std::max(mine[b], theirs[b]);
}

}  // namespace

size_t SimCapture::join() {
  branches_.emplace_back();
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

bool SimCapture::is_joined() const {
  const std::vector<size_t>& known = branches_[0].known;
  for (size_t b = 1; b < branches_.size(); ++b) {
    if ((b < known.size() ? known[b] : 0) < branches_[b].ops.size()) return false;
  }
  return true;
}

}  // namespace robusta
