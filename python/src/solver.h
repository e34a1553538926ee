/// caffe.SGDSolver and the others, their half in C++.
#pragma once

#include <pybind11/pybind11.h>

namespace robusta::python {

void add_solver(pybind11::module_& module);

}  // namespace robusta::python
