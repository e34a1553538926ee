/// Layers of type "Python": their code, in another language than C++, sees arrays on the host and gives its tops sizes
/// as it runs. For who binds such a language to the library; layers in C++ are those of robusta/layer.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "robusta/export.h"
#include "robusta/tensor.h"

namespace robusta::ROBUSTA_V1 {

class Net;

/// The arrays of one call, of f32 on the host in C order, valid during the call.
struct HostCall {
  std::span<const TensorView> bottoms = {};  ///< of forward
  /// Of forward and backward. What is written into them is the net's from then on.
  std::span<const TensorView> parameters = {};
  std::span<const TensorView> top_gradients = {};
  std::span<const TensorView> bottom_gradients = {};     ///< to be written; null data: not wanted
  std::span<const TensorView> parameter_gradients = {};  ///< to be added to; null data: not wanted
};

/// One layer of a net, which calls it from one thread at a time. Whatever goes wrong is thrown as an Error; the net
/// adds the layer's name and line.
class ROBUSTA_API HostLayer {
 public:
  virtual ~HostLayer();
  /// The bottoms have these shapes. Called at first, where they change, and before each forward.
  virtual void reshape(const std::vector<Shape>& bottoms) = 0;
  /// As reshape, or the last forward, has left them.
  virtual std::vector<Shape> tops() const = 0;
  /// After the first reshape, with what they hold before training; the same ones ever after.
  virtual std::vector<TensorView> parameters() const = 0;
  /// Returns the tops, in memory that stays until the next call. Where the layer has no parameters they may have any
  /// shapes, those of tops() from then on.
  virtual std::vector<TensorView> forward(const HostCall& call) = 0;
  /// Follows a forward pass.
  virtual void backward(const HostCall& call) = 0;
};

/// What the prototxt says of such a layer.
struct HostLayerSpec {
  std::string name;
  std::string module, layer, param_str;  ///< of python_param
  bool training = false;
  int bottoms = 0, tops = 0;
  std::vector<int> in_place_of = {};  ///< per top: the bottom of the same name, which it takes the place of; -1: none
};

/// Throws Error.
using HostLayerFactory = std::function<std::unique_ptr<HostLayer>(const HostLayerSpec& spec)>;

/// Throws Error where the module, or what leads to it, is absent. Asked of all such layers of a net before any is made,
/// so that one message names all modules that are missing; the factory may still throw.
using HostModuleCheck = std::function<void(const std::string& module, const std::string& layer)>;

/// Says who makes layers of type "Python" from now on. Before that a net which has one loads the interpreter that was
/// built with the library, or is an Error of kind kUnsupported.
ROBUSTA_API void set_host_layers(HostLayerFactory factory, HostModuleCheck check = {});

/// What was made for this layer of a net; null for a layer of another type, and where there is none of that name.
ROBUSTA_API std::shared_ptr<HostLayer> host_layer(const Net& net, const std::string& layer);

}  // namespace robusta::ROBUSTA_V1
