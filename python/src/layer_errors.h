/// Exceptions of layers' code as Errors, with which take_exception (layer.h) finds them again.
#pragma once

#include "layer.h"

namespace robusta::python {

/// REQUIRES: the interpreter's lock.
[[noreturn]] void throw_as_error(pybind11::error_already_set& error);
/// Of a layer whose module, or a package on the way to it, is absent.
[[noreturn]] void throw_module_missing(pybind11::error_already_set& error, const std::string& module,
                                       const std::string& layer);

}  // namespace robusta::python
