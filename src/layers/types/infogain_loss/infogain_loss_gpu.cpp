// InfogainLoss on the GPU: the losses of the positions are summed over the classes first.

#include "layers/backends/gpu/constants.h"
#include "layers/backends/gpu/softmax_loss.h"
#include "layers/types/infogain_loss/infogain_loss.h"

namespace robusta {
namespace {

/// The losses of the positions: a body of reduce_classes.
template <typename T>
struct InfogainLosses {
  using Sum = float;
  Probabilities<T> p;
  LabelReader label;
  const float* matrix;
  float* losses;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t position, int64_t c) const {
    const int own = label(position);
    if (own < 0) return 0;
    constexpr float kLeast = static_cast<float>(kLeastProbability);
    const float probability = p.of_class(position, c);
    // Not fmaxf, which would hide a NaN.
    return -matrix[own * p.index.classes + c] * ::logf(probability < kLeast ? kLeast : probability);
  }
  ROBUSTA_GPU void store(int64_t position, Sum sum) const { losses[position] = sum; }
};

/// The sums of the rows of H: a body of reduce_rows.
struct InfogainRows {
  using Sum = float;
  const float* matrix;
  int64_t classes;
  float* sums;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t c) const { return matrix[row * classes + c]; }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { sums[row] = sum; }
};

/// p * sum_k H[label][k] - H[label]
struct InfogainSlope {
  const float *matrix, *sums;
  int64_t classes;
  ROBUSTA_GPU float operator()(float p, int64_t c, int own) const { return p * sums[own] - matrix[own * classes + c]; }
};

template <typename T>
class InfogainLossGpu : public SoftmaxLossGpu<T> {
 public:
  explicit InfogainLossGpu(const KernelRequest& request)
      : SoftmaxLossGpu<T>(request),
        of_file_(copied_to_device(request, request.layer<InfogainLossLayer>().matrix())),
        classes_(this->view().classes) {
    this->booking_.forward_scratch += static_cast<size_t>(this->view().positions()) * sizeof(float);
    this->booking_.backward_scratch += static_cast<size_t>(classes_) * sizeof(float);
  }

  void forward(const KernelRun& run) override {
    this->make_probabilities(run);
    auto* losses = reinterpret_cast<float*>(static_cast<char*>(run.scratch) + this->sum_scratch());
    reduce_classes(run.stream, this->view(),
                   InfogainLosses<T>{this->probabilities(run), this->labels(run), matrix(run), losses});
    this->sum_losses(run, StoredLosses{losses});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const size_t before = run.tops.size() > 1 ? this->gradient_scratch() : 0;
    auto* sums = reinterpret_cast<float*>(static_cast<char*>(run.scratch) + before);
    reduce_rows(run.stream, classes_, classes_, InfogainRows{matrix(run), classes_, sums});
    this->gradient(run, InfogainSlope{matrix(run), sums, classes_});
  }

 private:
  const float* matrix(const KernelRun& run) const {
    return run.bottoms.size() > 2 ? run.bottoms[2].as<float>() : static_cast<const float*>(of_file_.data());
  }

  DeviceBuffer of_file_;
  int64_t classes_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("InfogainLoss", InfogainLossGpu);

}  // namespace robusta
