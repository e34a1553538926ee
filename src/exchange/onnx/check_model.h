/// Whether a model of ONNX computes what a net computes, asked of onnxruntime, where a Python has it.
///
/// Both get the same numbers in all inputs, once. Arrays travel as files in a folder of their own, which goes with the
/// check; the Python is started without a shell.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"

namespace robusta {

struct OutputDifference {
  std::string blob;
  double largest_difference = 0, largest_value = 0;
  /// As a share of the largest value, or of 1e-3 where all are smaller.
  double share() const;
};

struct ModelCheck {
  bool ran = false;
  std::string why_not;  ///< where it did not run: what is missing, and how to get it
  std::vector<OutputDifference> outputs;
};

/// `net` has to compute the same as the model at `path`, whose inputs and outputs are these blobs of it, in order.
/// `python` is found on PATH unless it has a slash. Throws Error{kInternal} where onnxruntime refuses the model or
/// makes arrays of other shapes.
ModelCheck check_model(const std::string& path, const std::string& python, Net& net,
                       const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace robusta
