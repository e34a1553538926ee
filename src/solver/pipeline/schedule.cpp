// A timetable follows from the order of each stage and from what a pass needs: forward the same micro-batch's forward
// pass one stage before, backward its backward pass one stage behind.
#include "solver/pipeline/schedule.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "base/nearest.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr const char* kGPipeName = "gpipe";
constexpr const char* kOneForwardOneBackwardName = "1f1b";

/// When the tasks of all stages end; none: that is not known yet.
class Ends {
 public:
  Ends(size_t stages, int micro_batches)
      : forward_(stages, Row(static_cast<size_t>(micro_batches))), backward_(forward_) {}

  std::optional<double>& of(size_t stage, PipelineTask task) {
    return (task.backward ? backward_ : forward_)[stage][static_cast<size_t>(task.micro_batch)];
  }
  /// When the task finds what it needs of another stage.
  std::optional<double> ready(size_t stage, PipelineTask task) {
    const bool first = task.backward ? stage + 1 == forward_.size() : stage == 0;
    if (!first) return of(task.backward ? stage + 1 : stage - 1, task);
    return task.backward ? of(stage, {false, task.micro_batch}) : 0.0;
  }

 private:
  using Row = std::vector<std::optional<double>>;
  std::vector<Row> forward_, backward_;
};

}  // namespace

PipelineOrder pipeline_order_named(const std::string& name) {
  if (name == kGPipeName) return PipelineOrder::kGPipe;
  if (name == kOneForwardOneBackwardName) return PipelineOrder::kOneForwardOneBackward;
  throw Error(ErrorKind::kUsage,
              "-pipeline \"" + name + "\"" + did_you_mean(name, {kGPipeName, kOneForwardOneBackwardName}),
              "known: gpipe, 1f1b");
}

std::string name_of(PipelineOrder order) {
  return order == PipelineOrder::kGPipe ? kGPipeName : kOneForwardOneBackwardName;
}

int passes_in_flight(PipelineOrder order, int stage, int stages, int micro_batches) {
  return order == PipelineOrder::kGPipe ? micro_batches : std::min(stages - stage, micro_batches);
}

std::vector<PipelineTask> tasks_of_stage(PipelineOrder order, int stage, int stages, int micro_batches) {
  const int ahead = passes_in_flight(order, stage, stages, micro_batches);
  std::vector<PipelineTask> tasks;
  for (int m = 0; m < ahead; ++m) tasks.push_back({false, m});
  for (int m = 0; m < micro_batches; ++m) {
    tasks.push_back({true, m});
    if (m + ahead < micro_batches) tasks.push_back({false, m + ahead});
  }
  return tasks;
}

double Timetable::idle(int stage) const {
  double busy = 0;
  for (const Entry& entry : stages[static_cast<size_t>(stage)]) busy += entry.end - entry.begin;
  return length > 0 ? 1 - busy / length : 0;
}

double Timetable::bubble() const {
  double sum = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) sum += idle(static_cast<int>(stage));
  return stages.empty() ? 0 : sum / static_cast<double>(stages.size());
}

Timetable timetable(PipelineOrder order, std::span<const StageWork> work, int micro_batches) {
  const auto count = static_cast<int>(work.size());
  std::vector<std::vector<PipelineTask>> tasks;
  for (int stage = 0; stage < count; ++stage) tasks.push_back(tasks_of_stage(order, stage, count, micro_batches));
  Timetable table{.stages = std::vector<std::vector<Timetable::Entry>>(work.size())};
  Ends ends(work.size(), micro_batches);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < work.size(); ++s) {
      std::vector<Timetable::Entry>& own = table.stages[s];
      if (own.size() == tasks[s].size()) continue;
      const PipelineTask task = tasks[s][own.size()];
      const std::optional<double> ready = ends.ready(s, task);
      if (!ready) continue;
      const double begin = std::max(*ready, own.empty() ? 0 : own.back().end);
      own.push_back({task, begin, begin + (task.backward ? work[s].backward : work[s].forward)});
      ends.of(s, task) = own.back().end;
      table.length = std::max(table.length, own.back().end);
      moved = true;
    }
  }
  assert(std::ranges::all_of(table.stages, [&](const auto& own) { return own.size() == tasks[0].size(); }));
  return table;
}

double bubble_of_equal_stages(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / (micro_batches + stages - 1);
}

}  // namespace robusta
