// The interpreter in `caffe`: a plugin that a net with a layer of type "Python" loads (api/host/host_layers.cpp).
//
// It holds the extension `_caffe`, whose functions are those of the program that loads it, so that `import caffe` in a
// layer's module is this library and no second one. The interpreter is the one that the module was built for, in the
// virtual environment that is active. Signals stay the program's.

#include <Python.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "robusta/error.h"
#include "robusta/layer.h"

extern "C" PyObject* PyInit__caffe();

namespace {

using robusta::Error;
using robusta::ErrorKind;

const std::string kVersion = std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);

/// The virtual environment of the shell; "": none.
std::filesystem::path active_environment() {
  const char* found = std::getenv("VIRTUAL_ENV");
  if (!found || !*found) return {};
  const std::filesystem::path environment = found;
  std::error_code error;
  if (std::filesystem::is_directory(environment / "lib" / ("python" + kVersion), error)) return environment;
  throw Error(ErrorKind::kUnsupported,
              "the active virtual environment " + environment.string() + " is not of Python " + kVersion,
              "activate one that is: this program was built for Python " + kVersion);
}

void check(const PyStatus& status) {
  if (!PyStatus_Exception(status)) return;
  throw Error(ErrorKind::kUnsupported,
              std::string("Python does not start: ") + (status.err_msg ? status.err_msg : "no reason is given"),
              "is Python " + kVersion + " installed?");
}

/// Extension modules such as numpy's look for Python's functions in what is visible to all.
void make_python_visible() {
  Dl_info python{};
  if (dladdr(reinterpret_cast<const void*>(&Py_InitializeFromConfig), &python) == 0) return;
  dlopen(python.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

struct Config : PyConfig {
  Config() { PyConfig_InitPythonConfig(this); }
  ~Config() { PyConfig_Clear(this); }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
};

void initialise() {
  Config config;
  config.parse_argv = 0;
  config.install_signal_handlers = 0;
  const std::filesystem::path environment = active_environment();
  const std::string program =
      environment.empty() ? std::string(ROBUSTA_PYTHON_PROGRAM) : (environment / "bin" / "python3").string();
  check(PyConfig_SetBytesString(&config, &config.program_name, program.c_str()));
  check(Py_InitializeFromConfig(&config));
}

std::filesystem::path own_folder() {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&own_folder), &here);
  std::error_code error;
  return std::filesystem::canonical(here.dli_fname, error).parent_path();
}

std::string words_of(PyObject* exception) {
  PyObject* const text = PyObject_Str(exception);
  const char* const bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string words = bytes ? bytes : "no reason is given";
  Py_XDECREF(text);
  PyErr_Clear();
  return words;
}

/// The words of Python's present exception, which is cleared, and of those that led to it.
std::string problem() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  std::string words;
  for (PyObject* at = value; at;) {
    words += (words.empty() ? "" : ": ") + words_of(at);
    PyObject* const cause = PyException_GetCause(at);
    Py_DECREF(at);
    at = cause;
  }
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return words;
}

/// Puts a folder at the beginning, or at the end, of where Python looks for modules.
bool add_to_path(const std::string& folder, bool first) {
  PyObject* const path = PySys_GetObject("path");
  PyObject* const entry = PyUnicode_DecodeFSDefault(folder.c_str());
  const bool added = path && entry && (first ? PyList_Insert(path, 0, entry) : PyList_Append(path, entry)) == 0;
  Py_XDECREF(entry);
  return added;
}

/// In a build the package lies beside this file, and comes first. As it is installed its folder has other modules, too,
/// and those of the environment come before them. What is in the working directory comes last.
bool prepare_path() {
  const std::filesystem::path here = own_folder();
  std::error_code error;
  const bool of_build = std::filesystem::is_directory(here / "caffe", error);
  const std::filesystem::path package = of_build ? here : (here / ROBUSTA_PYTHON_PACKAGE).lexically_normal();
  return add_to_path(package.string(), of_build) && add_to_path("", false);
}

/// What layers print comes line by line, between the lines of the log and of other ranks.
void print_by_lines() {
  PyRun_SimpleString(
      "import sys\n"
      "for stream in (sys.stdout, sys.stderr):\n"
      "  getattr(stream, 'reconfigure', lambda **_: None)(line_buffering=True)\n");
}

/// Has `from ._caffe import` of the package find the extension in this file.
bool import_package() {
  PyObject* const extension = PyImport_ImportModule("_caffe");
  if (!extension) return false;
  const bool known = PyDict_SetItemString(PyImport_GetModuleDict(), "caffe._caffe", extension) == 0;
  Py_DECREF(extension);
  if (!known) return false;
  PyObject* const package = PyImport_ImportModule("caffe");
  Py_XDECREF(package);
  return package != nullptr;
}

/// Ends the interpreter as `python` does, so that modules close what they hold, where the thread that ends the program
/// is the one that began it: others would have to wait for it.
std::thread::id starter;
void finish() {
  if (std::this_thread::get_id() != starter || !Py_IsInitialized()) return;
  PyGILState_Ensure();
  Py_FinalizeEx();
}

void start() {
  make_python_visible();
  PyImport_AppendInittab("_caffe", &PyInit__caffe);
  initialise();
  starter = std::this_thread::get_id();
  print_by_lines();
  const bool ready = prepare_path() && import_package();
  const std::string why = ready ? "" : problem();
  PyEval_SaveThread();  // nets run without the interpreter's lock
  std::atexit(&finish);
  if (ready) return;
  throw Error(ErrorKind::kUnsupported, "the module caffe for layers of type Python cannot be imported: " + why,
              "install numpy and protobuf in the virtual environment, and activate it");
}

}  // namespace

ROBUSTA_PLUGIN() { start(); }
