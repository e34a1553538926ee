// Who makes layers of type "Python": a script's interpreter, which has said so, or the one that was built beside the
// program, which is loaded when a net first has such a layer.

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include "api/host/host_layer.h"
#include "base/str.h"
#include "layers/kit/known_layers.h"
#include "robusta/layer.h"
#include "robusta/version.h"

namespace robusta::v1 {
namespace {

struct Maker {
  HostLayerFactory factory;
  HostModuleCheck check;
};

struct Makers {
  std::mutex mutex;
  Maker known;
};

/// Never destroyed: nets may end after it would.
Makers& makers() {
  static auto* const made = new Makers;
  return *made;
}

Maker known_maker() {
  const std::lock_guard lock(makers().mutex);
  return makers().known;
}

/// Where the program, or library, that holds this code lies.
std::filesystem::path own_folder() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&set_host_layers), &here) == 0 || !here.dli_fname) return {};
  std::error_code error;
  const auto self = std::filesystem::canonical(here.dli_fname, error);
  // Of a program the loader knows the word by which it was called.
  return (error ? std::filesystem::canonical("/proc/self/exe", error) : self).parent_path();
}

/// Whether plugins find the library's functions in this program.
bool shows_functions() { return dlsym(RTLD_DEFAULT, "robusta_version") != nullptr; }

/// In a folder of a build, and as it is installed. "": nowhere.
std::string interpreter_file() {
  if (!shows_functions()) return "";
  const std::filesystem::path here = own_folder();
  for (const char* place : {"../python", "../lib/robusta", "../" ROBUSTA_LIBDIR "/robusta"}) {
    const std::filesystem::path file = here / place / "robusta_python.so";
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) return file.lexically_normal().string();
  }
  return "";
}

/// Once in a process: Python that has been begun cannot be begun again, and what was missing then still is.
void load_interpreter(const std::string& file) {
  static std::optional<Error> failure;
  if (failure) throw *failure;
  try {
    load_plugin(file);
  } catch (const Error& error) {
    failure = error;
    throw;
  }
}

Maker require_maker() {
  if (Maker known = known_maker(); known.factory) return known;
  // One at a time: an interpreter is started once.
  static std::mutex loading;
  const std::lock_guard lock(loading);
  if (Maker known = known_maker(); known.factory) return known;
  const std::string file = interpreter_file();
  if (!file.empty()) load_interpreter(file);
  if (Maker known = known_maker(); known.factory) return known;
  throw Error(ErrorKind::kUnsupported, "this build has no interpreter for it",
              "build with -DROBUSTA_PYTHON=ON (python3-dev, pybind11-dev), or train from a script: docs/python.md");
}

/// Who does not have the interpreter does not have the module, either: the error names both.
Maker require_maker_for(const caffe::PythonParameter& code) {
  try {
    return require_maker();
  } catch (const Error& error) {
    throw Error(
        error.kind(),
        str("its code is the class ", code.layer(), " of the Python module ", code.module(), ": ", error.cause()),
        error.fix());
  }
}

/// Throws where the layer's module is absent.
void find_module(const caffe::LayerParameter& param) {
  const caffe::PythonParameter& code = param.python_param();
  const Maker maker = require_maker_for(code);
  if (maker.check) maker.check(code.module(), code.layer());
}

std::vector<int> bottoms_in_place(const caffe::LayerParameter& param) {
  std::vector<int> found;
  for (const std::string& top : param.top()) {
    const auto bottom = std::ranges::find(param.bottom(), top);
    found.push_back(bottom == param.bottom().end() ? -1 : static_cast<int>(bottom - param.bottom().begin()));
  }
  return found;
}

/// The layer's first reshape says whether it has parameters.
std::unique_ptr<robusta::Layer> make_python_layer(const caffe::LayerParameter& param) {
  const caffe::PythonParameter& code = param.python_param();
  std::shared_ptr<HostLayer> own = require_maker_for(code).factory({.name = param.name(),
                                                                    .module = code.module(),
                                                                    .layer = code.layer(),
                                                                    .param_str = code.param_str(),
                                                                    .training = param.phase() == caffe::TRAIN,
                                                                    .bottoms = param.bottom_size(),
                                                                    .tops = param.top_size(),
                                                                    .in_place_of = bottoms_in_place(param)});
  if (param.bottom_size() > 0) return std::make_unique<HostNode>(param, std::move(own));
  own->reshape({});
  if (!own->parameters().empty()) return std::make_unique<HostNode>(param, std::move(own));
  return std::make_unique<HostSource>(param, std::move(own));
}

const bool registered_python_layer = robusta::register_layer("Python", make_python_layer);
const bool registered_look = robusta::register_look("Python", find_module);

}  // namespace

void set_host_layers(HostLayerFactory factory, HostModuleCheck check) {
  const std::lock_guard lock(makers().mutex);
  makers().known = {std::move(factory), std::move(check)};
}

}  // namespace robusta::v1
