/// Solver states (.solverstate): all that training needs to go on, beside the weights.
#pragma once

#include <string>

#include "caffe.pb.h"

namespace robusta {

/// Throws Error{kModel} at the path: absent, cut, of 2 GiB or more, or something else (a .caffemodel is recognised and
/// named); Error{kUnsupported} for HDF5.
caffe::SolverState read_state(const std::string& path);

/// Writes the state in one piece. Throws Error{kOutput}, also at 2 GiB and above.
void write_state(const std::string& path, const caffe::SolverState& state);

}  // namespace robusta
