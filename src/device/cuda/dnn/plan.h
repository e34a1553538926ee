/// A graph made ready to run on one GPU by one engine.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/dnn/engines.h"

namespace robusta::dnn {

/// Immutable; shared by all that compute the same.
class Plan {
 public:
  /// Null, with a reason, where the engine does not serve after all. May compile a kernel: up to a second.
  static std::shared_ptr<const Plan> make(const Target& target, std::shared_ptr<const Graph> graph, Engine engine,
                                          std::string& why_not);

  const std::string& name() const { return engine_.name; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  const Descriptor& get() const { return plan_; }

 private:
  Plan(std::shared_ptr<const Graph> graph, Engine engine) : graph_(std::move(graph)), engine_(std::move(engine)) {}

  std::shared_ptr<const Graph> graph_;
  Engine engine_;
  Descriptor plan_{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  size_t workspace_bytes_ = 0;  ///< scratch of a run
};

/// Which memory a tensor (TensorSpec::id) has in one run.
struct Binding {
  int64_t id;
  void* data;
  friend bool operator==(const Binding&, const Binding&) = default;
};

/// Runs a plan. Remembers how recent bindings are told to cuDNN, so that a steady pass makes no new objects. One owner,
/// one thread.
class Runner {
 public:
  explicit Runner(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// Enqueues on the handle's stream. Throws what check_dnn throws.
  void run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace);

 private:
  struct Pack {
    std::vector<Binding> bindings;
    void* workspace;
    Descriptor variant;
  };
  const Descriptor& pack(std::span<const Binding> bindings, void* workspace);

  std::shared_ptr<const Plan> plan_;
  std::vector<Pack> packs_;  ///< of pointers, for the sets of arrays that were run last
  size_t next_ = 0;          ///< the one to give up
};

/// The plans of one GPU that somebody still uses: nets have many layers alike, and building is slow.
class PlanCache {
 public:
  /// Null when there is none. `key` names graph, engine and rules.
  std::shared_ptr<const Plan> find(const std::string& key) const;
  void add(const std::string& key, const std::shared_ptr<const Plan>& plan) { plans_[key] = plan; }

 private:
  std::map<std::string, std::weak_ptr<const Plan>> plans_;
};

}  // namespace robusta::dnn
