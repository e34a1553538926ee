// InnerProduct: fields, shapes and parameters.
//
// Weights are stored as [outputs, inputs], as Caffe's, unless `transpose` asks for the other order. Their shape is
// fixed by the first input: a later one may have more rows, but no other number of inputs.

#include "layers/types/inner_product/inner_product.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"

namespace robusta {

InnerProductLayer::InnerProductLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.inner_product_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of values that this layer puts out")
        .in_field("inner_product_param.num_output");
  }
  if (normalizes() && transposed()) {
    throw Error(ErrorKind::kConfig,
                "normalize divides rows of weights, and with transpose those of an output are columns",
                "leave transpose out")
        .in_field("inner_product_param.normalize");
  }
}

std::vector<Shape> InnerProductLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& bottom = bottoms[0];
  const int axis = canonical_axis(bottom, param().inner_product_param().axis(), "inner_product_param.axis");
  const int64_t rows = bottom.count(0, axis), inputs = bottom.count(axis);
  const Shape weights = transposed() ? Shape{inputs, outputs()} : Shape{outputs(), inputs};
  check_extents(weights);
  weights_.fix(weights, "weights");
  size_ = {rows, inputs, outputs(), transposed()};
  std::vector<int64_t> dims = bottom.slice(0, axis).dims();
  dims.push_back(outputs());
  check_extents(Shape(dims));
  return {Shape(dims)};
}

std::vector<ParamDecl> InnerProductLayer::params() const {
  const auto& p = param().inner_product_param();
  std::vector<ParamDecl> decls{{weights_.get(), &p.weight_filler()}};
  check_filler(p.weight_filler(), decls[0].shape, "inner_product_param.weight_filler");
  if (!has_bias()) return decls;
  decls.push_back({Shape{outputs()}, &p.bias_filler()});
  check_filler(p.bias_filler(), decls[1].shape, "inner_product_param.bias_filler");
  return decls;
}

void InnerProductLayer::cut(ModelGroup& group) {
  const auto refuse = [](const std::string& cause, const std::string& fix, const char* field) {
    throw Error(ErrorKind::kConfig, cause, fix).in_field(str("inner_product_param.", field));
  };
  const int64_t parts = group.parts();
  if (outputs() % parts != 0) {
    refuse(str("num_output ", outputs(), " cannot be cut into ", parts, " equal parts (model_parts)"),
           str("give a multiple of ", parts, ", such as ", (outputs() / parts + 1) * parts,
               ", or model_parts that divide it"),
           "num_output");
  }
  if (transposed()) {
    refuse("transpose with model_parts: the weights of an output are a column, and parts are made of rows",
           "leave transpose or model_parts out", "transpose");
  }
  if (normalizes()) {
    refuse("normalize with model_parts: each pass rewrites all weights, and a rank has its own part of them",
           "leave normalize or model_parts out", "normalize");
  }
  group_ = &group;
}

double InnerProductLayer::forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const {
  const double values = static_cast<double>(size_.rows) * static_cast<double>(outputs());
  return values * (2.0 * static_cast<double>(size_.inputs) + (has_bias() ? 1 : 0));
}

ROBUSTA_REGISTER_LAYER("InnerProduct", InnerProductLayer);

}  // namespace robusta
