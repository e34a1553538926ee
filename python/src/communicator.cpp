// Collective calls on numpy arrays, in place, without the interpreter's lock.

#include "communicator.h"

#include <pybind11/numpy.h>

#include <span>

#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using Made = std::shared_ptr<Ranks>;

Made world() {
  const Guard::Unlocked unlocked;
  return std::make_shared<Ranks>(Communicator::world());
}

Made meet(int rank, int size, int port, const std::string& secret, const std::string& host, double seconds) {
  if (port < 1 || port > 65535) throw Error(ErrorKind::kUsage, "the ranks meet at no port", "give one from 1 to 65535");
  const Guard::Unlocked unlocked;
  return std::make_shared<Ranks>(Communicator::meet({.rank = rank,
                                                     .ranks = size,
                                                     .host = host,
                                                     .port = static_cast<uint16_t>(port),
                                                     .secret = secret,
                                                     .seconds = seconds}));
}

/// The memory of an array that a call may change; throws for those that lie in pieces.
void* memory_of(py::array& array) {
  if ((array.flags() & py::array::c_style) == 0) {
    throw Error(ErrorKind::kUsage, "the array does not lie in C order", "pass numpy.ascontiguousarray of it");
  }
  if (array.dtype().attr("hasobject").cast<bool>()) {
    throw Error(ErrorKind::kUsage, "the array holds objects of Python, which mean nothing to another process",
                "pass an array of numbers");
  }
  if (!array.writeable()) throw Error(ErrorKind::kUsage, "the array is read-only", "pass a copy of it");
  return array.mutable_data();
}

template <typename Work>
void collectively(Ranks& ranks, const Work& work) {
  const Guard::Pass pass(ranks.guard);
  work();
}

void broadcast(const Made& made, py::array array, int root) {
  Ranks& ranks = *made;
  void* memory = memory_of(array);
  const auto bytes = static_cast<size_t>(py::int_(array.attr("nbytes")));
  collectively(ranks, [&] { ranks.communicator.broadcast(memory, bytes, root); });
}

void all_reduce(const Made& made, py::array array) {
  Ranks& ranks = *made;
  void* memory = memory_of(array);
  const auto size = static_cast<size_t>(array.size());
  const bool single = py::isinstance<py::array_t<float>>(array);
  if (!single && !py::isinstance<py::array_t<double>>(array)) {
    throw Error(ErrorKind::kUsage, "allreduce sums float32 or float64", "convert the array");
  }
  collectively(ranks, [&] {
    if (single) {
      ranks.communicator.all_reduce(std::span(static_cast<float*>(memory), size));
    } else {
      ranks.communicator.all_reduce(std::span(static_cast<double*>(memory), size));
    }
  });
}

}  // namespace

void add_communicator(py::module_& module) {
  py::class_<Ranks, Made>(module, "Communicator", "The processes that train together; every call is made by all.")
      .def_static("world", &world, "The ranks that mpirun or srun started; one without.")
      .def_static("meet", &meet, py::arg("rank"), py::arg("size"), py::arg("port"), py::arg("secret"),
                  py::arg("host") = "127.0.0.1", py::arg("seconds") = 300.0,
                  "Processes that a script has started itself: they meet where rank 0 listens.")
      .def_static("alone", [] { return std::make_shared<Ranks>(Communicator::alone()); })
      .def_property_readonly("rank", [](const Made& ranks) { return ranks->communicator.rank(); })
      .def_property_readonly("size", [](const Made& ranks) { return ranks->communicator.size(); })
      .def_property_readonly("host", [](const Made& ranks) { return ranks->communicator.host(); })
      .def_property_readonly("local_rank", [](const Made& ranks) { return ranks->communicator.local_rank(); })
      .def_property_readonly("local_size", [](const Made& ranks) { return ranks->communicator.local_size(); })
      .def("barrier", [](const Made& ranks) { collectively(*ranks, [&] { ranks->communicator.barrier(); }); })
      .def("broadcast", &broadcast, py::arg("array"), py::arg("root") = 0)
      .def("allreduce", &all_reduce, py::arg("array"), "Sums over the ranks, in place.");
}

}  // namespace robusta::python
