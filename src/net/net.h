/// A net ready to run: graph, plan and memory for one set of input shapes.
///
/// Built from a filtered definition. Planning chooses kernels and layouts, inserts reorders and places all values in
/// one arena; it happens at construction, again when an input changes its shape, and in the middle of a pass where a
/// layer's values change those of its tops (Layer::sizing_bottom). A steady pass allocates nothing.
/// One thread drives a net. Nets share nothing of the process but its devices: those of different options may run in
/// different threads.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/blobs.h"
#include "net/diagnostics.h"
#include "net/plan/part.h"
#include "net/run/carried_memory.h"
#include "net/run/gradient_sink.h"
#include "net/run/param_memory.h"
#include "net/state.h"

namespace robusta {

class Net {
 public:
  /// `def` is upgraded, filtered and has its splits (schema/). Throws Error{kConfig|kData|kMemory} with file and line.
  Net(NetDef def, NetOptions options);
  ~Net();

  const std::string& name() const { return state_.graph.def.param.name(); }
  const Graph& graph() const { return state_.graph; }
  const Plan& plan() const { return state_.plan; }
  const NetOptions& options() const { return state_.options; }
  /// In which everything of this net is enqueued.
  Stream& stream() { return *state_.stream; }
  /// Samples per batch: dim 0 of the first source's first top (1 without sources).
  int64_t batch() const { return state_.graph.batch(); }

  /// Runs all layers; returns the loss, the sum of weight x value over all weighted tops.
  double forward(const Pass& pass, ParamGate* gate = nullptr);
  /// The same in two: start_forward enqueues, and on a GPU returns before anything has run; finish_forward waits. What
  /// is enqueued in between, backward and the batch of the next pass, runs on while the host waits.
  void start_forward(const Pass& pass, ParamGate* gate = nullptr, PassPrelude* prelude = nullptr);
  double finish_forward();
  /// Makes the batch of a coming pass ready and starts its way to the GPU; nothing on the host. What goes wrong is
  /// thrown by that pass's forward.
  void prefetch(const Pass& next);
  /// Runs backward after forward with the same pass; once per forward, as gradients take the memory of values that are
  /// no longer needed (with keep_blobs it may be run again). `accumulate`: add to the parameters' gradients instead of
  /// overwriting them. REQUIRES: options.backward.
  void backward(const Pass& pass, bool accumulate, GradientSink* sink = nullptr);
  /// Runs some layers alone: each reads what passes, parts of passes and programs have left in the blobs before it.
  /// Returns the loss of these layers. Sources among them give the batch of `pass`, others keep theirs; what layers
  /// carry from pass to pass goes on. Where the values of a blob change the size of others (Layer::sizing_bottom), the
  /// content of all that follow is lost. Throws Error{kUnsupported} where no part can begin or end (plan/part.h).
  /// REQUIRES: options.keep_blobs.
  double forward(const Pass& pass, const NodeRange& part);
  /// The same of backward, from part.last to part.first, with the pass of these layers' forward. Parameters that
  /// several layers share are overwritten by the last of them, and added to by others. Throws Error{kUsage} for a layer
  /// that has not run forward.
  void backward(const Pass& pass, const NodeRange& part, bool accumulate);
  bool has_source(const NodeRange& part) const;
  /// Multiplies the gradient that each loss begins with, hence all gradients, from the next backward on. Waits for what
  /// is enqueued where the scale is new.
  void set_loss_scale(double scale);
  /// Whether backward may follow: forward has run, as a whole or in parts, and its values are there.
  bool has_run_forward() const;
  /// Gives a MemoryData layer its samples, from the next forward on (SourceLayer::set_samples). Throws Error{kUsage},
  /// also where there is no such layer.
  void set_samples(const std::string& layer, std::span<const float> data, std::span<const float> labels);
  /// Gives inputs other shapes, all at once, and plans again. Throws Error{kUsage} for other blobs. Where it throws -
  /// shapes that a layer refuses, too little memory - shapes, plan and parameters stay as they were; what inputs hold
  /// is lost where there was memory for the plan, but not for running it.
  void reshape_inputs(const std::vector<std::pair<std::string, Shape>>& inputs);
  void reshape_input(const std::string& blob, const Shape& shape) { reshape_inputs({{blob, shape}}); }

  /// The learnable and statistic parameters that this net owns or shares, owners only, in layer order (the order of
  /// snapshots).
  const IdVector<ParamId, ParamPtr>& params() const { return state_.graph.params; }
  /// The parameters of one layer in order (shared ones included); empty for an unknown name.
  std::vector<ParamPtr> layer_params(const std::string& layer) const { return state_.graph.layer_params(layer); }
  /// Of a net that was only planned: memory for its parameters, filled as in a net that runs, and for their gradients
  /// where they are asked for; until release_params(). Throws Error{kMemory}.
  void take_params(bool gradients);
  void release_params() { params_.release(state_.graph); }
  /// Keeps all memory that views of blobs and parameters show now, also after another planning and beyond the net; its
  /// device has to live as long.
  std::vector<std::shared_ptr<const void>> held_memory() const;
  /// How often the net has taken memory for its blobs: views of them hold until it is another number.
  uint64_t plannings() const { return plannings_; }
  /// Where they lie, and in which order backward completes their gradients.
  const ParamMemory& param_memory() const { return params_; }

  /// Blobs and parameters as numbers on the host.
  Blobs& blobs() { return blobs_; }
  const Blobs& blobs() const { return blobs_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  NodeRange all_nodes() const { return {NodeId(0), state_.graph.nodes.end_id() - 1}; }
  void prepare_sources(const Pass& pass, const NodeRange& part);
  void renew_exposed();
  void note_run(std::span<const StepId> steps, bool ran);
  size_t run_part_to_sizer(NodeId sizer, std::vector<StepId>& steps, size_t begin, const Pass& pass,
                           const NodeRange& part);
  void replan_within_part(StepId at, const Pass& pass);
  bool has_other_size(NodeId sizer);
  StepId run_to_sizer(NodeId sizer, StepId begin, const Pass& pass, ParamGate* gate);
  VersionId require_input(const std::string& blob) const;
  void set_top_shape(VersionId input, const Shape& shape);
  /// Plans again where a source's tops have changed their shape.
  bool adopt_shapes();
  void plan_new_shapes();
  void plan_keeping(StepId at);
  void replan();
  void replan_within(StepId at, const Pass& pass);
  void adopt(Plan plan);
  void require_room(const Plan& plan) const;
  void charge_budget(size_t bytes);
  void make_executor();

  NetState state_;
  ParamMemory params_;
  CarriedMemory carried_;
  Blobs blobs_{state_};
  Diagnostics diagnostics_{state_};
  uint64_t plannings_ = 0;
  size_t taken_ = 0;       ///< of options.budget, by this net
  double loss_scale_ = 1;  ///< that the gradients of the losses begin with
  /// By prefetch; none: no source is ahead of the passes.
  struct Prefetched {
    uint64_t seed, first_sample;
    int64_t batch;
    bool sent;  ///< to the device
  };
  std::optional<Prefetched> prefetched_;
  bool shapes_changed_ = false;      ///< those of a source's tops, since the net was planned
  IdVector<UnitId, bool> has_run_;   ///< forward, and what backward needs of it is there; empty: of none
  IdVector<UnitId, bool> ran_back_;  ///< since then
};

}  // namespace robusta
