// PReLU: fields, and the reference kernel (He et al. 2015, section 2.1).
//
// y = max(0, x) + a min(0, x), dx = dy or a dy by the sign of x, and da = the sum of x dy over the elements with x <=
// 0. The sums are carried in double and made per channel, also where one slope serves all, so that their order does not
// depend on the number of threads.

#include "layers/types/prelu/prelu.h"

#include "base/str.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/filler.h"
#include "layers/kit/rectifier.h"

namespace robusta {

PreluLayer::PreluLayer(const caffe::LayerParameter& param) : Layer(param), filler_(param.prelu_param().filler()) {
  if (!param.prelu_param().has_filler()) filler_.set_value(0.25f);
}

std::vector<Shape> PreluLayer::infer_tops(const std::vector<Shape>& bottoms) {
  if (bottoms[0].axes() < 2) {
    throw Error(ErrorKind::kConfig, str("the bottom (", bottoms[0].str(), ") has no channel axis"),
                "PReLU wants at least two axes: samples and channels")
        .in_field("bottom");
  }
  if (channels_ != 0 && channels_ != bottoms[0][1] && !shared()) {
    throw Error(ErrorKind::kConfig, str("the number of channels changed from ", channels_, " to ", bottoms[0][1],
                                        ", but the slopes are fixed"))
        .in_field("bottom");
  }
  channels_ = bottoms[0][1];
  check_filler(filler_, params()[0].shape, "prelu_param.filler");
  return bottoms;
}

namespace {

/// Loops over planes: the elements of one sample and one channel.
template <typename T>
class PreluReference : public Kernel {
 public:
  explicit PreluReference(const KernelRequest& request)
      : shared_(request.layer<PreluLayer>().shared()),
        samples_(request.bottoms[0].shape[0]),
        channels_(request.bottoms[0].shape[1]),
        plane_(request.bottoms[0].shape.count(2)) {
    // The sign of x decides: that of y would do only for slopes that stay positive, and they are learned.
    book_reads(true, false, booking_);
    book_in_place(booking_);
    booking_.backward_scratch = static_cast<size_t>(channels_) * sizeof(double);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* a = run.params[0]->tensor().template as<T>();
    for_planes([&](int64_t at, int64_t channel) {
      const T* x = run.bottoms[0].as<T>() + at;
      T* y = run.tops[0].as<T>() + at;
      const T slope = a[shared_ ? 0 : channel];
      for (int64_t i = 0; i < plane_; ++i) y[i] = rectified(x[i], slope);
    });
  }

  void backward(const KernelRun& run) override {
    // Before the gradient of the bottom, which may overwrite that of the top.
    if (run.params[0]->learns) slope_gradient(run);
    if (!run.bottom_diffs[0]) return;
    const T* a = run.params[0]->tensor().template as<T>();
    for_planes([&](int64_t at, int64_t channel) {
      const T* x = run.bottoms[0].as<T>() + at;
      const T* dy = run.top_diffs[0].as<T>() + at;
      T* dx = run.bottom_diffs[0].as<T>() + at;
      const T slope = a[shared_ ? 0 : channel];
      for (int64_t i = 0; i < plane_; ++i) dx[i] = rectified_gradient(x[i], dy[i], slope);
    });
  }

 private:
  /// body(first element, channel)
  template <typename Body>
  void for_planes(const Body& body) const {
    parallel_for(samples_ * channels_, kElementwiseGrain / (plane_ + 1) + 1,
                 [&](int64_t p) { body(p * plane_, p % channels_); });
  }

  void slope_gradient(const KernelRun& run) const {
    const T* x = run.bottoms[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    auto* sums = static_cast<double*>(run.scratch);
    parallel_for(channels_, kElementwiseGrain / (samples_ * plane_ + 1) + 1, [&](int64_t channel) {
      double sum = 0;
      for (int64_t n = 0; n < samples_; ++n) {
        const int64_t begin = (n * channels_ + channel) * plane_;
        for (int64_t i = begin; i < begin + plane_; ++i) sum += x[i] > 0 ? 0.0 : static_cast<double>(x[i]) * dy[i];
      }
      sums[channel] = sum;
    });
    if (shared_) {
      for (int64_t channel = 1; channel < channels_; ++channel) sums[0] += sums[channel];
    }
    T* da = run.params[0]->gradient().template as<T>();
    for (int64_t i = 0; i < (shared_ ? 1 : channels_); ++i) {
      da[i] = static_cast<T>(sums[i]) + (run.accumulate[0] ? da[i] : T{0});
    }
  }

  bool shared_;
  int64_t samples_, channels_, plane_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("PReLU", PreluLayer);
ROBUSTA_REGISTER_REFERENCE("PReLU", PreluReference);

}  // namespace robusta
