/// A convolution as cuDNN is asked for it: graphs of the forward pass and of both gradients.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/dnn/graph.h"
#include "layers/types/convolution/library_problem.h"

namespace robusta::dnn {

/// By which memory is bound to the tensors of these graphs.
enum TensorId : int64_t {
  kImage = 1,
  kFilters,
  kResult,
  kBias,
  kAddend,
  kConvolved,
  kBiased,
  kAdded,
  kGate,
  kUngated,
  kSums,
  kSquares
};

/// Null, with a reason, where cuDNN has no such graph.
std::shared_ptr<const Graph> make_graph(Direction direction, const Problem& problem, const Target& target,
                                        std::string& why_not);

}  // namespace robusta::dnn
