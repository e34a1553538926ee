// Parameter on the GPU: parameters are f32, the top is what activations are stored as.

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/parameter/parameter.h"

namespace robusta {
namespace {

/// to = from, or, with `adds`, to + from.
template <typename From, typename To>
struct ParameterCopy {
  static constexpr int kWidth = kPackWidth<From, To>;
  const From* from;
  To* to;
  bool adds;
  bool in_packs() const { return on_packs(from) && on_packs(to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> values = load_pack<N>(from + i);
    if (adds) {
      const Pack<float, N> before = load_pack<N>(to + i);
      for (int k = 0; k < N; ++k) values.at[k] += before.at[k];
    }
    store_pack(values, to + i);
  }
};

template <typename T>
class ParameterGpu : public Kernel {
 public:
  explicit ParameterGpu(const KernelRequest&) {
    booking_.top_types = {dtype_of<T>()};
    booking_.repeatable = true;
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each_pack(run.stream, run.tops[0].count(),
                  ParameterCopy<float, T>{run.params[0]->tensor().as<float>(), run.tops[0].as<T>(), false});
  }

  void backward(const KernelRun& run) override {
    if (!run.params[0]->learns) return;
    for_each_pack(run.stream, run.top_diffs[0].count(),
                  ParameterCopy<T, float>{run.top_diffs[0].as<T>(), run.params[0]->gradient().as<float>(),
                                          run.accumulate[0] != 0});
  }
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("Parameter", ParameterGpu);

}  // namespace robusta
