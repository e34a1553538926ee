// A text is a net unless a field of it is a solver's alone. A binary file is what its reader takes.

#include "inspect/file_kind.h"

#include <optional>

#include "base/looks_binary.h"
#include "schema/read_text.h"
#include "schema/text_file.h"
#include "schema/upgrade.h"
#include "solver/files/model_format.h"

namespace robusta {
namespace {

void read_binary_file(CaffeFile& file) {
  const ModelFormat& format = format_of_file(file.path);
  std::optional<Error> no_weights;
  try {
    file.weights = format.read_model(file.path);
    file.kind = FileKind::kWeights;
    return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kModel) throw;
    no_weights.emplace(error);
  }
  try {
    file.state = format.read_state(file.path);
    file.kind = FileKind::kState;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kModel) throw;
    throw *no_weights;  // says more: that is what most files are
  }
}

SolverDef solver_in(const std::string& text, const std::string& path) {
  SolverDef solver;
  solver.file = path;
  google::protobuf::TextFormat::ParseInfoTree lines;
  parse_text(text, path, &solver.param, &lines);
  upgrade_solver(&solver);
  return solver;
}

/// Of a text that is neither a net nor a solver without fault: which of them it was meant to be.
bool means_solver(const std::string& text) {
  for (const char* field : {"base_lr", "lr_policy", "max_iter", "snapshot_prefix"}) {
    if (text.find(field) != std::string::npos) return true;
  }
  return false;
}

void read_text_file(CaffeFile& file) {
  const std::string text = load_text(file.path);
  try {
    file.solver = solver_in(text, file.path);
    file.kind = FileKind::kSolver;
  } catch (const Error&) {
    if (means_solver(text)) throw;
    file.net = read_net(file.path);
  }
}

}  // namespace

const char* name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kNet:
      return "a net";
    case FileKind::kSolver:
      return "a solver";
    case FileKind::kWeights:
      return "weights";
    case FileKind::kState:
      return "the state of a training";
  }
  return "";
}

CaffeFile read_caffe_file(const std::string& path) {
  CaffeFile file;
  file.path = path;
  if (looks_binary(path, ErrorKind::kModel)) {
    read_binary_file(file);
    return file;
  }
  read_text_file(file);
  return file;
}

}  // namespace robusta
