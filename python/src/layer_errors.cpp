// Exceptions of layers' code on their way through the library, which knows Errors alone.
//
// What was raised waits here, with the cause that its Error has, until that Error arrives in Python. Passes of several
// threads may raise at a time: each takes its own. On a GPU without hardware layers run on the stream's thread, so that
// an exception which no thread of that number has left is taken from another one.

#include "layer_errors.h"

#include <deque>
#include <thread>

namespace py = pybind11;

namespace robusta::python {
namespace {

struct Raised {
  std::thread::id thread;
  std::string cause;
  py::object exception;
};

/// Under the interpreter's lock. Never destroyed: the interpreter may end first.
std::deque<Raised>& raised() {
  static auto* const made = new std::deque<Raised>;
  return *made;
}

constexpr size_t kMostKept = 64;  // errors that nobody has asked for

std::deque<Raised>::iterator find(const Error& error) {
  std::deque<Raised>& all = raised();
  auto any = all.end();
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (one->cause != error.cause()) continue;
    if (one->thread == std::this_thread::get_id()) return one;
    any = one;
  }
  return any;
}

/// As UTF-8: names of files, and what is said of them, need not be.
std::string bytes_of(const py::object& text) {
  const auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

std::string explained(const py::object& exception) {
  try {
    return bytes_of(py::module_::import("caffe.python_layer").attr("explain")(exception));
  } catch (const py::error_already_set& second) {
    return std::string(Py_TYPE(exception.ptr())->tp_name) + " (and while it was explained: " + second.what() + ")";
  }
}

/// Until its Error, which has this cause, arrives in Python.
void keep(const py::object& exception, const std::string& cause) {
  std::deque<Raised>& all = raised();
  Raised oldest;  // dropped last
  if (all.size() == kMostKept) {
    oldest = std::move(all.front());
    all.pop_front();
  }
  all.push_back({std::this_thread::get_id(), cause, exception});
}

}  // namespace

void throw_as_error(py::error_already_set& error) {
  const py::object exception = error.value();
  if (error.trace()) PyException_SetTraceback(exception.ptr(), error.trace().ptr());
  const bool memory = error.matches(PyExc_MemoryError), missing = error.matches(PyExc_ImportError);
  const std::string cause = "its Python code: " + explained(exception);
  keep(exception, cause);
  throw Error(memory ? ErrorKind::kMemory : ErrorKind::kConfig, cause,
              missing ? "name a module that PYTHONPATH leads to" : "");
}

void throw_module_missing(py::error_already_set& error, const std::string& module, const std::string& layer) {
  const std::string words = bytes_of(py::str(error.value()));
  const std::string cause = "its code is the class " + layer + " of the Python module " + module +
                            ", which is not there (" + words + ")";
  keep(error.value(), cause);
  throw Error(ErrorKind::kConfig, cause, "put it where PYTHONPATH leads to");
}

py::object take_exception(const Error& error) {
  const auto found = find(error);
  if (found == raised().end()) return {};
  py::object exception = std::move(found->exception);
  raised().erase(found);
  return exception;
}

bool is_interrupt(const Error& error) {
  const auto found = find(error);
  return found != raised().end() && PyErr_GivenExceptionMatches(found->exception.ptr(), PyExc_KeyboardInterrupt);
}

}  // namespace robusta::python
