// The extension `_caffe`: what of `import caffe` is not written in Python.

#include <pybind11/numpy.h>

#include "blob.h"
#include "communicator.h"
#include "errors.h"
#include "guard.h"
#include "layer.h"
#include "net.h"
#include "robusta/version.h"
#include "settings.h"
#include "solver.h"
#ifdef ROBUSTA_PROGRAM  // in a wheel
#include "program.h"
#endif

PYBIND11_MODULE(_caffe, module) {
  using namespace robusta::python;
  module.attr("__version__") = ROBUSTA_VERSION;
  pybind11::dtype::of<float>();  // loads numpy now, and not within somebody's pass
  add_errors(module);
  add_settings(module);
  add_communicator(module);
  add_blob(module);
  add_net(module);
  add_solver(module);
  add_layers(module);
#ifdef ROBUSTA_PROGRAM
  add_program(module);
#endif
  // Nets end before the interpreter does: passes of other threads need its lock when they are through.
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function(&end_passes));
}
