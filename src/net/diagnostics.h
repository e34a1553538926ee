/// What can be asked of a net's passes beside their results: times, copies, recordings, and hooks into its steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "net/plan/ids.h"
#include "net/plan/step_cost.h"
#include "net/run/copy_streams.h"
#include "net/run/pass_graphs.h"

namespace robusta {

struct NetState;
struct Node;

/// Time of one layer's steps, accumulated while profiling is on.
struct LayerTime {
  std::string layer;
  double forward_ms = 0, backward_ms = 0;  ///< summed over the passes
};

/// What one layer's steps have to do in one pass.
struct LayerWork {
  StepWork forward, backward;
  DType storage = DType::kF32;  ///< of its activations
};

class Diagnostics {
 public:
  /// Of a net, which holds this.
  explicit Diagnostics(NetState& net) : net_(net) {}

  /// Whether any activation, or gradient of one, is stored as this type.
  bool stores(DType type) const;
  /// What of the net's passes is recorded.
  GraphUse graphs() const;
  /// What large model support has copied between device and host so far.
  CopyTotals copies() const;
  /// Seconds the sources have waited for data so far.
  double seconds_waited() const;
  /// Names of the records behind this pass's samples, at most `most`.
  std::vector<std::string> sample_keys(const Pass& pass, int most) const;
  /// Mean absolute value of a version's data or gradient. -1: it has none. REQUIRES: keep_blobs, or within a hook.
  double mean_abs(VersionId version, bool diff) const;
  double mean_abs(const Param& param, bool diff) const;
  /// A value of the plan, as floats in plain order. REQUIRES: as mean_abs.
  std::vector<float> read_value(ValueId value) const;

  /// Profiling waits for the device after each step. Switching it on forgets earlier times.
  void set_profiling(bool on);
  std::vector<LayerTime> layer_times() const;  ///< per layer in order; a fused chain counts for its first layer

  std::vector<LayerWork> layer_work() const;  ///< the same layers, by the plan that runs now

  /// Called after every layer's forward (backward) with its node; an empty hook: no more. REQUIRES: keep_blobs.
  using LayerHook = std::function<void(const Node& node, bool backward)>;
  void set_layer_hook(LayerHook hook);
  /// Told of the layer before each of its steps runs. Costs a call per step. With `every_step` false: only where the
  /// host comes by, as several steps may be launched at once.
  using StepWatch = std::function<void(const std::string& layer, bool backward)>;
  void set_step_watch(StepWatch watch, bool every_step = true);
  /// Called after each step of the plan, with its index, once its work is done. There is one hook: this or a layer's.
  using StepHook = std::function<void(StepId step)>;
  void set_step_hook(StepHook hook);

  /// Counts the host's work for a layer that is none of the plan's steps: deciding on the size of its tops, and
  /// planning anew for it. While profiling is on.
  void add_time(NodeId layer, double ms);

  /// Before an executor goes, whose times stay.
  void keep_times();
  /// Lets a new executor know what was set.
  void attach();

 private:
  void add_steps(IdVector<NodeId, LayerTime>& times) const;

  NetState& net_;
  IdVector<NodeId, LayerTime> kept_;  ///< of executors that are gone, and what no step does; empty: nothing
  StepHook hook_;
  StepWatch watch_;
  bool watches_every_step_ = true, profiles_ = false;  ///< else whole segments are watched
};

}  // namespace robusta
