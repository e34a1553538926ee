/// What the builder of a net decides beyond its definition.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/settings.h"
#include "device/device.h"
#include "layers/kit/kernel.h"
#include "net/arena.h"
#include "net/memory_options.h"

namespace robusta {

class ModelGroup;
class Net;
struct Param;

struct NetOptions {
  caffe::Phase phase = caffe::TRAIN;  ///< decides which layers the net has, and what some of them do
  DType dtype = DType::kF32;          ///< f64: every kernel is the reference one
  std::optional<DType> precision;     ///< of activations: f32, bf16 or f16; none: as the net says (precision.h)
  Device* device = &cpu_device();
  uint64_t seed = 1;             ///< of the parameter fillers
  bool backward = true;          ///< plan gradients (if anything wants them)
  std::string kernels = "auto";  ///< "auto": best first; else one backend's name ("reference"), the rest only where
                                 ///< that backend has nothing to offer
  bool fuse = true;              ///< allow kernels that span several layers
  bool share_memory = true;      ///< false: every value in memory of its own; the same bits
  bool keep_blobs = false;       ///< every named blob stays readable after the pass
  /// Pixels that no layer reads need not be computed (graph/unread_pixels.h): blobs that are neither inputs nor outputs
  /// may then have fewer than the definition says. Of no effect with backward or keep_blobs, in stages, and where ranks
  /// share out layers.
  bool skip_unread = false;
  std::vector<std::string> seed_diffs;     ///< blobs whose gradient the caller writes: backward begins there, too
  std::vector<std::string> input_diffs;    ///< inputs whose gradient is computed, and kept after the pass
  int64_t batch = 0;                       ///< > 0: replaces every data layer's batch size
  Tuner* tuner = nullptr;                  ///< times kernels; null: no timing
  const Net* share_params = nullptr;       ///< layers of the same name use that net's parameters
  std::shared_ptr<Arena> arena;            ///< null: one of its own
  bool plan_only = false;                  ///< no memory is taken; the net cannot run (`caffe plan`)
  bool params_only = false;                ///< the net has its parameters and no memory for passes: others run for it
  int rank = 0, ranks = 1;                 ///< this one of those that train together: %# and %* in names of sources
  bool divide_batch = false;               ///< every source's batch is divided among the ranks; it must divide evenly
  int micro_batches = 1;                   ///< every source's batch is then cut into so many; it must divide evenly
  std::vector<std::string> fixed_sources;  ///< layers whose batch stays as it is written, whatever these three say
  bool stage = false;                      ///< a part of a larger net, whose other parts are on other devices
  DataSettings data;                       ///< how sources read
  /// Layers by name whose outputs ranks share out (layers/kit/model_group.h). The groups outlive the net.
  std::map<std::string, ModelGroup*> model_groups = {};

  /// Takes the memory of all gradients, for whoever reduces them over ranks; null: nobody does. On the host they lie
  /// there; for a net on a GPU it is memory of the same size for copies. `gradient_tail` bytes stay free right behind
  /// the gradients that backward completes.
  std::function<std::shared_ptr<void>(size_t bytes)> gradient_memory;
  size_t gradient_tail = 0;  ///< bytes
  /// Where gradients share memory: the ends of what lies together, as numbers of parameters, of those that backward
  /// completes in this order. Null: each has memory of its own.
  std::function<std::vector<size_t>(const std::vector<Param*>& completion)> gradient_buckets;

  std::shared_ptr<MemoryBudget> budget;  ///< of all nets on this device; null: no limit is known
  LmsOptions lms;                        ///< on a device with memory of its own
  MachineRates rates;
  bool poison = false;  ///< memory that nobody needs any more is overwritten (tests)
};

inline void set_memory(NetOptions& options, const MemoryOptions& memory) {
  options.budget = memory.budget;
  options.lms = memory.lms;
  options.rates = memory.rates;
}

}  // namespace robusta
