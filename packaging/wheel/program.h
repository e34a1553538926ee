/// The program `caffe` of a wheel: its actions are in the extension, and Python starts them.
#pragma once

#include <pybind11/pybind11.h>

namespace robusta::python {

/// Makes _run_program(words), which does what `caffe` does and returns its exit code.
void add_program(pybind11::module_& module);

}  // namespace robusta::python
