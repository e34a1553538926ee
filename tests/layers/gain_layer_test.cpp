// The worked example of CONTRIBUTING: a layer with a parameter, y = g * x with one learned g.

#include <gtest/gtest.h>

#include "layers/kit/unary.h"
#include "support/kernel_checks.h"

namespace robusta {
namespace {

class GainLayer : public ElementwiseLayer {
 public:
  explicit GainLayer(const caffe::LayerParameter& param) : ElementwiseLayer(param) { ones_.set_value(1); }
  std::vector<ParamDecl> params() const override { return {{Shape{}, &ones_}}; }  // a scalar, 1 at first

 private:
  caffe::FillerParameter ones_;
};

template <typename T>
class GainReference : public Kernel {
 public:
  explicit GainReference(const KernelRequest&) {
    book_reads(true, false, booking_);  // backward reads x, not y
    book_in_place(booking_);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T g = *run.params[0]->tensor().template as<T>();
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    parallel_for(run.tops[0].count(), kElementwiseGrain, [=](int64_t i) { y[i] = g * x[i]; });
  }

  void backward(const KernelRun& run) override {
    const T g = *run.params[0]->tensor().template as<T>();
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>();
    const int64_t count = run.top_diffs[0].count();
    // First, since the gradient of the bottom may overwrite that of the top.
    if (run.params[0]->learns) {
      T* dg = run.params[0]->gradient().template as<T>();
      double sum = run.accumulate[0] ? *dg : 0;
      for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(dy[i]) * x[i];
      *dg = static_cast<T>(sum);
    }
    if (!run.bottom_diffs[0]) return;
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(count, kElementwiseGrain, [=](int64_t i) { dx[i] = g * dy[i]; });
  }
};

ROBUSTA_REGISTER_LAYER("TestGain", GainLayer);
ROBUSTA_REGISTER_REFERENCE("TestGain", GainReference);

}  // namespace

namespace test {

const KernelCase kGain{{"type: 'TestGain'"}, {{2, 3, 4}}};

TEST(GainLayerTest, Gradients) { check_gradients(kGain); }
TEST(GainLayerTest, SinglePrecision) { compare_with_reference("reference", kGain); }

}  // namespace test
}  // namespace robusta
