/// Errors of the library as exceptions of Python.
#pragma once

#include <pybind11/pybind11.h>

namespace robusta::python {

/// Makes `caffe.Error`, a RuntimeError with the attributes kind, file, line, layer, field, cause and fix, and has
/// robusta::Error become one wherever a function of the module throws it.
void add_errors(pybind11::module_& module);

}  // namespace robusta::python
