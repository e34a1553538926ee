/// A model of ONNX as a net of Caffe with its weights.
///
/// Every extent is known when a net is written: dimensions that a model leaves open are given, or are the batch. What
/// does not depend on the inputs is computed here, and leaves no layers. Layers are of BVLC's types wherever these can
/// say the same. Whatever the model holds, what comes back is a net, or an Error that names the file: kUnsupported for
/// what cannot be said in Caffe, with all such nodes at once; kModel for a model that contradicts itself.
#pragma once

#include <map>
#include <string>

#include "exchange/onnx/import/imported_net.h"
#include "onnx.pb.h"
#include "tensor/shape.h"

namespace robusta {

struct OnnxImportOptions {
  int64_t batch = 0;                    ///< > 0: replaces the first dimension of every input
  std::map<std::string, Shape> shapes;  ///< of inputs by name
};

/// `path`: where the model comes from; external data lie beside it.
ImportedNet import_onnx(const onnx::ModelProto& model, const std::string& path, const OnnxImportOptions& options);

/// `net` without the arrays of its layers: the prototxt.
caffe::NetParameter without_arrays(caffe::NetParameter net);

}  // namespace robusta
