/// caffe.Net's half in C++.
#pragma once

#include "net_core.h"

namespace robusta::python {

/// Copies the arrays of layers with the same name from a file.
void copy_from(NetCore& core, const pybind11::object& path);
void add_net(pybind11::module_& module);

}  // namespace robusta::python
