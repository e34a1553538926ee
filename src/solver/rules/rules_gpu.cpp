// All update rules in a GPU's memory: one fused pass, as on the host.
#include <cassert>

#include "device/gpu/for_each.h"
#include "solver/rules/adadelta.h"
#include "solver/rules/adagrad.h"
#include "solver/rules/adam.h"
#include "solver/rules/decayed_gradient.h"
#include "solver/rules/nesterov.h"
#include "solver/rules/rmsprop.h"
#include "solver/rules/sgd.h"

namespace robusta {
namespace {

template <template <typename> class Element>
struct UpdateEach {
  Element<float> element;
  DecayedGradient<float> decayed;
  const float* gradient;
  float *w, *h0, *h1;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float g = decayed(gradient[i], w[i]);
    if constexpr (Element<float>::kHistories == 1) {
      element(w[i], g, h0[i]);
    } else {
      element(w[i], g, h0[i], h1[i]);
    }
  }
};

template <template <typename> class Element>
void update_gpu(const UpdateTask& task, const RuleSettings& settings) {
  assert(task.dtype == DType::kF32);
  for_each(task.stream, task.count,
           UpdateEach<Element>{Element<float>(task, settings), DecayedGradient<float>(task),
                               static_cast<const float*>(task.gradient), static_cast<float*>(task.weights),
                               static_cast<float*>(task.history[0]), static_cast<float*>(task.history[1])});
}

template <template <typename> class Element>
bool register_gpu_rule() {
  return register_device_rule(kGpuKind, Element<float>::kName, update_gpu<Element>);
}

[[maybe_unused]] const bool registered_rules =
    register_gpu_rule<SgdElement>() && register_gpu_rule<NesterovElement>() && register_gpu_rule<AdaGradElement>() &&
    register_gpu_rule<RmsPropElement>() && register_gpu_rule<AdaDeltaElement>() && register_gpu_rule<AdamElement>();

}  // namespace
}  // namespace robusta
