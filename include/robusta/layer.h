/// Layers and kernels from outside of the library: of a plugin (`caffe train -plugin ./libmine.so`), or of a program
/// that is linked to the library.
///
///   class Swish : public robusta::Layer { ... };
///   ROBUSTA_PLUGIN() {
///     robusta::register_layer("MySwish", [](const robusta::LayerSpec& spec) { return std::make_unique<Swish>(spec);
///     });
///   }
///
/// A plugin is compiled with the C++ compiler and standard library that the library was built with, needs no headers
/// but these, and is not linked to the library (CMake: Robusta::plugin): its symbols are those of the program that
/// loads it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "robusta/error.h"
#include "robusta/tensor.h"

namespace robusta::ROBUSTA_V1 {

/// What the prototxt says of one layer.
///
/// Fields of a plugin's own are written `plugin_param { key: "slope" value: "0.1" }` and asked for as "slope". A name
/// with a dot is a field of Caffe's messages: "convolution_param.num_output", "loss_param.ignore_label". A field that
/// is not there is the default. Whatever cannot be read as asked is an Error of kind kConfig at its line; so is, once
/// the layer is made, a plugin_param that nobody asked for.
class ROBUSTA_API LayerSpec {
 public:
  const std::string& name() const;
  const std::string& type() const;
  bool training() const;
  std::vector<std::string> bottoms() const;
  std::vector<std::string> tops() const;

  bool has(const std::string& field) const;
  std::string text(const std::string& field, const std::string& otherwise = "") const;
  double number(const std::string& field, double otherwise = 0) const;
  int64_t integer(const std::string& field, int64_t otherwise = 0) const;
  bool flag(const std::string& field, bool otherwise = false) const;

  struct Impl;  ///< the library's own
  explicit LayerSpec(const Impl& impl) : impl_(&impl) {}

 private:
  const Impl* impl_;
};

/// How many bottoms and tops a layer takes. -1 as a maximum: any number.
struct Arity {
  int min_bottoms = 1, max_bottoms = 1;
  int min_tops = 1, max_tops = 1;
  bool same_count = false;  ///< as many tops as bottoms
};

/// A parameter that a layer asks for.
struct ParameterDecl {
  Shape shape;
  float constant = 0;       ///< what it holds before training, unless a filler is named
  std::string filler = {};  ///< a field with a FillerParameter: "inner_product_param.weight_filler"; "": none
  bool statistic = false;   ///< kept by the layer, never learned
};

/// The memory that a kernel works with, and how freely the planner may lay it out.
struct Needs {
  bool backward_reads_bottoms = true, backward_reads_tops = false;
  bool in_place = false;     ///< element i of top 0 depends on element i of bottom 0 alone: they may share memory,
                             ///< likewise their gradients
  size_t saved_bytes = 0;    ///< kept from forward to backward
  size_t scratch_bytes = 0;  ///< free to use within one call
};

/// The arrays of one call, all in C order, valid during the call.
struct KernelCall {
  std::span<const TensorView> bottoms, tops;
  /// Backward alone. Null data: not wanted. top_gradients are all there.
  std::span<const TensorView> bottom_gradients, top_gradients;
  std::span<const TensorView> parameters;
  /// Backward adds to them. Null data: not wanted.
  std::span<const TensorView> parameter_gradients;
  void* saved = nullptr;
  void* scratch = nullptr;
  uint64_t seed = 0;          ///< of the training
  uint64_t first_sample = 0;  ///< position of the batch's first sample: randomness depends on nothing else
  int64_t batch = 1;
  void* stream = nullptr;  ///< on a GPU: the cudaStream_t that all work is enqueued in; else null
};

/// Computes. One at a time of a net's kernels runs, and allocates nothing. On a GPU, too, each pass makes its calls:
/// they are no part of a recorded graph.
class ROBUSTA_API Kernel {
 public:
  virtual ~Kernel();
  virtual Needs needs() const { return {}; }
  /// Writes tops.
  virtual void forward(const KernelCall& call) = 0;
  /// Writes the bottom_gradients that are wanted, adds to the parameter_gradients that are.
  virtual void backward(const KernelCall& call);
};

/// A layer type: its shapes and parameters, and the kernel that computes it.
class ROBUSTA_API Layer : public Kernel {
 public:
  ~Layer() override;
  virtual Arity arity() const { return {}; }
  /// The shapes of the tops. Called before every planning. Throws Error(ErrorKind::kConfig, cause, fix).
  virtual std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) = 0;
  /// The parameters, after the first infer_tops; the same ever after.
  virtual std::vector<ParameterDecl> parameters() const { return {}; }
  /// A loss weighs its first top by 1 unless the prototxt says otherwise.
  virtual bool is_loss() const { return false; }
  /// False for bottoms that never have a gradient: labels, indices.
  virtual bool allows_gradient(int bottom) const { return true; }
  /// False: the layer has no backward at all.
  virtual bool has_backward() const { return true; }
  /// Where it computes ("cpu", "cuda"), and in what. Elsewhere a net with it is an Error of kind kUnsupported.
  virtual bool runs_on(const std::string& device, DType dtype) const { return device == "cpu" && dtype == DType::kF32; }
};

using LayerFactory = std::function<std::unique_ptr<Layer>(const LayerSpec& spec)>;

/// Makes a type known to all nets built from now on. Throws Error{kUsage} when it is known already. May be called
/// while other threads build nets.
ROBUSTA_API void register_layer(const std::string& type, LayerFactory factory);

/// The types that nets may have now, in alphabetical order.
ROBUSTA_API std::vector<std::string> layer_types();

/// For whom a kernel is wanted. Holds during the call.
struct KernelRequest {
  LayerSpec spec;
  std::string device;  ///< "cpu" or "cuda"
  DType dtype = DType::kF32;
  std::span<const Shape> bottoms, tops, parameters;
  bool backward = false;
};

/// Returns null to decline, and says why.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& why_not)>;

/// One more way to compute a layer type that is there. It is asked before all of lower priority: reference kernels
/// have 0, the library's fastest 40. `backend` is its name, for NetOptions::kernels and reports.
ROBUSTA_API void register_kernel(const std::string& type, const std::string& backend, int priority,
                                 KernelFactory factory);

/// Loads a plugin; once loaded it stays. Throws Error: kUsage where there is no such file, kUnsupported where it is
/// no plugin or one for another version of these headers, and what its registration throws.
ROBUSTA_API void load_plugin(const std::string& path);

/// Incremented whenever these headers change what a plugin was compiled with.
inline constexpr int kPluginAbi = 1;

}  // namespace robusta::ROBUSTA_V1

/// Once per plugin, at namespace scope, followed by a body that registers its layers and kernels.
#define ROBUSTA_PLUGIN()                                                            \
  extern "C" ROBUSTA_API int robusta_plugin_abi() { return ::robusta::kPluginAbi; } \
  extern "C" ROBUSTA_API void robusta_plugin_register();                            \
  void robusta_plugin_register()
