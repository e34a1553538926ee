// Gelu by its tanh form (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"): x (1 + tanh(k (x + 0.044715 x^3)))
// / 2, where k^2 = 2 / pi. The exact form wants an error function, which Caffe does not have.

#include <cmath>
#include <numbers>

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

void emit_gelu(ImportNode& node) {
  const std::string form = node.text("approximate", "none");
  if (form != "tanh")
    node.refuse("attribute approximate", str("it is \"", form, "\", and Caffe has no error function"),
                "train with approximate \"tanh\"");
  constexpr double kCubic = 0.044715;
  const double k = std::sqrt(2 * std::numbers::inv_pi);
  const std::string x = node.blob(0), cube = node.power(x, 3, 1, 0);
  const std::string inner = node.layer("Eltwise", {x, cube}, [&](caffe::LayerParameter& param) {
    param.mutable_eltwise_param()->add_coeff(static_cast<float>(k));
    param.mutable_eltwise_param()->add_coeff(static_cast<float>(k * kCubic));
  });
  const std::string gate = node.power(node.layer("TanH", {inner}), 1, 0.5, 0.5);
  node.output(node.layer("Eltwise", {x, gate}, [](caffe::LayerParameter& param) {
    param.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  }));
}

[[maybe_unused]] const bool registered_gelu = register_onnx_operator("Gelu", emit_gelu);

}  // namespace
}  // namespace robusta
