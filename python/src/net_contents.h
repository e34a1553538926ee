/// What a net holds, on its way into another one of the same layers.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "layer.h"
#include "robusta/net.h"

namespace robusta::python {

struct NetContents {
  struct Parameter {
    std::string layer;
    int index = 0;
    bool is_gradient = false;
    std::vector<float> values;
  };
  std::vector<InputShape> inputs;
  uint64_t position = 0;
  std::map<std::string, std::vector<float>> blobs, gradients;
  std::vector<Parameter> parameters;
  LayerObjects layers;  ///< of type "Python": the new net has the same ones

  /// With the gradients, if the net has any.
  static NetContents of(const Net& net, bool gradients);
  /// Into a net whose inputs have the shapes that these say. What does not fit is left: blobs of other shapes,
  /// and parameters of layers that `lender` (null: none) has, too.
  void write_to(Net& net, const Net* lender) const;
  /// Inputs whose shapes differ from those that the net has.
  std::vector<InputShape> shapes_to_give(const Net& net) const;
};

}  // namespace robusta::python
