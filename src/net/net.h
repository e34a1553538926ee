/// A net ready to run: graph, plan and memory for one set of input shapes.
///
/// Built from a filtered definition. Planning chooses kernels and layouts, inserts reorders and places all values in
/// one arena; it happens at construction and again when an input changes its shape. A steady pass allocates nothing.
/// One thread drives a net.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "layers/kit/kernel.h"
#include "layers/kit/param.h"
#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"
#include "net/run/copy_streams.h"
#include "net/run/gradient_sink.h"
#include "net/run/pass_graphs.h"
#include "schema/source.h"

namespace robusta {

class Executor;

/// Time of one layer's steps, accumulated while profiling is on.
struct LayerTime {
  std::string layer;
  double forward_ms = 0, backward_ms = 0;
};

/// What a search for the first value that is not finite found.
struct NonFinite {
  std::string layer;  ///< "" when everything is finite
  std::string what;   ///< `top "conv1"`, `parameter 0`
};

class Net {
 public:
  /// `def` is upgraded, filtered and has its splits (schema/). Throws Error{kConfig|kData|kMemory} with file and line.
  Net(NetDef def, NetOptions options);
  ~Net();

  const std::string& name() const { return graph_.def.param.name(); }
  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return plan_; }
  const NetOptions& options() const { return options_; }
  /// Whether any activation, or gradient of one, is stored as this type.
  bool stores(DType type) const;
  /// Multiplies the gradient that each loss begins with, hence all gradients, from the next backward on. Waits for what
  /// is enqueued where the scale is new.
  void set_loss_scale(double scale);
  /// In which everything of this net is enqueued.
  Stream& stream() { return *stream_; }
  /// Samples per batch: dim 0 of the first source's first top (1 without sources).
  int64_t batch() const { return graph_.batch(); }

  /// Runs all layers; returns the loss, the sum of weight x value over all weighted tops.
  double forward(const Pass& pass, ParamGate* gate = nullptr);
  /// The same in two: start_forward enqueues, and on a GPU returns before anything has run; finish_forward waits. What
  /// is enqueued in between, backward and the batch of the next pass, runs on while the host waits.
  void start_forward(const Pass& pass, ParamGate* gate = nullptr);
  double finish_forward();
  /// Makes the batch of a coming pass ready and starts its way to the GPU; nothing on the host. What goes wrong is
  /// thrown by that pass's forward.
  void prefetch(const Pass& next);
  /// Runs backward after forward with the same pass; once per forward, as gradients take the memory of values that are
  /// no longer needed (with keep_blobs it may be run again). `accumulate`: add to the parameters' gradients instead of
  /// overwriting them. REQUIRES: options.backward.
  void backward(const Pass& pass, bool accumulate, GradientSink* sink = nullptr);

  /// The learnable and statistic parameters that this net owns or shares, owners only, in layer order (the order of
  /// snapshots).
  const std::vector<ParamPtr>& params() const { return graph_.params; }
  /// The parameters of one layer in order (shared ones included); empty for an unknown name.
  std::vector<ParamPtr> layer_params(const std::string& layer) const;
  /// Values lie in one block of memory and gradients in another, both in the order in which backward completes them.
  /// The parameters that a GradientSink is told of, in that order: a prefix of both blocks.
  const std::vector<Param*>& params_by_completion() const { return completion_; }
  /// The options.gradient_tail bytes behind the last of them.
  void* gradient_tail() const { return gradient_tail_; }
  /// The block of all gradients in the device's memory, tail included, and its bytes.
  void* device_gradients() const { return gradients_; }
  size_t gradient_bytes() const { return gradient_bytes_; }
  /// options.gradient_memory, where it is not that block itself: host memory for copies of it. Else null.
  void* staged_gradients() const { return param_diff_.data() ? lent_gradients_.get() : nullptr; }

  /// Values and gradients by blob name, in plain order, as doubles' worth of T. The last write of the name counts.
  /// Readable: net outputs and inputs; every blob with options.keep_blobs. Others throw Error{kUsage}.
  std::vector<float> read_blob(const std::string& blob);
  std::vector<float> read_diff(const std::string& blob);
  void write_blob(const std::string& blob, const std::vector<float>& values);
  /// REQUIRES: options.seed_diffs names the blob.
  void write_diff(const std::string& blob, const std::vector<float>& values);
  /// Plain arrays in the memory of the net's device, as floats.
  std::vector<float> read(const Tensor& array);
  void write(const Tensor& array, const std::vector<float>& values);
  /// The same in their own element type, byte by byte.
  void fetch(const Tensor& array, void* to_host);
  void store(const Tensor& array, const void* from_host);
  std::vector<float> read_param(const Param& param);
  std::vector<float> read_param_diff(const Param& param);
  /// Raises the version. `values` has the parameter's count.
  void write_param(Param& param, const std::vector<float>& values);
  void write_param_diff(Param& param, const std::vector<float>& values);

  Shape blob_shape(const std::string& blob) const;
  bool has_blob(const std::string& blob) const;
  /// Net outputs: blobs nobody consumes, in byte-wise alphabetical order.
  std::vector<std::string> outputs() const;
  /// Weight of an output in the loss, 0 when it is none.
  float loss_weight(const std::string& blob) const;
  /// Gives an Input blob another shape and plans again.
  void reshape_input(const std::string& blob, const Shape& shape);

  /// Runs the forward pass again, looking at every value as it is made.
  NonFinite find_non_finite(const Pass& pass);
  /// What of its passes is recorded.
  GraphUse graphs() const;
  /// What large model support has copied between device and host so far.
  CopyTotals copies() const;
  /// Seconds the sources have waited for data so far.
  double seconds_waited() const;
  /// Names of the records behind this pass's samples, at most `most`.
  std::vector<std::string> sample_keys(const Pass& pass, int most) const;

  void set_profiling(bool on);
  std::vector<LayerTime> layer_times() const;  ///< per layer in order; a fused chain counts for its first layer

  /// Called after every layer's forward (backward) with its node while debug_info is on. REQUIRES: keep_blobs.
  using LayerHook = std::function<void(const Node& node, bool backward)>;
  void set_layer_hook(LayerHook hook);
  /// Told of the layer before each of its steps runs. Costs a call per step.
  using StepWatch = std::function<void(const std::string& layer, bool backward)>;
  /// With `every_step` false: only where the host comes by, as several steps may be launched at once.
  void set_step_watch(StepWatch watch, bool every_step = true);
  /// Mean absolute value of one value of the plan, for debug_info. -1: the blob has none (no gradient).
  double mean_abs(int version, bool diff);
  double mean_abs(const Param& param, bool diff);

 private:
  void prepare_sources(const Pass& pass);
  void replan();
  void take_from_budget();
  void watch_steps();
  void place_params();
  void place_gradients(const std::vector<Param*>& owned, size_t bytes);
  void clear(void* memory, size_t bytes);
  void fill_params();

  NetOptions options_;
  Graph graph_;
  Plan plan_;
  std::vector<Param*> completion_;
  DeviceBuffer param_data_, param_diff_;
  std::shared_ptr<void> lent_gradients_;  ///< in place of param_diff_, on the host; else besides
  void *gradients_ = nullptr, *gradient_tail_ = nullptr;
  size_t gradient_bytes_ = 0;
  size_t taken_ = 0;  ///< of options.budget, by this net
  double loss_scale_ = 1;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<Executor> executor_;
  LayerHook hook_;
  StepWatch step_watch_;
  bool watches_every_step_ = true;
  /// By prefetch; none: no source is ahead of the passes.
  struct Prefetched {
    uint64_t seed, first_sample;
    int64_t batch;
    bool sent;  ///< to the device
  };
  std::optional<Prefetched> prefetched_;
  bool shapes_changed_ = false;  ///< those of a source's tops, since the net was planned
};

}  // namespace robusta
