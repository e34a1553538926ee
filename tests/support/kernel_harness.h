/// Runs one kernel of a layer, or of a fused chain, outside of any net, with plain double arrays in and out.
///
/// Memory that the kernel has no right to read is NaN, writes past an end are found, padding of blocked layouts must
/// stay zero. One harness is used by one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "support/guarded_buffer.h"

namespace robusta::test {

using Array = std::vector<double>;
using Arrays = std::vector<Array>;

/// What is run. `KernelCase{{"type: 'ReLU'"}, {{2, 3, 4}}}` suffices for most layers.
struct KernelCase {
  std::vector<std::string> layers;  ///< text of one LayerParameter each; more than one: a chain
  std::vector<Shape> bottoms;       ///< of the first layer
  caffe::Phase phase = caffe::TRAIN;
  int tops = 1;  ///< of the last layer, where the text names none
  /// Values of bottom i when they are not normal random numbers (labels); empty result: those.
  std::function<Array(int bottom, const Shape& shape)> bottom_values = {};
  /// The same for parameters; by default normal, and uniform in 0.5..1.5 for statistics.
  std::function<Array(int param, const Shape& shape)> param_values = {};
};

/// How it is run.
struct KernelOptions {
  std::string backend = "reference";
  std::string kind = "";      ///< of the kernel (KernelCandidate::device); "": "emulated" for "gpu", else "cpu"
  Device* device = nullptr;   ///< where it runs, on host memory that it can reach; null: the host
  DType dtype = DType::kF64;  ///< 16 bits: of bottoms and tops, but where the kernel books f32; parameters are f32
  bool backward = true;
  bool bottom_grads = true;                 ///< of the bottoms that allow one
  bool param_grads = true;                  ///< of the parameters that learn
  std::vector<Layout> bottom_layouts = {};  ///< that the producers leave; empty: plain
  bool share_memory = false;                ///< let the aliases of the booking take effect
  Tuner* tuner = nullptr;                   ///< chooses among the ways of the kernel, if it has several
  Pass pass = {.seed = 7, .first_sample = 5, .next_sample = 9, .batch = 0};  ///< batch 0: first extent of bottom 0
};

class KernelHarness {
 public:
  /// Throws what the layer throws. A kernel that declines leaves `made()` false.
  KernelHarness(const KernelCase& what, const KernelOptions& how);

  bool made() const { return kernel_ != nullptr; }
  const std::string& why_not() const { return why_not_; }
  Kernel& kernel() { return *kernel_; }
  const Layer& layer(size_t index = 0) const { return *layers_[index]; }

  const std::vector<Shape>& bottom_shapes() const { return bottom_shapes_; }
  const std::vector<Shape>& top_shapes() const { return top_shapes_; }
  const std::vector<ParamDecl>& param_decls() const { return decls_; }
  std::vector<Shape> carried_shapes() const;
  bool wants_bottom(size_t bottom) const { return wants_bottom_[bottom]; }
  bool learns(size_t param) const { return params_[param].learns; }

  /// `params` may be empty when the layer has none. `carried`: what the pass before left (Layer::carried); empty:
  /// zeros.
  void forward(const Arrays& bottoms, const Arrays& params = {}, const Arrays& carried = {});
  /// Forward once more, as `repeatable` kernels may be run (KernelRun::again).
  void repeat();
  /// `before`: gradients that are there already, to be added to; empty: overwrite.
  void backward(const Arrays& top_diffs, const Arrays& before = {});

  Arrays tops() const;
  Arrays params() const;        ///< after the last forward
  Arrays carried() const;       ///< the same
  Arrays bottom_diffs() const;  ///< an empty array where none was wanted
  Arrays param_diffs() const;

  /// Writes outside of memory and soiled padding found so far; "" when there were none.
  std::string damage() const { return damage_; }

 private:
  /// A tensor in the kernel's layout. `memory` may be shared with another slot.
  struct Slot {
    TensorDesc desc;
    std::shared_ptr<GuardedBuffer> memory;
    Tensor tensor() const { return {desc, memory ? memory->data() : nullptr}; }
  };

  GuardedBuffer make_buffer(size_t bytes) const;
  void finish();
  void make_layers(const KernelCase& what);
  void size_first(const KernelCase& what);
  void make_kernel();
  void make_memory();
  Slot make_slot(const Shape& shape, const std::vector<Layout>& layouts, const std::vector<DType>& types,
                 size_t index) const;
  Slot make_param_slot(const Shape& shape) const;
  DType param_type() const { return is_16_bit(how_.dtype) ? DType::kF32 : how_.dtype; }
  void put(const Slot& slot, const Array& values) const;
  Array get(const Slot& slot) const;
  Arrays get_all(const std::vector<Slot>& slots) const;
  void inspect(const std::vector<Slot>& slots, const char* what);
  KernelRun run_of(std::vector<char>& accumulate);

  KernelOptions how_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Shape> bottom_shapes_, top_shapes_;
  std::vector<ParamDecl> decls_;
  std::vector<bool> wants_bottom_;
  std::vector<Param> params_;
  std::unique_ptr<Kernel> kernel_;
  std::string why_not_, damage_;

  std::vector<Slot> bottoms_, tops_, bottom_diffs_, top_diffs_, param_data_, param_diffs_, carried_;
  GuardedBuffer saved_, forward_scratch_, backward_scratch_;
  DeviceBuffer position_;
  std::vector<Tensor> run_bottoms_, run_tops_, run_bottom_diffs_, run_top_diffs_, run_carried_;
  std::vector<Param*> run_params_;
};

/// The text form of one LayerParameter; throws std::runtime_error with the parser's words.
caffe::LayerParameter parse_layer(const std::string& text);

}  // namespace robusta::test
