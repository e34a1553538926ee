/// How a gradient changes a parameter: the contract of update rules, and their registry.
///
/// With g = gradient_scale * gradient + decay (unless decay is decoupled), each rule turns (weight, g, histories) into
/// the new weight and histories. A rule has no state of its own: what it keeps from one iteration to the next lies in
/// histories, which the Updater owns and a .solverstate holds. A rule is one folder in rules/ and registers itself
/// (register_rule.h); nothing else names it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "schema/source.h"
#include "tensor/dtype.h"

namespace robusta {

/// What weight decay takes from the weights, by regularization_type.
enum class Regularization {
  kL2,         ///< decay * w is part of the gradient
  kL1,         ///< decay * sign(w) is
  kDecoupled,  ///< "WD", NVIDIA's: the weights lose rate * decay * w beside the rule's step, which knows nothing of it
};

/// One parameter in one iteration. Arrays have `count` elements of `dtype`.
struct UpdateTask {
  DType dtype = DType::kF32;
  int64_t count = 0;
  void* weights = nullptr;
  const void* gradient = nullptr;
  std::span<void* const> history = {};  ///< as many arrays as the rule has histories; outlives the task
  double gradient_scale = 1;            ///< clipping x 1/iter_size
  double rate = 0;                      ///< learning rate x lr_mult
  double decay = 0;                     ///< weight_decay x decay_mult
  Regularization regularization = Regularization::kL2;
  bool adapts = false;      ///< the step is scaled to the norm of the weights; of rules that adapt alone
  void* scratch = nullptr;  ///< kTrustScratch bytes of the device, for one task after the other; if it adapts
  double momentum = 0;
  int64_t iteration = 0;                 ///< finished iterations before this one
  Stream* stream = nullptr;              ///< of the device whose memory the arrays are in; null: the host
  std::string_view kernel_kind = "cpu";  ///< of that device, in text that outlives the task
};

/// By which norm LARC (local_rates.h) sets the rates of a rule.
enum class LarcNorm {
  kNone,      ///< by none: its steps do not grow with the gradient
  kGradient,  ///< of the gradient
  kHistory,   ///< of the first history, along which it steps
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Arrays per parameter that are kept from one iteration to the next; zero before the first. In a .solverstate all
  /// parameters' first arrays come first, then all second ones.
  virtual int histories() const = 0;
  /// True when the history moves even where the rate is 0 (it does not hold the rate): then Caffe's files have a
  /// history that is not zero for decayed parameters with lr_mult 0.
  virtual bool history_moves_without_rate() const = 0;
  virtual LarcNorm larc_norm() const = 0;
  /// Whether it can scale steps to the norms of weights (trust.h).
  virtual bool adapts() const = 0;
  /// All tasks are of one device. In few launches where that is a GPU.
  virtual void apply(std::span<const UpdateTask> tasks) const = 0;
};

/// The rule named by `type`. Throws Error{kConfig} for an unknown name and for settings the rule cannot have,
/// Error{kUnsupported} for rules of forks that are not in this build.
std::unique_ptr<UpdateRule> make_update_rule(const SolverDef& solver);

/// The types of all rules, sorted.
std::vector<std::string> update_rule_types();

/// Makes a rule after it has checked its settings, which it reads from the solver's message.
using RuleFactory = std::function<std::unique_ptr<UpdateRule>(const SolverDef&)>;
bool register_update_rule(const std::string& type, RuleFactory make);

/// Applies a rule to arrays in the memory of a device.
using DeviceRule = void (*)(std::span<const UpdateTask> tasks, const caffe::SolverParameter& settings);
bool register_device_rule(const std::string& kernel_kind, const std::string& type, DeviceRule apply);
/// That of a kind of device. Throws Error{kUnsupported} where the device has none.
DeviceRule device_rule(std::string_view kernel_kind, const std::string& type);

/// A rule whose tasks' numbers are read in a device's memory, so that an update can be launched as it was recorded
/// (update_table.h). All of a device in one launch.
struct TabledRule {
  /// Of the tasks together: packs of all of them go by chunks, each of one task.
  struct Table {
    const void* entries;             ///< one per task
    const void* entries_on_host;     ///< the same
    const int32_t *owners, *firsts;  ///< per chunk its task; per task its first chunk
    const int32_t* active;           ///< 0: nothing is to be done
    int64_t chunks;
    int tasks;
  };
  size_t entry_bytes;
  int64_t chunk_elements;
  /// Makes the entry of a task, which is copied to the device.
  void (*fill)(const UpdateTask& task, const caffe::SolverParameter& settings, void* entry);
  void (*launch)(Stream* stream, const Table& table);
};
bool register_tabled_rule(const std::string& kernel_kind, const std::string& type, const TabledRule& rule);
/// Null where there is none: on the host, and for rules that adapt.
const TabledRule* find_tabled_rule(std::string_view kernel_kind, const std::string& type);

/// For rules without momentum: throws Error{kConfig} unless it is 0.
void require_no_momentum(const SolverDef& solver);

}  // namespace robusta
