// Models of ONNX: read, and made into nets.

#include "exchange/onnx/file.h"
#include "exchange/onnx/import/import.h"
#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_onnx(std::string_view input) {
  const std::string path = file_of(input);
  const onnx::ModelProto model = read_onnx_file(path);
  for (const int64_t batch : {0, 2}) reads([&] { import_onnx(model, path, {.batch = batch, .shapes = {}}); });
}

[[maybe_unused]] const bool registered_onnx = register_target("onnx", read_onnx);

}  // namespace
}  // namespace robusta::fuzz
