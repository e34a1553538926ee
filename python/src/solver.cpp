// _caffe.Solver: what pycaffe.py makes the solvers of, one class per rule of updates.

#include "solver.h"

#include <pybind11/stl.h>

#include "settings.h"
#include "solver_core.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using SolverPtr = std::shared_ptr<SolverCore>;

SolverPtr make_solver(const py::object& file, const std::string& rule, const std::shared_ptr<Ranks>& ranks,
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

void solve(const SolverPtr& core, const py::object& state) {
  if (!state.is_none()) core->restore(file_name(state));
  core->solve();
}

py::tuple snapshot(const SolverPtr& core) {
  const SnapshotFiles files = core->snapshot();
  return py::make_tuple(files.model, files.state);
}

/// Whether __init__ has made it.
bool is_built(PyObject* self) {
  return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().holder_constructed();
}

template <typename Value>
auto asked(Value (Solver::*question)() const) {
  return [question](const SolverPtr& core) {
    const Guard::Use use(core->guard());
    return (core->solver().*question)();
  };
}

/// A callback that knows its solver makes a cycle, which Python breaks when nothing else leads to it.
int visit(PyObject* self, visitproc visit, void* arg) {
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_VISIT(*dict);
  Py_VISIT(Py_TYPE(self));
  if (!is_built(self)) return 0;
  SolverCore& core = *py::cast<SolverPtr>(py::handle(self));
  for (const auto* callbacks : {&core.on_start(), &core.on_gradients()}) {
    for (const py::object& callback : *callbacks) Py_VISIT(callback.ptr());
  }
  return 0;
}

int clear(PyObject* self) {
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_CLEAR(*dict);
  if (!is_built(self)) return 0;
  SolverCore& core = *py::cast<SolverPtr>(py::handle(self));
  const auto on_start = std::exchange(core.on_start(), {});
  const auto on_gradients = std::exchange(core.on_gradients(), {});
  return 0;
}

void take_part_in_collection(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = visit;
  type->ht_type.tp_clear = clear;
}

}  // namespace

void add_solver(py::module_& module) {
  py::class_<SolverCore, SolverPtr> solver(module, "Solver", py::dynamic_attr(),
                                      py::custom_type_setup(&take_part_in_collection), "A solver.");
  solver
      .def(py::init(&make_solver), py::arg("solver_file"), py::arg("rule") = "", py::arg("communicator") = nullptr,
           py::arg("kernels") = "auto", py::arg("precision") = "")
      .def_property_readonly("net", [](const SolverPtr& core) { return core->net(); })
      .def_property_readonly("test_nets", [](const SolverPtr& core) { return core->test_nets(); })
      .def_property_readonly("iter", [](const SolverPtr& core) { return core->iteration(); }, "Iterations that are done.")
      .def_property_readonly("lr", [](const SolverPtr& core) { return core->rate(); }, "The learning rate of the next iteration.")
      .def_property_readonly("max_iter", asked(&Solver::max_iteration))
      .def("_settings", asked(&Solver::settings))
      .def("step", [](const SolverPtr& core, int iterations) { core->step(iterations); }, py::arg("iterations"), "Trains so many iterations.")
      .def("solve", &solve, py::arg("resume_file") = py::none(),
           "Trains to max_iter. Ctrl-C ends it with a snapshot and KeyboardInterrupt.")
      .def("test", [](const SolverPtr& core) { core->test(); }, "Runs all test nets; what they give goes to the log.")
      .def("snapshot", &snapshot, "Writes a snapshot; returns the names of its two files.")
      .def("restore", [](const SolverPtr& core, const py::object& state) { core->restore(file_name(state)); },
           py::arg("state"), "Goes on from a .solverstate. Arrays from before are no longer the nets'.")
      .def("add_callback", [](const SolverPtr& core, const py::object& start, const py::object& ready) { core->add_callbacks(start, ready); },
           py::arg("on_start"), py::arg("on_gradients_ready") = py::none(),
           "Calls on_start() before every iteration, and on_gradients_ready() before its update.");
}

}  // namespace robusta::python
