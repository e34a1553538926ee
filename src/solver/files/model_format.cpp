// The registry of model formats. They register when the program is loaded, in any order.
#include "solver/files/model_format.h"

#include <unistd.h>

#include <map>

#include "base/input_file.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::map<std::string, std::unique_ptr<ModelFormat>>& formats() {
  static std::map<std::string, std::unique_ptr<ModelFormat>> all;
  return all;
}

std::string name_of(caffe::SolverParameter::SnapshotFormat format) {
  return caffe::SolverParameter::SnapshotFormat_Name(format);
}

}  // namespace

bool register_model_format(const std::string& name, std::unique_ptr<ModelFormat> format) {
  return formats().emplace(name, std::move(format)).second;
}

std::vector<const ModelFormat*> model_formats() {
  std::vector<const ModelFormat*> all;
  for (const auto& [name, format] : formats()) all.push_back(format.get());
  return all;
}

const ModelFormat& default_format() {
  return *formats().at(name_of(caffe::SolverParameter::default_instance().snapshot_format()));
}

const ModelFormat& format_of_solver(const SolverDef& solver) {
  const std::string name = name_of(solver.param.snapshot_format());
  if (const auto found = formats().find(name); found != formats().end()) return *found->second;
  throw Error(ErrorKind::kUnsupported, str("snapshot_format ", name, " is not in this build"), "use BINARYPROTO")
      .at(solver.where("snapshot_format"));
}

const ModelFormat& format_of_file(const std::string& path) {
  const InputFile file = open_input_file(path, ErrorKind::kModel);
  std::string beginning(ModelFormat::kBeginning, '\0');
  const ssize_t got = ::pread(file.descriptor.get(), beginning.data(), beginning.size(), 0);
  beginning.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  for (const auto& [name, format] : formats()) {
    if (format->recognises(beginning)) return *format;
  }
  return default_format();
}

}  // namespace robusta
