/// How a layer, or a fused chain of layers, is computed.
///
/// When a net is planned each candidate for a layer is offered a KernelRequest, best first; it either declines with a
/// reason or returns a Kernel that has chosen its layouts and booked the memory it will need. The last candidate is the
/// reference kernel, which takes plain tensors in f32 and f64 and never declines. A kernel allocates nothing when run
/// and keeps no pointer from one run to the next. Kernels of one net run one at a time.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "layers/kit/chain_pattern.h"
#include "layers/kit/layer.h"
#include "layers/kit/param.h"
#include "layers/kit/step_reduce.h"
#include "tensor/tensor.h"

namespace robusta {

/// What every step of one pass over a batch knows.
struct Pass {
  uint64_t seed = 0;            ///< random_seed of the run
  uint64_t first_sample = 0;    ///< global position of this batch's first sample since training began
  uint64_t next_sample = 0;     ///< the same for the batch that this rank takes after this one
  int64_t batch = 1;            ///< samples in this batch
  StepReduce* ranks = nullptr;  ///< the ranks that train together; null: this one alone
};

/// Picks the fastest of several ways, by timing or from a record. Its answers are saved with the training state: other
/// kernels sum in another order.
class Tuner {
 public:
  virtual ~Tuner() = default;
  /// `run(i)` runs option i once, on memory of its own; an Error{kUnsupported} from it rules the option out. Returns
  /// the index of the chosen option.
  virtual int choose(const std::string& key, const std::vector<std::string>& options,
                     const std::function<void(int)>& run) = 0;
};

/// One layer's share of the bottoms and parameters of a chain.
struct ChainShare {
  int first_bottom = 0, first_param = 0;  ///< among those of the chain
  int chain_bottom = -1;                  ///< which of its bottoms the layer before it gives; -1: none
};

/// What the planner asks of a candidate.
struct KernelRequest {
  std::vector<const Layer*> layers;  ///< one layer, or a chain to fuse: each one's top 0 is a bottom of the next
  std::vector<int> chain_bottoms;    ///< per layer which bottom that is, -1 for the first; empty: bottom 0
  /// Of all layers in order, without those that come from the chain, in the layouts and types their producers leave.
  std::vector<TensorDesc> bottoms;
  std::vector<TensorDesc> tops;    ///< of the last layer, plain, of the type that activations should have
  std::vector<TensorDesc> params;  ///< of all layers, in order, plain
  bool moments_follow = false;     ///< top 0 goes to a layer that normalises it by the moments of the batch
  bool backward = false;           ///< the gradient will run through here
  std::vector<bool> bottom_grads;  ///< which bottoms then want one
  std::vector<bool> param_grads;   ///< which parameters learn
  Tuner* tuner = nullptr;          ///< null: choose without timing
  Device* device = nullptr;        ///< where it will run; null: the host

  /// The first layer, whose class is L. Of the others a kernel knows roles only (kit/chain.h).
  template <typename L>
  const L& layer() const {
    return dynamic_cast<const L&>(*layers[0]);
  }
  /// Of layers[place], after infer_tops.
  ChainShare share(size_t place) const;
  /// What bottoms and tops are to be stored as. A kernel may keep some of them in f32 (Booking::bottom_types).
  DType dtype() const { return !tops.empty() ? tops[0].dtype : bottoms.empty() ? DType::kF32 : bottoms[0].dtype; }
};

/// `to` may live in the memory of `from`.
struct Alias {
  int from, to;
  bool same_content;  ///< true: both hold the same numbers, so `from` stays valid; false: `from` is overwritten
};

/// A copy of a parameter, or of its gradient, in another order or type: per output the transpose of a matrix of
/// rows x cols.
struct PackedParam {
  int param;  ///< among the request's
  DType type;
  int64_t outputs, rows, cols;
  size_t bytes() const { return static_cast<size_t>(outputs * rows * cols) * size_of(type); }
};

/// What a kernel has decided when it is made.
struct Booking {
  std::vector<Layout> bottom_layouts, top_layouts;   ///< of values and gradients alike; empty: all plain
  std::vector<DType> bottom_types, top_types;        ///< the same; empty: all of the request's dtype()
  std::vector<bool> reads_bottoms, reads_tops;       ///< values that backward reads; empty: all bottoms, no tops
  size_t saved_bytes = 0;                            ///< kept from forward to backward
  size_t forward_scratch = 0, backward_scratch = 0;  ///< bytes, which keep nothing from run to run
  size_t kept_bytes = 0;                ///< of weights that the kernel keeps in another form, in memory of its own
  std::vector<Alias> forward_aliases;   ///< bottom -> top; the kernel must work with equal and with different memory
  std::vector<Alias> backward_aliases;  ///< top gradient -> bottom gradient
  bool equal_bottom_diffs = false;      ///< all wanted bottom gradients are equal: they may lie in one memory
  /// For nets whose passes begin with making all such copies (KernelRun::packed).
  std::vector<PackedParam> packed;
  /// Gradients that backward may leave in the order and type of such a copy (KernelRun::packed_gradients), for nets
  /// that bring all of them into the parameters' order together.
  std::vector<PackedParam> packed_gradients;
  /// The gradient of top 0 is the sum of so many that KernelRun::top_diffs may have; the kernel adds them itself.
  int top_diff_terms = 1;
  /// Forward may find top 0 missing. Then it leaves it to the reader of that, and in `saved` what this needs besides
  /// bottom 0: NormArrays of the channels, on a GPU (backends/gpu/norm_arrays.h).
  bool may_leave_top = false;
  /// Forward may be given, in the place of this bottom, bottom 0 of such a kernel, and that kernel's `saved` behind the
  /// other bottoms; the numbers are the same. -1: none.
  int finishes_bottom = -1;
  bool takes_missing_top_diffs = false;  ///< true: a top gradient may be null, meaning zero; else the net fills zeros
  bool asks_ranks = false;               ///< may call Pass::ranks: its work then waits for the host
  bool reads_position = false;           ///< a GPU's kernel reads KernelRun::first_sample
  bool host_work = false;                ///< on a GPU: does work of the host in every run, so is never recorded
  bool repeatable = false;               ///< cheap, and forward may run once more in a pass (KernelRun::again)
};

/// The memory of one run. Unwanted gradients are null tensors.
struct KernelRun {
  std::span<const Tensor> bottoms, tops;
  std::span<const Tensor> bottom_diffs, top_diffs;  ///< none in a forward pass
  std::span<Param* const> params;
  /// Per parameter: true to add to its gradient, false to overwrite it (iter_size, shared parameters).
  std::span<const char> accumulate;
  /// Layer::carried of all layers in order, of the parameters' type: forward finds there what the forward pass before
  /// left, zeros at first, and leaves its own. Nothing of backward.
  std::span<const Tensor> carried;
  /// Booking::packed, as the pass began; empty: the kernel makes its own, if it needs them.
  std::span<void* const> packed;
  /// Booking::packed_gradients: backward overwrites these and leaves the parameters' gradients alone, whatever
  /// `accumulate` says; empty: it writes the gradients themselves.
  std::span<void* const> packed_gradients;
  void* saved = nullptr;  ///< Booking::saved_bytes
  void* scratch = nullptr;
  const Pass* pass = nullptr;
  /// pass->first_sample in the device's memory. What is recorded as a graph reads it there: all else of `pass` keeps
  /// its value from one launch to the next.
  const uint64_t* first_sample = nullptr;
  /// Forward of a `repeatable` kernel, once more: bottoms, parameters and `saved` are as the first run left them. Makes
  /// the same tops, bit by bit, and changes nothing else.
  bool again = false;
  Stream* stream = nullptr;  ///< where a GPU's kernels are enqueued; the host's need none
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  const Booking& booking() const { return booking_; }
  /// What runs, for `caffe plan`: "reference", "onednn jit_wino_4x3:avx512_core".
  virtual std::string describe() const = 0;
  /// Writes tops from bottoms. May change statistic parameters (and then increments their version).
  virtual void forward(const KernelRun& run) = 0;
  /// Writes the wanted bottom_diffs and the gradients of learning parameters from top_diffs.
  virtual void backward(const KernelRun& run) = 0;
  /// Called when the work of a forward pass is done: throws what was wrong with its data, where forward could not
  /// because a GPU found it.
  virtual void check(const Pass& pass) {}

 protected:
  Booking booking_;
};

/// Makes a kernel, or returns null and says why not.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& why_not)>;

struct KernelCandidate {
  ChainPattern pattern;  ///< a layer type, or a chain (kit/chain.h)
  std::string backend;   ///< "reference", "native" (our own loops and matrix products), "onednn", ...
  std::string device;    ///< kind of memory the kernel works on: "cpu", "cuda", "emulated" (device/gpu/target.h)
  int priority;          ///< higher is asked first; reference kernels have 0
  KernelFactory factory;
};

/// For good. May be called while other threads plan nets (plugins do).
bool register_kernel(KernelCandidate candidate);
/// The candidates for exactly this chain on this kind of device, best first.
std::vector<const KernelCandidate*> kernel_candidates(LayerChain layers, const std::string& device);
/// The same for a layer of this type alone.
std::vector<const KernelCandidate*> kernel_candidates(const std::string& type, const std::string& device);
/// The backends that have any kernel for this kind of device.
std::set<std::string> kernel_backends(const std::string& device);
/// True when some candidate might take these layers, or a longer chain that begins with them.
bool begins_chain(LayerChain layers, const std::string& device);

/// At namespace scope: `ROBUSTA_REGISTER_KERNEL("ReLU", "onednn", 20, make_relu_onednn);`
#define ROBUSTA_REGISTER_KERNEL(pattern, backend, priority, factory) \
  static const bool registered_kernel_##factory =                    \
      ::robusta::register_kernel({pattern, backend, "cpu", priority, factory})

/// The same in a file named *_gpu.cpp or *_cuda.cpp.
#define ROBUSTA_REGISTER_GPU_KERNEL(pattern, backend, priority, factory) \
  static const bool registered_kernel_##factory =                        \
      ::robusta::register_kernel({pattern, backend, ::robusta::kGpuKind, priority, factory})

/// Registers `Class<T>` with constructor Class(const KernelRequest&) as the reference kernel of a layer type.
#define ROBUSTA_REGISTER_REFERENCE(type, Class)                                                             \
  static std::unique_ptr<::robusta::Kernel> make_reference_##Class(const ::robusta::KernelRequest& request, \
                                                                   std::string&) {                          \
    return ::robusta::dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<::robusta::Kernel> {         \
      return std::make_unique<Class<decltype(t)>>(request);                                                 \
    });                                                                                                     \
  }                                                                                                         \
  ROBUSTA_REGISTER_KERNEL(type, "reference", 0, make_reference_##Class)

}  // namespace robusta
