// An engine made ready: its workspace is known, and it runs on any pointers of the right form.

#include "device/cuda/dnn/plan.h"

#include <algorithm>

#include "device/cuda/dnn/dnn_error.h"

namespace robusta::dnn {
namespace {

Descriptor make_variant(std::span<const Binding> bindings, void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> addresses;
  for (const Binding& binding : bindings) {
    ids.push_back(binding.id);
    addresses.push_back(binding.data);
  }
  Descriptor variant(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  variant.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  variant.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  variant.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  variant.finalize();
  return variant;
}

}  // namespace

std::shared_ptr<const Plan> Plan::make(const Target& target, std::shared_ptr<const Graph> graph, Engine engine,
                                       std::string& why_not) {
  std::shared_ptr<Plan> plan(new Plan(std::move(graph), std::move(engine)));
  target.hand_to_plan(plan->plan_);
  plan->plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan->engine_.config);
  if (!plan->plan_.try_finalize(why_not)) return nullptr;
  plan->workspace_bytes_ = static_cast<size_t>(plan->plan_.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return plan;
}

const Descriptor& Runner::pack(std::span<const Binding> bindings, void* workspace) {
  for (const Pack& pack : packs_) {
    if (pack.workspace == workspace && std::ranges::equal(pack.bindings, bindings)) return pack.variant;
  }
  constexpr size_t kMost = 8;  // the bottoms of a layer, and arenas that alternate
  Pack pack{{bindings.begin(), bindings.end()}, workspace, make_variant(bindings, workspace)};
  if (packs_.size() < kMost) return packs_.emplace_back(std::move(pack)).variant;
  next_ = (next_ + 1) % kMost;
  return (packs_[next_] = std::move(pack)).variant;
}

void Runner::run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace) {
  check_dnn(cudnnBackendExecute(handle, plan_->get().get(), pack(bindings, workspace).get()), "cudnnBackendExecute");
}

std::shared_ptr<const Plan> PlanCache::find(const std::string& key) const {
  const auto found = plans_.find(key);
  return found == plans_.end() ? nullptr : found->second.lock();
}

}  // namespace robusta::dnn
