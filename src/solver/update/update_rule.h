/// How a gradient changes a parameter: one fused pass over plain arrays per parameter and iteration.
///
/// With g = gradient_scale * gradient + decay, each rule turns (weight, g, history) into the new weight and history,
/// reading and writing every array once: large layers are bound by memory. A rule has no state of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "schema/source.h"
#include "tensor/dtype.h"

namespace robusta {

/// One parameter in one iteration. Arrays have `count` elements of `dtype`.
struct UpdateTask {
  DType dtype = DType::kF32;
  int64_t count = 0;
  void* weights = nullptr;
  const void* gradient = nullptr;
  void* history[2] = {nullptr, nullptr};  ///< as many as the rule wants
  double gradient_scale = 1;              ///< clipping x 1/iter_size
  double rate = 0;                        ///< learning rate x lr_mult
  double decay = 0;                       ///< weight_decay x decay_mult
  bool l1 = false;                        ///< decay by sign(w) instead of w
  double momentum = 0;
  int64_t iteration = 0;                 ///< finished iterations before this one
  Stream* stream = nullptr;              ///< of the device whose memory the arrays are in; null: the host
  std::string_view kernel_kind = "cpu";  ///< of that device
};

/// What the solver's file says of a rule; each takes what it knows.
struct RuleSettings {
  double keep = 0;   ///< share of a running mean of squares that stays: rms_decay, momentum2
  double delta = 0;  ///< keeps a quotient finite
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Arrays per parameter that must be kept from one iteration to the next; zero before the first.
  virtual int histories() const = 0;
  /// True when the history moves even where the rate is 0 (it does not hold the rate): then Caffe's files have a
  /// history that is not zero for decayed parameters with lr_mult 0.
  virtual bool history_moves_without_rate() const = 0;
  /// All tasks are of one device. In few launches where that is a GPU.
  virtual void apply(std::span<const UpdateTask> tasks) const = 0;
};

/// The rule named by `type`. Throws Error{kConfig} for an unknown name and for settings the rule cannot have,
/// Error{kUnsupported} for rules of forks that are not in this build.
std::unique_ptr<UpdateRule> make_update_rule(const SolverDef& solver);

/// Applies a rule to arrays in the memory of a device.
using DeviceRule = void (*)(std::span<const UpdateTask> tasks, const RuleSettings& settings);
bool register_device_rule(const std::string& kernel_kind, const std::string& rule, DeviceRule apply);
/// That of a kind of device. Throws Error{kUnsupported} where the device has none.
DeviceRule device_rule(std::string_view kernel_kind, const std::string& rule);

/// Makes one rule after checking its settings; one per file in rules/.
std::unique_ptr<UpdateRule> make_sgd(const SolverDef& solver);
std::unique_ptr<UpdateRule> make_nesterov(const SolverDef& solver);
std::unique_ptr<UpdateRule> make_adagrad(const SolverDef& solver);
std::unique_ptr<UpdateRule> make_rmsprop(const SolverDef& solver);
std::unique_ptr<UpdateRule> make_adadelta(const SolverDef& solver);
std::unique_ptr<UpdateRule> make_adam(const SolverDef& solver);

}  // namespace robusta
