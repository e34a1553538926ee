// Settings of the process. All but the log's are read and written under the interpreter's lock.

#include "settings.h"

#include <pybind11/stl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "robusta/error.h"
#include "robusta/layer.h"
#include "robusta/log.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

struct Settings {
  bool on_gpu = false;
  int device = 0;
  bool seeded = false;
  uint64_t seed = 0;
};

Settings& settings() {
  static Settings made;
  return made;
}

std::atomic<int> lowest_severity = 0;

/// "I1124 05:12:33.123456  4711 net.cpp:12] text", as programs of Caffe write it: parsers of logs know that.
void print_line(const LogLine& line) {
  const int severity = static_cast<int>(line.severity);
  if (severity < lowest_severity) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  const std::string file = line.file;
  std::fprintf(stderr, "%c%02d%02d %02d:%02d:%02d.%06ld %5d %s:%d] %.*s\n", "IWE"[severity], local.tm_mon + 1,
               local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000, getpid(),
               file.substr(file.rfind('/') + 1).c_str(), line.line, static_cast<int>(line.text.size()),
               line.text.data());
}

/// level: lines below it are dropped; 0 shows all, 1 warnings, 2 errors.
void init_log(int level, bool) {
  lowest_severity = level;
  set_log_sink(print_line);
}

void init_log_by_environment() {
  const char* level = std::getenv("GLOG_minloglevel");
  init_log(level ? std::atoi(level) : 0, true);
}

void set_device(int device) {
  if (device < 0) throw Error(ErrorKind::kUsage, "set_device(" + std::to_string(device) + ")", "devices count from 0");
  settings().device = device;
}

void set_random_seed(int64_t seed) {
  settings().seeded = true;
  settings().seed = static_cast<uint64_t>(seed);
}

}  // namespace

int gpu_in_use() { return settings().on_gpu ? settings().device : -1; }

uint64_t next_seed() {
  if (!settings().seeded) return std::random_device{}();
  return settings().seed++;
}

int64_t seed_of_solver() {
  return settings().seeded ? static_cast<int64_t>(settings().seed & 0x7fffffffffffffff) : -1;
}

std::string file_name(const py::object& path) {
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(path.ptr(), &bytes)) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

void add_settings(py::module_& module) {
  init_log_by_environment();
  module.def("set_mode_cpu", [] { settings().on_gpu = false; });
  module.def("set_mode_gpu", [] { settings().on_gpu = true; });
  module.def("set_device", &set_device, py::arg("device"), "The GPU of nets that are built in mode GPU from now on.");
  module.def("set_random_seed", &set_random_seed, py::arg("seed"));
  module.def("init_log", &init_log, py::arg("level") = 0, py::arg("stderr") = true);
  module.def("log", [](const std::string& text) {
    print_line({.severity = Severity::kInfo, .file = "script", .line = 0, .text = text});
  });
  module.def("layer_type_list", [] { return layer_types(); }, "The layer types that prototxts may name.");
}

}  // namespace robusta::python
