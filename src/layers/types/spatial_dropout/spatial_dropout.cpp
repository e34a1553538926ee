// SpatialDropout: fields, shapes, the channels that stay, and the reference kernel. Backward draws the same channels
// again instead of keeping them.

#include "layers/types/spatial_dropout/spatial_dropout.h"

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/alias_kernel.h"
#include "layers/kit/bottom_checks.h"

namespace robusta {

SpatialDropoutLayer::SpatialDropoutLayer(const caffe::LayerParameter& param) : Layer(param) {
  const caffe::DropoutParameter& p = param.dropout_param();
  if (!p.scale_train() || p.sample_weights_test()) {
    throw Error(ErrorKind::kConfig, "SpatialDropout scales when training and drops nothing when testing",
                "leave the field out, or make the layer a Dropout")
        .in_field(p.scale_train() ? "dropout_param.sample_weights_test" : "dropout_param.scale_train");
  }
  if (ratio() >= 0 && (ratio() < 1 || (ratio() == 1 && !training()))) return;
  throw Error(ErrorKind::kConfig, str("dropout_ratio ", ratio(), " is not a share that leaves anything"),
              "give a number from 0 up to, but not including, 1")
      .in_field("dropout_param.dropout_ratio");
}

std::vector<Shape> SpatialDropoutLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (bottoms[0].axes() < 2) {
    throw Error(ErrorKind::kConfig, str("takes an input of batch, channels and further axes, not ", bottoms[0].str()));
  }
  planes_ = bottoms[0].count(0, 2);
  plane_ = bottoms[0].count(2);
  return bottoms;
}

ChannelFactors::ChannelFactors(const SpatialDropoutLayer& layer, const KernelRun& run)
    : first_sample(run.first_sample),
      threshold(static_cast<uint32_t>(std::ldexp(layer.ratio(), 32))),
      scale(1 / (1 - layer.ratio())) {
  const Pass& pass = *run.pass;
  const int64_t own_seed = layer.param().dropout_param().random_seed();
  key = random_key(own_seed >= 0 ? static_cast<uint64_t>(own_seed) : pass.seed, layer.name(), "dropout");
  // A blob that is not made of samples counts as a part of the first one.
  const int64_t samples = pass.batch > 0 && layer.planes() % pass.batch == 0 ? pass.batch : 1;
  per_sample = layer.planes() / samples;
}

namespace {

template <typename T>
class SpatialDropoutReference : public Kernel {
 public:
  explicit SpatialDropoutReference(const KernelRequest& request) : layer_(request.layer<SpatialDropoutLayer>()) {
    book_spatial_dropout(booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override { apply(run, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) apply(run, run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const {
    const ChannelFactors factor_of(layer_, run);
    const T* x = from.as<T>();
    T* y = to.as<T>();
    parallel_for(layer_.planes(), 1 + (1 << 14) / layer_.plane(), [&](int64_t plane) {
      const T factor = factor_of(plane);
      const int64_t begin = plane * layer_.plane();
      for (int64_t i = begin; i < begin + layer_.plane(); ++i) y[i] = factor == 0 ? T{0} : factor * x[i];
    });
  }

  const SpatialDropoutLayer& layer_;
};

std::unique_ptr<Kernel> make_spatial_dropout_reference(const KernelRequest& request, std::string& why_not) {
  if (!request.layers[0]->training()) return make_plain_alias(request, why_not);
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<SpatialDropoutReference<decltype(t)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_LAYER("SpatialDropout", SpatialDropoutLayer);
ROBUSTA_REGISTER_KERNEL("SpatialDropout", "reference", 0, make_spatial_dropout_reference);

}  // namespace robusta
