// Both directions are planned greedily: copies out begin when their content is made, copies in as late as hides them.
// Predictions follow the three engines of a device, its steps and its copies each way, through one pass.

#include "memory/transfers.h"

#include <algorithm>

namespace robusta {
namespace {

/// The copies in the order in which each engine runs them.
struct Queues {
  std::vector<Absence*> out, in;
};

Queues queues_of(std::vector<Absence>& absences) {
  Queues queues;
  for (Absence& absence : absences) {
    if (absence.copied_out) queues.out.push_back(&absence);
    if (!absence.repeated) queues.in.push_back(&absence);
  }
  std::stable_sort(queues.out.begin(), queues.out.end(),
                   [](const Absence* a, const Absence* b) { return a->after < b->after; });
  std::stable_sort(queues.in.begin(), queues.in.end(), [](const Absence* a, const Absence* b) {
    return a->fetched != b->fetched ? a->fetched < b->fetched : a->before < b->before;
  });
  return queues;
}

/// When every step begins if none waits, repeated steps included; behind them the end.
IdVector<StepId, double> beginnings(const ResidencyProblem& problem, const std::vector<Absence>& absences) {
  IdVector<StepId, double> seconds = problem.step_seconds;
  for (const Absence& absence : absences) {
    if (!absence.repeated) continue;
    seconds[absence.before] += problem.blocks[absence.block].repeat->seconds;
  }
  IdVector<StepId, double> begin{0.0};
  for (const double s : seconds) begin.push_back(begin.back() + s);
  return begin;
}

double bytes_of(const ResidencyProblem& problem, const Absence& absence) {
  return static_cast<double>(problem.blocks[absence.block].bytes);
}

/// The last step that begins before (or at, if `inclusive`) this time.
StepId step_at(const IdVector<StepId, double>& begin, double time, bool inclusive) {
  const auto last = begin.end() - 1;
  const auto next =
      inclusive ? std::upper_bound(begin.begin(), last, time) : std::lower_bound(begin.begin(), last, time);
  return std::max(StepId(0), StepId(next - begin.begin()) - 1);
}

/// One walk over the steps of a pass: the clocks of the steps and of both copy engines.
class Timeline {
 public:
  explicit Timeline(size_t steps) : released_(steps, 0), arrived_(steps, 0) {}

  void free_memory_before(StepId step) { freed_ = std::max(freed_, released_[step]); }
  void copy_in(const Absence& absence, double seconds) {
    in_engine_ = std::max({in_engine_, now_, freed_}) + seconds;
    arrived_[absence.before] = std::max(arrived_[absence.before], in_engine_);
  }
  void run(StepId step, double seconds) {
    const double ready = std::max({now_, freed_, arrived_[step]});
    waited_ += ready - now_;
    now_ = ready + seconds;
  }
  void copy_out(const Absence& absence, double seconds) {
    out_engine_ = std::max(out_engine_, now_) + seconds;
    released_[absence.released + 1] = std::max(released_[absence.released + 1], out_engine_);
  }
  double waited() const { return waited_; }

 private:
  double now_ = 0, out_engine_ = 0, in_engine_ = 0, freed_ = 0, waited_ = 0;
  IdVector<StepId, double> released_;  ///< before a step may begin: memory that copies out have held until then
  IdVector<StepId, double> arrived_;   ///< and contents that it needs
};

}  // namespace

void widen_copies(const ResidencyProblem& problem, std::vector<Absence>& absences, IdVector<StepId, size_t>& alive,
                  size_t limit) {
  const IdVector<StepId, double> begin = beginnings(problem, absences);
  const Queues queues = queues_of(absences);
  const auto take = [&](size_t bytes, StepId step) {
    size_t& now = alive[step];
    if (bytes > limit || now > limit - bytes) return false;
    now += bytes;
    return true;
  };

  double engine = 0;
  for (Absence* absence : queues.out) {
    engine = std::max(engine, begin[absence->after + 1]) + bytes_of(problem, *absence) / problem.out_rate;
    const StepId done = std::min(step_at(begin, engine, false), absence->before - 1);
    const size_t bytes = problem.blocks[absence->block].bytes;
    while (absence->released < done && take(bytes, absence->released + 1)) ++absence->released;
  }

  // From the last needed back to the first: each has to be done before it is needed and before the next one begins.
  std::vector<StepId> wanted(queues.in.size());
  engine = begin.back();
  for (size_t i = queues.in.size(); i-- > 0;) {
    const Absence& absence = *queues.in[i];
    engine = std::min(engine, begin[absence.before]) - bytes_of(problem, absence) / problem.in_rate;
    wanted[i] = step_at(begin, engine, true);
  }
  for (size_t i = 0; i < queues.in.size(); ++i) {
    Absence& absence = *queues.in[i];
    const StepId earliest = std::max(wanted[i], absence.released + 1);
    const size_t bytes = problem.blocks[absence.block].bytes;
    while (absence.fetched > earliest && take(bytes, absence.fetched - 1)) --absence.fetched;
  }
}

double exposed_seconds(const ResidencyProblem& problem, const std::vector<Absence>& absences) {
  std::vector<Absence> copies = absences;
  const Queues queues = queues_of(copies);
  const IdVector<StepId, double> begin = beginnings(problem, absences);
  Timeline time(begin.size());
  auto out = queues.out.begin(), in = queues.in.begin();
  for (StepId s(0); s + 1 < begin.end_id(); ++s) {
    time.free_memory_before(s);
    for (; in != queues.in.end() && (*in)->fetched == s; ++in) {
      time.copy_in(**in, bytes_of(problem, **in) / problem.in_rate);
    }
    time.run(s, begin[s + 1] - begin[s]);
    for (; out != queues.out.end() && (*out)->after == s; ++out) {
      time.copy_out(**out, bytes_of(problem, **out) / problem.out_rate);
    }
  }
  return time.waited();
}

}  // namespace robusta
