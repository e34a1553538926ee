/// What a file of Caffe's holds, told by its content.
#pragma once

#include <string>

#include "schema/source.h"
#include "schema/weights_file.h"

namespace robusta {

enum class FileKind { kNet, kSolver, kWeights, kState };

/// "a net", "weights" and so on, for messages.
const char* name_of(FileKind kind);

/// A file that was read, as what it is: the member of its kind is set.
struct CaffeFile {
  FileKind kind = FileKind::kNet;
  std::string path;
  NetDef net;
  SolverDef solver;  ///< with its own fields alone: no default has been filled in
  WeightsFile weights;
  caffe::SolverState state;
};

/// Throws Error{kConfig} at the line for a text that is neither net nor solver, Error{kModel} for a binary file that is
/// neither weights nor state.
CaffeFile read_caffe_file(const std::string& path);

}  // namespace robusta
