// Parameter: fields, and the reference kernel. The gradient of the parameter is that of the top.

#include "layers/types/parameter/parameter.h"

#include "base/str.h"
#include "layers/kit/elementwise.h"

namespace robusta {

ParameterLayer::ParameterLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& dims = param.parameter_param().shape().dim();
  shape_ = Shape(std::vector<int64_t>(dims.begin(), dims.end()));
  check_extents(shape_);
  if (param.parameter_param().has_shape() && shape_.count() > 0) return;
  throw Error(ErrorKind::kConfig,
              param.parameter_param().has_shape() ? "shape " + shape_.str() + " holds nothing" : "no shape is given",
              "write parameter_param { shape { dim: ... } }")
      .in_field("parameter_param.shape");
}

namespace {

template <typename T>
class ParameterReference : public Kernel {
 public:
  explicit ParameterReference(const KernelRequest&) { booking_.repeatable = true; }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override { copy_unless_shared(run.params[0]->tensor(), run.tops[0]); }

  void backward(const KernelRun& run) override {
    if (!run.params[0]->learns) return;
    const T* dy = run.top_diffs[0].as<T>();
    T* dw = run.params[0]->gradient().template as<T>();
    const bool add = run.accumulate[0];
    parallel_for(run.top_diffs[0].count(), kElementwiseGrain, [=](int64_t i) { dw[i] = add ? dw[i] + dy[i] : dy[i]; });
  }
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Parameter", ParameterLayer);
ROBUSTA_REGISTER_REFERENCE("Parameter", ParameterReference);

}  // namespace robusta
