/// Runs the steps of a plan on a device.
///
/// Everything a step needs - tensors, parameters, addresses - is bound once after planning; a pass then only calls
/// kernels, in order, on one stream, in segments that are recorded where that is possible (pass_graphs.h). Batches come
/// by another stream (uploads.h), and offloaded values by two more (copy_streams.h). Nothing of a steady pass on a GPU
/// waits for the host, nor the host for it, until finish_forward. One thread drives an executor.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"
#include "net/run/copy_streams.h"
#include "net/run/loss_reader.h"
#include "net/run/packing.h"
#include "net/run/param_versions.h"
#include "net/run/pass_graphs.h"
#include "net/run/uploads.h"
#include "robusta/error.h"

namespace robusta {

class GradientSink;
class ParamGate;
class PassPrelude;
class PreparesParams;

class Executor {
 public:
  /// Keeps references: graph, plan and stream outlive it. Takes the persistent memory and reserves the arena.
  Executor(Graph& graph, Plan& plan, const NetOptions& options, Arena& arena, Stream& stream);
  /// Waits for what is enqueued: it uses the executor's memory.
  ~Executor();

  /// Starts the way of a coming pass's batch, beside what is enqueued. REQUIRES: the sources have prepared that pass,
  /// and the device is not the host.
  void send_batch(const Pass& pass);
  /// Before the first step of a forward pass. `batch_sent`: by send_batch, the last one. The pass begins with
  /// `prelude`, if there is one, and with packing parameters, which are asked for at the gate. REQUIRES: the sources
  /// have prepared this pass.
  void begin_forward(const Pass& pass, bool batch_sent, ParamGate* gate = nullptr, PassPrelude* prelude = nullptr);
  /// The same in the middle of a pass that another executor has begun: before step `at`, of which this one has the
  /// values already.
  void resume_forward(const Pass& pass, StepId at);
  /// Enqueues these steps of it.
  void run_forward(StepId begin, StepId end, ParamGate* gate);
  void run_forward(std::span<const StepId> steps);
  /// Behind the last.
  void end_forward();
  /// The same where these are all: the loss is that of their layers.
  void end_forward(std::span<const StepId> steps);
  /// Waits for the forward pass: its loss. Throws what its work, and its kernels' checks, have found.
  double finish_forward();
  /// Throws what kernels have found wrong with their data. REQUIRES: what is enqueued is done.
  void check_kernels();
  void backward(const Pass& pass, bool accumulate, GradientSink* sink);
  /// The same of a part of the net, whose steps are listed in order (plan/part.h).
  void backward(const Pass& pass, bool accumulate, std::span<const StepId> steps);

  /// Called on the driving thread after each step, with its index, once its work is done.
  using StepHook = std::function<void(StepId step)>;
  void set_hook(StepHook hook) { hook_ = std::move(hook); }
  /// Called before each step, with its index; or, unless `every_step`, where the host comes by.
  void set_watch(StepHook watch, bool every_step) {
    watch_ = std::move(watch);
    watches_every_step_ = watch_ && every_step;
  }
  void set_profiling(bool on) { profiling_ = on; }
  /// Milliseconds spent per step since profiling was switched on.
  const IdVector<StepId, double>& step_ms() const { return step_ms_; }
  void reset_times() { step_ms_.assign(step_ms_.size(), 0); }

  /// Writes the plan's constants, the weights of losses among them, times `scale`.
  void write_constants(double scale);

  const GraphUse& graphs() const { return graphs_.use(); }
  /// What offloading has copied so far.
  CopyTotals copies() const { return copies_ ? copies_->totals() : CopyTotals{}; }

  /// A value in plain order on the host, as floats.
  std::vector<float> read(ValueId value);
  void write(ValueId value, const std::vector<float>& numbers);
  /// Where a value lies now. Null data if it has no memory.
  Tensor tensor(ValueId value);
  /// Keeps the memory of all values that outlive a pass, also beyond this executor.
  std::shared_ptr<const void> kept_memory() const { return persistent_; }

 private:
  /// A step with its addresses.
  struct Bound {
    std::vector<Tensor> bottoms, tops, bottom_diffs, top_diffs;
    std::vector<Param*> params;
    std::vector<char> accumulate;
    std::vector<Tensor> carried;
    void *saved = nullptr, *scratch = nullptr;
    PreparesParams* prepares = nullptr;  ///< the kernel of a forward step, if it does
    bool keeps_prepared = false;         ///< `saved` outlives the pass
  };

  void bind();
  void fill_constant_sources();
  void write_constant_source(StepId index);
  void clear_persistent();
  void find_borrowers();
  std::vector<Tensor> bind_all(const std::vector<ValueId>& values);
  void* address(ValueId value);
  void begin_pass(const Pass& pass, bool accumulate, bool batch_sent);
  void run_steps(StepId begin, StepId end, GradientSink* sink, ParamGate* gate);
  /// Those in a row together.
  void run_listed(std::span<const StepId> steps);
  void enqueue_beginning();
  void note_prelude();
  void run_prelude();
  bool unpacks_behind(StepId begin, StepId end, StepId last, const GradientSink* sink, bool stepwise) const;
  void begin_packing();
  void bind_prepared();
  void prepare_params(StepId begin, StepId end, ParamGate* gate);
  void prepare_changed(StepId index);
  void prepare(StepId index);
  void note_changed_params(StepId begin, StepId end);
  void open(ParamGate& gate, StepId begin, StepId end);
  void announce(GradientSink& sink, StepId begin, StepId end);
  void deliver(GradientSink& sink, StepId begin, StepId end);
  void run_step(StepId index);
  void launch(Recording& recording);
  void watch_first(StepId begin, StepId end);
  SourceLayer* source_of(StepId index) const;
  void send_source(StepId index, const Pass& pass);
  void run_source(StepId index);
  void take_batch(StepId index);
  void run_kernel(StepId index, Pass pass, bool accumulate);
  /// Calls work(), a call of the unit's kernel; its errors then name the layer.
  template <typename Work>
  void naming_layer(const Unit& unit, const Work& work) const;
  void find_dead_memory();
  void poison_dead_memory(StepId index);

  Graph& graph_;
  Plan& plan_;
  const NetOptions& options_;
  Arena& arena_;
  Stream& stream_;
  std::shared_ptr<DeviceBuffer> persistent_;  ///< shared with whoever holds views of it
  std::unique_ptr<Uploads> uploads_;          ///< null: the device is the host
  LossReader losses_;
  PassGraphs graphs_;
  Packing packing_;
  void* bound_arena_ = nullptr;  ///< the arena's memory that tensors point into
  bool bound_ = false;
  std::unique_ptr<CopyStreams> copies_;  ///< null: the plan has none
  IdVector<StepId, Bound> bound_steps_;
  /// Versions of the parameters that a unit's kernel has prepared. Only work of the stream looks at them.
  IdVector<UnitId, ParamVersions> prepared_versions_;
  IdVector<ValueId, void*> lent_;                      ///< where a source's batch has the value now (Value::lent)
  IdVector<ValueId, std::vector<Tensor*>> borrowers_;  ///< per lent value: tensors of bound_steps_ in its memory
  IdVector<StepId, std::vector<ValueId>>
      dies_after_;  ///< per step: values whose memory nobody needs then (options.poison)
  Pass pass_;
  bool accumulate_ = false, batch_sent_ = false;
  bool begins_ = false;             ///< what this forward pass begins with, behind its sources, is still to be enqueued
  PassPrelude* prelude_ = nullptr;  ///< of that
  bool profiling_ = false, watches_every_step_ = false;
  IdVector<StepId, double> step_ms_;  ///< summed up while profiling is on
  StepHook hook_, watch_;
};

template <typename Work>
void Executor::naming_layer(const Unit& unit, const Work& work) const {
  try {
    work();
  } catch (Error& error) {
    const Node& node = graph_.nodes[unit.nodes[0]];
    rethrow_at(std::move(error), node.layer->name(), node.where);
  }
}

}  // namespace robusta
