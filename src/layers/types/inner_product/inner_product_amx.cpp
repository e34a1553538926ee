// InnerProduct in bf16 by matrix units, where that is faster than in f32.

#include <omp.h>

#include <algorithm>

#include "layers/backends/onednn/aligned_memory.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/weights_stamp.h"
#include "layers/types/inner_product/amx_products.h"
#include "layers/types/inner_product/inner_product_types.h"
#include "ops/amx/tile_products.h"

namespace robusta {
namespace {

class InnerProductAmx : public Kernel {
 public:
  explicit InnerProductAmx(const KernelRequest& request)
      : size_(request.layer<InnerProductLayer>().size()),
        // Weights that stay are rounded once, and then half as much is read.
        packed_(request.backward ? 0 : forward_.packed_bytes()) {
    const WantedSteps wanted(request);
    booking_.reads_bottoms = {wanted.weights};
    booking_.forward_scratch = forward_.scratch_bytes();
    booking_.backward_scratch = std::max(wanted.data ? data_gradient_.scratch_bytes() : 0,
                                         wanted.weights ? weight_gradient_.scratch_bytes() : 0);
    booking_.kept_bytes = packed_.bytes();
  }

  std::string describe() const override { return "amx bf16"; }

  void forward(const KernelRun& run) override {
    const Param& weights = *run.params[0];
    const float* w = weights.tensor().as<float>();
    auto* packed = packed_.bytes() > 0 ? static_cast<uint32_t*>(packed_.data()) : nullptr;
    if (packed && stamp_.moved(w, weights.version)) forward_.pack(w, packed);
    const float* b = run.params.size() > 1 ? run.params[1]->tensor().as<float>() : nullptr;
    forward_.run({stored(run.bottoms[0]), w, packed, b, stored(run.tops[0]), run.scratch});
  }

  void backward(const KernelRun& run) override {
    const uint16_t* dy = stored(run.top_diffs[0]);
    const auto learns = [&](size_t i) { return run.params.size() > i && run.params[i]->learns; };
    const auto gradient = [&](size_t i) { return run.params[i]->gradient().as<float>(); };
    if (learns(0)) {
      weight_gradient_.run({dy, stored(run.bottoms[0]), run.accumulate[0] != 0, gradient(0), run.scratch});
    }
    if (learns(1)) weight_gradient_.run_bias(dy, run.accumulate[1] != 0, gradient(1));
    if (run.bottom_diffs[0]) {
      data_gradient_.run({dy, run.params[0]->tensor().as<float>(), stored(run.bottom_diffs[0]), run.scratch});
    }
  }

 private:
  static uint16_t* stored(const Tensor& tensor) { return static_cast<uint16_t*>(tensor.data); }

  const InnerProductSize size_;
  const int64_t workers_ = omp_get_max_threads();
  const amx::ForwardProduct forward_{size_, workers_};
  const amx::DataGradient data_gradient_{size_, workers_};
  const amx::WeightGradient weight_gradient_{size_, workers_};
  onednn::AlignedMemory packed_;  // of weights for nets that do not learn
  WeightsStamp stamp_;            // of these
};

std::unique_ptr<Kernel> make_inner_product_amx(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<InnerProductLayer>();
  if (request.dtype() != DType::kBF16) {
    why_not = "computes in bf16";
  } else if (!amx::is_there()) {
    why_not = "this processor has no matrix units (AMX)";
  } else if (layer.size().transposed) {
    why_not = "takes weights as [outputs, inputs]";
  } else if (layer.group()) {
    why_not = "outputs shared out among ranks are the reference's";
  } else if (layer.normalizes()) {
    why_not = "normalize is the reference's";
  } else if (is_faster_in_f32(request)) {
    why_not = "is faster in f32 than in bf16";
  } else {
    return std::make_unique<InnerProductAmx>(request);
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "amx", 20, make_inner_product_amx);

}  // namespace robusta
