// Models of ONNX: read, and the elements of all their arrays, as floats and as whole numbers.

#include "exchange/onnx/file.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_onnx_arrays(std::string_view input) {
  const std::string path = file_of(input);
  onnx::ModelProto model;
  if (!reads([&] { model = read_onnx_file(path); })) return;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    reads([&] { tensor_values(tensor, path); });
    reads([&] { tensor_integers(tensor, path); });
  }
}

[[maybe_unused]] const bool registered_onnx_file = register_target("onnx_file", read_onnx_arrays);

}  // namespace
}  // namespace robusta::fuzz
