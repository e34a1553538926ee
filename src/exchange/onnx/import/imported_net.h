/// A net that was made of a model of ONNX, and which of its blobs are the model's inputs and outputs.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "tensor/shape.h"

namespace robusta {

/// A value of the model, and the blob that holds it.
struct ImportedBlob {
  std::string value, blob;
  Shape shape;
};

struct ImportedNet {
  caffe::NetParameter net;  ///< with the arrays of its layers
  std::vector<ImportedBlob> inputs, outputs;
  std::vector<std::string> warnings;  ///< which other Caffes read the net otherwise
};

}  // namespace robusta
