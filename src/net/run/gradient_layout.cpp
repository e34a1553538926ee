// Buckets are values of the pass: alive from the first step that writes one of their gradients.
#include "net/run/gradient_layout.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "memory/placement.h"

namespace robusta {
namespace {

/// Between its first contribution and its last one.
struct Written {
  StepId first, last;
};

std::unordered_map<const Param*, Written> written_by(const Plan& plan) {
  std::unordered_map<const Param*, Written> written;
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    for (size_t i = 0; i < step.first_part.size(); ++i) {
      if (step.first_part[i]) written[plan.units[step.unit].params[i]] = {s, s};
    }
    for (const Param* param : step.ready) written.at(param).last = s;
  }
  return written;
}

size_t bytes_of(const std::vector<Param*>& params, size_t begin, size_t end) {
  size_t bytes = 0;
  for (size_t i = begin; i < end; ++i) bytes += align_up(params[i]->desc.bytes());
  return bytes;
}

/// `ends`: of the buckets, in numbers of parameters.
std::vector<Lifetime> lifetimes(const std::vector<Param*>& params, const std::vector<size_t>& ends, const Plan& plan) {
  const auto written = written_by(plan);
  std::vector<Lifetime> lives;
  size_t begin = 0;
  for (const size_t end : ends) {
    Lifetime life{.bytes = bytes_of(params, begin, end), .first = plan.steps.end_id(), .last = StepId(0)};
    for (size_t i = begin; i < end; ++i) life.first = std::min(life.first, written.at(params[i]).first);
    life.last = written.at(params[end - 1]).last;
    lives.push_back(life);
    begin = end;
  }
  // Each is summed while the next one is computed.
  for (size_t b = 0; b + 1 < lives.size(); ++b) lives[b].last = lives[b + 1].last;
  return lives;
}

}  // namespace

size_t completed_by(const Plan& plan) {
  size_t completed = 0;
  for (const Step& step : plan.steps) completed += step.ready.size();
  return completed;
}

GradientLayout lay_out_gradients(const std::vector<Param*>& params, size_t completed, const Plan& plan,
                                 const NetOptions& options) {
  assert(completed <= params.size());
  GradientLayout layout;
  std::vector<size_t> ends{completed};
  Placement placed{{0}, bytes_of(params, 0, completed)};
  if (options.gradient_buckets && completed > 0) {
    ends = options.gradient_buckets({params.begin(), params.begin() + static_cast<std::ptrdiff_t>(completed)});
    assert(!ends.empty() && ends.back() == completed);
    placed = place(lifetimes(params, ends, plan));
  }
  size_t bucket = 0, at = placed.offsets[0];
  for (size_t i = 0; i < completed; ++i) {
    if (i == ends[bucket]) at = placed.offsets[++bucket];
    layout.offsets.push_back(at);
    at += align_up(params[i]->desc.bytes());
  }
  layout.tail = placed.bytes;
  layout.bytes = layout.tail + align_up(options.gradient_tail);
  for (size_t i = completed; i < params.size(); ++i) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += align_up(params[i]->desc.bytes());
  }
  return layout;
}

}  // namespace robusta
