// Tasks as the updater makes them where nothing is clipped or averaged, on addresses alone.

#include "solver/update/update_traffic.h"

#include <deque>
#include <string>

#include "net/net.h"
#include "solver/update/update_table.h"

namespace robusta {

TrafficCounter::Counted count_update(const Net& net, const SolverDef& solver, TrafficCounter& counter) {
  const std::unique_ptr<UpdateRule> rule = make_update_rule(solver);
  const std::string device_kind = net.options().device->kernel_kind();
  std::deque<std::vector<void*>> histories;
  std::vector<UpdateTask> tasks;
  for (const ParamPtr& param : net.params()) {
    if (param->lr_mult == 0) continue;
    const size_t bytes = param->desc.bytes();
    for (std::vector<void*>& own = histories.emplace_back(); static_cast<int>(own.size()) < rule->histories();) {
      own.push_back(counter.address(bytes));
    }
    UpdateTask task;
    task.count = param->desc.count();
    task.weights = counter.address(bytes);
    task.gradient = counter.address(bytes);
    task.history = histories.back();
    task.stream = &counter.stream();
    task.kernel_kind = device_kind;
    tasks.push_back(task);
  }
  const std::unique_ptr<UpdateTable> table = UpdateTable::make(solver, *net.options().device);
  if (!table || tasks.empty()) return counter.count_in(DType::kF32, [&] { rule->apply(tasks); });
  table->set(counter.stream(), tasks);
  return counter.count_in(DType::kF32, [&] { table->launch(counter.stream()); });
}

}  // namespace robusta
