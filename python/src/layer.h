/// Layers of type "Python": the library's side of caffe/python_layer.py.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <string>

#include "robusta/error.h"
#include "robusta/host_layer.h"

namespace robusta::python {

/// From now on nets make such layers of what scripts define.
void add_layers(pybind11::module_& module);

/// The object of a script's class behind a layer; None for layers of other types.
pybind11::object layer_object(const Net& net, const std::string& layer);

/// What runs the layers of a net, by their names. REQUIRES of those who copy or drop one: the interpreter's lock.
using LayerObjects = std::map<std::string, pybind11::object>;
LayerObjects layer_objects(const Net& net);

/// While this lives a net that this thread builds has these layers instead of new ones. Null: new ones.
class UseLayerObjects {
 public:
  explicit UseLayerObjects(const LayerObjects* objects);
  ~UseLayerObjects();
  UseLayerObjects(const UseLayerObjects&) = delete;
  UseLayerObjects& operator=(const UseLayerObjects&) = delete;

 private:
  const LayerObjects* outer_;
};

/// The exception of a layer's code that an Error came from; null: none. It is forgotten here.
/// REQUIRES: the interpreter's lock.
pybind11::object take_exception(const Error& error);
/// Whether that is a KeyboardInterrupt.
bool is_interrupt(const Error& error);

}  // namespace robusta::python
