// EuclideanLoss on the GPU.

#include "device/gpu/reduce.h"
#include "layers/gpu_elementwise.h"

namespace robusta {
namespace {

template <typename T>
struct SquaredDistance {
  using Sum = double;
  const T *a, *b;
  double divisor;
  T* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t i) const {
    const float difference = static_cast<float>(a[i]) - static_cast<float>(b[i]);
    return static_cast<double>(difference) * difference;
  }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<T>(static_cast<float>(sum / divisor)); }
};

/// dx = factor * loss weight * (a - b)
template <typename T>
struct EuclideanGradient {
  const T *a, *b, *loss_weight;
  float factor;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float scale = factor * static_cast<float>(*loss_weight);
    dx[i] = static_cast<T>(scale * (static_cast<float>(a[i]) - static_cast<float>(b[i])));
  }
};

template <typename T>
class EuclideanLossGpu : public Kernel {
 public:
  explicit EuclideanLossGpu(const KernelRequest& request)
      : count_(request.bottoms[0].count()), batch_(request.bottoms[0].shape[0]) {
    booking_.reads_bottoms = {true, true};
    booking_.forward_scratch = reduce_all_scratch<SquaredDistance<T>>(count_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, count_, run.scratch,
               SquaredDistance<T>{run.bottoms[0].as<T>(), run.bottoms[1].as<T>(), 2.0 * static_cast<double>(batch_),
                                  run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    const float share = 1.0f / static_cast<float>(batch_);
    for (size_t bottom = 0; bottom < 2; ++bottom) {
      if (!run.bottom_diffs[bottom]) continue;
      for_each(run.stream, count_,
               EuclideanGradient<T>{run.bottoms[0].as<T>(), run.bottoms[1].as<T>(), run.top_diffs[0].as<T>(),
                                    bottom == 0 ? share : -share, run.bottom_diffs[bottom].as<T>()});
    }
  }

 private:
  int64_t count_, batch_;
};

std::unique_ptr<Kernel> make_euclidean_loss_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<EuclideanLossGpu<float>>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("EuclideanLoss", "gpu", 10, make_euclidean_loss_gpu);

}  // namespace robusta
