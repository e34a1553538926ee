// InnerProduct: shapes, and the reference kernel (three matrix products).

#include "layers/types/inner_product/inner_product.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/kernel.h"
#include "ops/gemm.h"

namespace robusta {

InnerProductLayer::InnerProductLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.inner_product_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of values that this layer puts out")
        .in_field("inner_product_param.num_output");
  }
  if (p.relu()) {
    throw Error(ErrorKind::kUnsupported, "a ReLU inside inner_product_param is not supported",
                "write it as a layer of its own: fusing is done when the net is planned")
        .in_field("inner_product_param.relu");
  }
}

std::vector<Shape> InnerProductLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& bottom = bottoms[0];
  const int axis = canonical_axis(bottom, param().inner_product_param().axis(), "inner_product_param.axis");
  const int64_t rows = bottom.count(0, axis), inputs = bottom.count(axis);
  const Shape weights = transposed() ? Shape{inputs, outputs()} : Shape{outputs(), inputs};
  check_extents(weights);
  weights_.settle(weights, "weights");
  rows_ = rows;
  inputs_ = inputs;
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

double InnerProductLayer::forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const {
  const double values = static_cast<double>(rows_) * static_cast<double>(outputs());
  return values * (2.0 * static_cast<double>(inputs_) + (has_bias() ? 1 : 0));
}

namespace {

template <typename T>
class InnerProductReference : public Kernel {
 public:
  explicit InnerProductReference(const KernelRequest& request) {
    const auto& layer = request.layer<InnerProductLayer>();
    rows_ = layer.rows();
    inputs_ = layer.inputs();
    outputs_ = layer.outputs();
    transposed_ = layer.transposed();
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    const T* bias = run.params.size() > 1 ? run.params[1]->tensor().as<T>() : nullptr;
    for (int64_t r = 0; bias && r < rows_; ++r) std::copy(bias, bias + outputs_, y + r * outputs_);
    gemm<T>(Op::kPlain, transposed_ ? Op::kPlain : Op::kTransposed, rows_, outputs_, inputs_, 1, run.bottoms[0].as<T>(),
            run.params[0]->tensor().as<T>(), bias ? 1 : 0, y);
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    if (run.params[0]->learns) {
      weight_gradient(run.bottoms[0].as<T>(), dy, run.accumulate[0] ? 1 : 0, run.params[0]->gradient().as<T>());
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      bias_gradient(dy, run.accumulate[1] != 0, run.params[1]->gradient().as<T>());
    }
    if (run.bottom_diffs[0]) {
      gemm<T>(Op::kPlain, transposed_ ? Op::kTransposed : Op::kPlain, rows_, inputs_, outputs_, 1, dy,
              run.params[0]->tensor().as<T>(), 0, run.bottom_diffs[0].as<T>());
    }
  }

 private:
  void weight_gradient(const T* x, const T* dy, T beta, T* dw) const {
    if (transposed_) {
      gemm<T>(Op::kTransposed, Op::kPlain, inputs_, outputs_, rows_, 1, x, dy, beta, dw);
    } else {
      gemm<T>(Op::kTransposed, Op::kPlain, outputs_, inputs_, rows_, 1, dy, x, beta, dw);
    }
  }

  void bias_gradient(const T* dy, bool add, T* db) const {
    parallel_for(outputs_, 1 + (1 << 14) / rows_, [=, this](int64_t o) {
      double sum = add ? db[o] : T{0};
      for (int64_t r = 0; r < rows_; ++r) sum += dy[r * outputs_ + o];
      db[o] = static_cast<T>(sum);
    });
  }

  int64_t rows_, inputs_, outputs_;
  bool transposed_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("InnerProduct", InnerProductLayer);
ROBUSTA_REGISTER_REFERENCE("InnerProduct", InnerProductReference);

}  // namespace robusta
