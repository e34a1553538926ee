/// Exceptions of layers' code as Errors, with which take_exception (layer.h) finds them again.
#pragma once

#include "layer.h"

namespace robusta::python {

/// REQUIRES: the interpreter's lock.
[[noreturn]] void throw_as_error(pybind11::error_already_set& error);

}  // namespace robusta::python
