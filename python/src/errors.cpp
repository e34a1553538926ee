// One class of exception: its attributes tell what kinds of it programs may want to tell apart.

#include "errors.h"

#include <string>

#include "layer.h"
#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

PyObject* error_type = nullptr;  // lives as long as the interpreter

/// Bytes of paths and names need not be UTF-8.
py::object text(const std::string& bytes) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

void add_location(const py::object& exception, const std::string& location) {
  const size_t colon = location.rfind(':');
  constexpr size_t kMostDigits = 9;  // more are a part of a name
  const bool has_line = colon != std::string::npos && colon + 1 < location.size() &&
                        location.size() - colon - 1 <= kMostDigits &&
                        location.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  exception.attr("file") = location.empty() ? py::object(py::none()) : text(location.substr(0, has_line ? colon : location.size()));
  exception.attr("line") = has_line ? py::object(py::int_(std::stol(location.substr(colon + 1)))) : py::none();
}

py::object filled_or_none(const std::string& value) { return value.empty() ? py::object(py::none()) : text(value); }

void raise(const Error& error) {
  const py::object origin = take_exception(error);
  if (origin && PyErr_GivenExceptionMatches(origin.ptr(), PyExc_KeyboardInterrupt)) {
    PyErr_SetObject(PyExc_KeyboardInterrupt, origin.ptr());
    return;
  }
  const auto exception = py::reinterpret_steal<py::object>(PyObject_CallOneArg(error_type, text(error.what()).ptr()));
  if (!exception) return;
  add_location(exception, error.location());
  exception.attr("kind") = static_cast<int>(error.kind());
  exception.attr("layer") = filled_or_none(error.layer());
  exception.attr("field") = filled_or_none(error.field());
  exception.attr("cause") = text(error.cause());
  exception.attr("fix") = filled_or_none(error.fix());
  if (origin) PyException_SetCause(exception.ptr(), py::object(origin).release().ptr());
  PyErr_SetObject(error_type, exception.ptr());
}

}  // namespace

void add_errors(py::module_& module) {
  error_type = PyErr_NewExceptionWithDoc("caffe.Error",
                                         "What went wrong in a net, its files or its data.\n\nAttributes: kind (the exit "
                                         "code of the programs), file, line, layer, field,\ncause, fix; None where "
                                         "there is none.",
                                         PyExc_RuntimeError, nullptr);
  module.attr("Error") = py::reinterpret_borrow<py::object>(error_type);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace robusta::python
