// Softmax on the GPU: first the largest score and the sum of exponentials of each position, in one pass over the
// scores, then all elements (backends/gpu/softmax.h). Backward, dx = y * (dy - sum of y * dy), has the same two steps.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/softmax.h"
#include "layers/types/softmax/softmax.h"

namespace robusta {
namespace {

/// The sums of y * dy over the classes.
template <typename T>
struct SoftmaxDots : ClassSums {
  ClassIndex index;
  const T *y, *dy;
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const int64_t i = index.element(position, c);
    return static_cast<float>(y[i]) * static_cast<float>(dy[i]);
  }
};

/// dx = y * (dy - sum y * dy)
template <typename T>
struct SoftmaxSlopeEach {
  ClassIndex index;
  const float* dots;
  const T *y, *dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t position = i;
    index.take_class(position);
    dx[i] = static_cast<T>(static_cast<float>(y[i]) * (static_cast<float>(dy[i]) - dots[position]));
  }
};

template <typename T>
class SoftmaxGpu : public SoftmaxKernel {
 public:
  explicit SoftmaxGpu(const KernelRequest& request) : SoftmaxKernel(request), count_(request.bottoms[0].count()) {
    booking_.forward_scratch = static_cast<size_t>(view_.positions()) * sizeof(SoftmaxSum);
    booking_.backward_scratch = static_cast<size_t>(view_.positions()) * sizeof(float);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const ClassIndex index(view_);
    const T* x = run.bottoms[0].as<T>();
    auto* sums = static_cast<SoftmaxSum*>(run.scratch);
    reduce_classes(run.stream, view_, SoftmaxSums<T>{index, x, sums});
    for_each(run.stream, count_, SoftmaxProbability<T, T>{index, x, sums, run.tops[0].as<T>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const ClassIndex index(view_);
    const T *y = run.tops[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    auto* dots = static_cast<float*>(run.scratch);
    reduce_classes(run.stream, view_, SoftmaxDots<T>{{dots}, index, y, dy});
    for_each(run.stream, count_, SoftmaxSlopeEach<T>{index, dots, y, dy, run.bottom_diffs[0].as<T>()});
  }

 private:
  int64_t count_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("Softmax", SoftmaxGpu);

}  // namespace robusta
