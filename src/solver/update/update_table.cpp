// What never changes - which chunk is of which task - is copied once, when the first tasks are known.

#include "solver/update/update_table.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "memory/placement.h"

namespace robusta {
namespace {

/// Of the entries, behind the flag.
constexpr size_t kEntries = kMemoryAlignment;

}  // namespace

std::unique_ptr<UpdateTable> UpdateTable::make(const SolverDef& solver, Device& device) {
  const TabledRule* const rule = find_tabled_rule(device.kernel_kind(), solver.param.type());
  return rule ? std::unique_ptr<UpdateTable>(new UpdateTable(solver, device, *rule)) : nullptr;
}

bool UpdateTable::takes(std::span<const UpdateTask> tasks) const {
  return !ready() || std::ranges::equal(tasks, counts_, {}, &UpdateTask::count);
}

void UpdateTable::set(Stream& stream, std::span<const UpdateTask> tasks) {
  assert(takes(tasks));
  if (!ready()) take_memory(stream, tasks);
  const int32_t active = 1;
  std::memcpy(wanted_.data(), &active, sizeof active);
  for (size_t t = 0; t < tasks.size(); ++t) {
    rule_.fill(tasks[t], solver_.param, wanted_.data() + kEntries + t * rule_.entry_bytes);
  }
  send(stream);
}

void UpdateTable::set_idle(Stream& stream) {
  const int32_t idle = 0;
  std::memcpy(wanted_.data(), &idle, sizeof idle);
  send(stream);
}

void UpdateTable::launch(Stream& stream) const {
  const TabledRule::Table table{.entries = in_device<const void>(kEntries),
                                .entries_on_host = wanted_.data() + kEntries,
                                .owners = in_device<const int32_t>(owners_),
                                .firsts = in_device<const int32_t>(firsts_),
                                .active = in_device<const int32_t>(0),
                                .chunks = chunks_,
                                .tasks = static_cast<int>(counts_.size())};
  stream.run([&rule = rule_, &stream, table] { rule.launch(&stream, table); });
}

void UpdateTable::take_memory(Stream& stream, std::span<const UpdateTask> tasks) {
  std::vector<int32_t> firsts, owners;
  for (const UpdateTask& task : tasks) {
    firsts.push_back(static_cast<int32_t>(owners.size()));
    const int64_t chunks = (task.count + rule_.chunk_elements - 1) / rule_.chunk_elements;
    owners.insert(owners.end(), static_cast<size_t>(chunks), static_cast<int32_t>(counts_.size()));
    counts_.push_back(task.count);
  }
  chunks_ = static_cast<int64_t>(owners.size());
  wanted_.assign(kEntries + tasks.size() * rule_.entry_bytes, 0);
  firsts_ = align_up(wanted_.size());
  owners_ = firsts_ + align_up(firsts.size() * sizeof(int32_t));
  memory_ = DeviceBuffer(device_, owners_ + align_up(owners.size() * sizeof(int32_t)));
  ring_ = std::make_unique<PinnedRing>(device_, wanted_.size());
  stream.copy_to_device(in_device<void>(firsts_), firsts.data(), firsts.size() * sizeof(int32_t));
  stream.copy_to_device(in_device<void>(owners_), owners.data(), owners.size() * sizeof(int32_t));
  stream.synchronize();
}

void UpdateTable::send(Stream& stream) {
  if (wanted_ == sent_) return;
  char* const host = ring_->next();
  std::memcpy(host, wanted_.data(), wanted_.size());
  stream.copy_to_device(memory_.data(), host, wanted_.size());
  ring_->busy_until(stream.record());
  sent_ = wanted_;
}

}  // namespace robusta
