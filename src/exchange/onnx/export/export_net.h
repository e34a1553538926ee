/// A net as a model of ONNX: IR 8, operators of set 13, weights inside.
///
/// Inputs and outputs have the names of their blobs; where layers work in place, versions before the last have names of
/// their own, and an input keeps its blob's. What the model computes is what the net computes in TEST, but for
/// rounding, or else it is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "onnx.pb.h"
#include "schema/source.h"

namespace robusta {

struct OnnxExportOptions {
  std::vector<std::string> weights;  ///< files; none: the fillers' numbers
  int64_t batch = 0;                 ///< 0: as the net says
  bool dynamic_batch = false;        ///< the batch is a dimension that is known when the model runs
  bool nms = false;                  ///< DetectionOutput is part of the model, which else ends before it
};

struct OnnxExport {
  onnx::ModelProto model;
  std::unique_ptr<Net> net;                  ///< that computes the same, with these weights
  std::vector<std::string> inputs, outputs;  ///< its blobs, in the order of the model's
  /// With a dynamic batch: the inputs for another batch than the net has.
  std::vector<std::pair<std::string, Shape>> other_inputs;
};

/// `net`: filtered for TEST, without splits. Throws Error{kUnsupported} that names all layers which ONNX has no equal
/// of, each with file and line; Error{kModel} where weights are missing or of other shapes; what building a net throws.
OnnxExport export_to_onnx(const NetDef& net, const OnnxExportOptions& options);

}  // namespace robusta
