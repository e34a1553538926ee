/// Layers of type "Python": the library's side of caffe/python_layer.py.
#pragma once

#include <pybind11/pybind11.h>

#include "robusta/host_layer.h"

namespace robusta::python {

/// From now on nets make such layers of what scripts define.
void add_layers(pybind11::module_& module);

/// The object of a script's class behind a layer; None for layers of other types.
pybind11::object layer_object(const Net& net, const std::string& layer);

/// The exception of a layer's code that an Error with this cause came from; null: none. It is forgotten here.
/// REQUIRES: the interpreter's lock.
pybind11::object take_exception(const std::string& cause);

}  // namespace robusta::python
