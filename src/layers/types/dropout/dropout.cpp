// Dropout: meaning, mask and reference kernel (Srivastava et al. 2014, "inverted": survivors are scaled up when
// training, so that nothing is left to do when testing).
//
// y = m * x / (1 - ratio) with m = 0 or 1, and dx = m * dy / (1 - ratio): backward draws the same mask again instead of
// keeping it.

#include "layers/types/dropout/dropout.h"

#include <cmath>

#include "base/str.h"
#include "layers/kit/alias_kernel.h"
#include "layers/kit/elementwise.h"

namespace robusta {

DropoutLayer::DropoutLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (!(ratio() >= 0 && (ratio() < 1 || (ratio() == 1 && !drops())))) {
    throw Error(ErrorKind::kConfig, str("dropout_ratio ", ratio(), " is not a share that leaves anything"),
                "give a number from 0 up to, but not including, 1")
        .in_field("dropout_param.dropout_ratio");
  }
}

DropoutMask::DropoutMask(const DropoutLayer& layer, const KernelRun& run, int64_t count)
    : first_sample(run.first_sample),
      threshold(layer.drops() ? static_cast<uint32_t>(std::ldexp(layer.ratio(), 32)) : 0) {
  // A word is uniform in 0 .. 2^32 - 1, so that a share `ratio` of them lies below the threshold. A ratio of 1, whose
  // threshold would not fit, is allowed only where nothing is dropped.
  const Pass& pass = *run.pass;
  const int64_t own_seed = layer.param().dropout_param().random_seed();
  key = random_key(own_seed >= 0 ? static_cast<uint64_t>(own_seed) : pass.seed, layer.name(), "dropout");
  // A blob that is not made of samples counts as a part of the first one.
  samples = pass.batch > 0 && count % pass.batch == 0 ? pass.batch : 1;
  per_sample = count / samples;
}

namespace {

template <typename T>
class DropoutReference : public DropoutKernel {
 public:
  using DropoutKernel::DropoutKernel;
  std::string describe() const override { return "reference"; }

 private:
  void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const override {
    const DropoutMask mask(layer_, run, to.count());
    const T factor = layer_.scale<T>();
    const T* x = from.as<T>();
    T* y = to.as<T>();
    parallel_for(to.count(), 1 << 12, [=](int64_t i) {
      const auto sample = static_cast<uint64_t>(i / mask.per_sample);
      const auto within = static_cast<uint64_t>(i % mask.per_sample);
      const uint32_t word = philox(mask.key, *mask.first_sample + sample, within / 4)[within % 4];
      y[i] = word >= mask.threshold ? factor * x[i] : T{0};
    });
  }
};

std::unique_ptr<Kernel> make_dropout_reference(const KernelRequest& request, std::string& why_not) {
  if (request.layer<DropoutLayer>().passes_on()) return make_plain_alias(request, why_not);
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<DropoutReference<decltype(t)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Dropout", DropoutLayer);
ROBUSTA_REGISTER_KERNEL("Dropout", "reference", 0, make_dropout_reference);

}  // namespace robusta
