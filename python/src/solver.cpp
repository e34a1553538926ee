// _caffe.Solver: what pycaffe.py makes the solvers of, one class per rule of updates.

#include "solver.h"

#include <pybind11/stl.h>

#include "settings.h"
#include "solver_core.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using Core = std::shared_ptr<SolverCore>;

Core make_solver(const py::object& file, const std::string& rule, const std::shared_ptr<Ranks>& ranks,
                 const std::string& kernels, const std::string& precision) {
  SolverOptions options;
  options.type = rule;
  options.gpu = gpu_in_use();
  options.seed = seed_of_solver();
  options.kernels = kernels;
  options.precision = precision;
  options.keep_blobs = true;
  return std::make_shared<SolverCore>(file_name(file), options, ranks);
}

void solve(SolverCore& core, const py::object& state) {
  if (!state.is_none()) core.restore(file_name(state));
  core.solve();
}

py::tuple snapshot(SolverCore& core) {
  const SnapshotFiles files = core.snapshot();
  return py::make_tuple(files.model, files.state);
}

template <typename Value>
auto asked(Value (Solver::*question)() const) {
  return [question](SolverCore& core) {
    const Guard::Use use(core.guard());
    return (core.solver().*question)();
  };
}

}  // namespace

void add_solver(py::module_& module) {
  py::class_<SolverCore, Core> solver(module, "Solver", py::dynamic_attr(), "A solver.");
  solver
      .def(py::init(&make_solver), py::arg("solver_file"), py::arg("rule") = "", py::arg("communicator") = nullptr,
           py::arg("kernels") = "auto", py::arg("precision") = "")
      .def_property_readonly("net", &SolverCore::net)
      .def_property_readonly("test_nets", &SolverCore::test_nets)
      .def_property_readonly("iter", &SolverCore::iteration, "Iterations that are done.")
      .def_property_readonly("lr", &SolverCore::rate, "The learning rate of the next iteration.")
      .def_property_readonly("max_iter", asked(&Solver::max_iteration))
      .def("_settings", asked(&Solver::settings))
      .def("step", &SolverCore::step, py::arg("iterations"), "Trains so many iterations.")
      .def("solve", &solve, py::arg("resume_file") = py::none(),
           "Trains to max_iter. Ctrl-C ends it with a snapshot and KeyboardInterrupt.")
      .def("test", &SolverCore::test, "Runs all test nets; what they give goes to the log.")
      .def("snapshot", &snapshot, "Writes a snapshot; returns the names of its two files.")
      .def("restore", [](SolverCore& core, const py::object& state) { core.restore(file_name(state)); },
           py::arg("state"), "Goes on from a .solverstate. Arrays from before are no longer the nets'.")
      .def("add_callback", &SolverCore::add_callbacks, py::arg("on_start"), py::arg("on_gradients_ready") = py::none(),
           "Calls on_start() before every iteration, and on_gradients_ready() before its update.");
}

}  // namespace robusta::python
