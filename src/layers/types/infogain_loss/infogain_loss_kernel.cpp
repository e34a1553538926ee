// InfogainLoss: the kernels of the CPU, dx = (p * sum_k H[label][k] - H[label]) / divisor. Reference and native one
// differ in how they compute the softmax.

#include <cmath>

#include "layers/types/infogain_loss/infogain_loss.h"

namespace robusta {
namespace {

template <typename T>
class InfogainLossKernel : public SoftmaxLossKernel<T> {
 public:
  InfogainLossKernel(const KernelRequest& request, typename SoftmaxLossKernel<T>::Softmax softmax, const char* name)
      : SoftmaxLossKernel<T>(request, softmax, name),
        of_file_(request.layer<InfogainLossLayer>().matrix().begin(),
                 request.layer<InfogainLossLayer>().matrix().end()),
        sums_(static_cast<size_t>(view().classes)) {}

 protected:
  using SoftmaxLossKernel<T>::view;

  void prepare(const KernelRun& run) override {
    matrix_ = run.bottoms.size() > 2 ? run.bottoms[2].as<T>() : of_file_.data();
    for (int64_t row = 0; row < view().classes; ++row) {
      double sum = 0;
      for (int64_t c = 0; c < view().classes; ++c) sum += matrix_[row * view().classes + c];
      sums_[static_cast<size_t>(row)] = static_cast<T>(sum);
    }
  }

  double cost(const T* p, int label) const override {
    const T* row = matrix_ + label * view().classes;
    double sum = 0;
    for (int64_t c = 0; c < view().classes; ++c, p += view().inner) {
      // Not std::max, which would hide a NaN.
      sum -= row[c] * std::log(*p < T{kLeastProbability} ? T{kLeastProbability} : *p);
    }
    return sum;
  }

  void gradient_of_item(const T* labels, const T* p, T scale, T* dx) const override {
    for (int64_t c = 0; c < view().classes; ++c) {
      for (int64_t inner = 0; inner < view().inner; ++inner, ++p, ++dx) {
        const int label = to_label(labels[inner]);
        *dx = this->ignores(label) ? T{0} : scale * (*p * sums_[static_cast<size_t>(label)] - gain(label, c));
      }
    }
  }

 private:
  T gain(int label, int64_t c) const { return matrix_[label * view().classes + c]; }

  std::vector<T> of_file_;
  std::vector<T> sums_;        ///< of the rows; made by each run, here because a run allocates nothing
  const T* matrix_ = nullptr;  ///< of the run
};

[[maybe_unused]] const bool registered_infogain_loss = register_softmax_loss<InfogainLossKernel>("InfogainLoss");

}  // namespace
}  // namespace robusta
