// The reference kernel of BatchNorm (Ioffe and Szegedy, "Batch Normalization", 2015, algorithm 1 and section 3).

#include <cmath>

#include "base/parallel.h"
#include "layers/kit/kernel.h"
#include "layers/types/batch_norm/batch_norm.h"

namespace robusta {
namespace {

/// Keeps each channel's mean and 1 / sqrt(variance + eps) from forward to backward.
///
/// With h = (x - mean) * r and g = dy * scale, over the m elements of a channel,
///   dx = r * g                                       with stored statistics,
///   dx = r * (g - sum(g) / m - h * sum(g h) / m)     with those of the batch.
template <typename T>
class BatchNormReference : public Kernel {
 public:
  explicit BatchNormReference(const KernelRequest& request) {
    const auto& layer = request.layer<BatchNormLayer>();
    batch_ = layer.batch();
    channels_ = layer.channels();
    plane_ = layer.plane();
    eps_ = layer.eps();
    fraction_ = layer.fraction();
    global_ = layer.uses_global_stats();
    scaled_ = layer.has_scale();
    sync_ = layer.synchronised();
    const bool learns_scale = scaled_ && request.backward && request.param_grads[3];
    booking_.reads_bottoms = {!global_ || learns_scale};
    booking_.repeatable = !sync_;  // ranks would sum once more
    if (request.backward) booking_.saved_bytes = 2 * static_cast<size_t>(channels_) * sizeof(T);
    booking_.forward_scratch = booking_.backward_scratch = 2 * static_cast<size_t>(channels_) * sizeof(double);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    T* saved = static_cast<T*>(run.saved);
    double *means = static_cast<double*>(run.scratch), *variances = means + channels_;
    for_channels([&, x](int64_t c) {
      const Moments moments = global_ ? stored_moments(run, c) : batch_moments(x, c);
      means[c] = moments.mean, variances[c] = moments.variance;
    });
    if (sync_) share_moments(run.pass->ranks, per_channel_pair(means));
    const bool counts = !global_ && !run.again;
    if (counts) advance_count(run);
    for_channels([&, x, y, saved](int64_t c) {
      const Moments moments{means[c], variances[c]};
      if (counts) add_to_statistics(run, c, moments, elements_of_batch(run));
      const double r = 1 / std::sqrt(moments.variance + eps_), scale = scale_of(run, c), shift = shift_of(run, c);
      for_elements(c, [&](int64_t i) { y[i] = static_cast<T>((x[i] - moments.mean) * r * scale + shift); });
      if (!saved) return;
      saved[2 * c] = static_cast<T>(moments.mean);
      saved[2 * c + 1] = static_cast<T>(r);
    });
    for (size_t i = 0; counts && i < 3; ++i) ++run.params[i]->version;
  }

  void backward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const T* saved = static_cast<const T*>(run.saved);
    const bool learns_scale = scaled_ && run.params[3]->learns, learns_shift = scaled_ && run.params[4]->learns;
    double *sums = static_cast<double*>(run.scratch), *sums_h = sums + channels_;  // of dy and dy * h
    for_channels([&, x, dy, saved](int64_t c) {
      const double mean = saved[2 * c], r = saved[2 * c + 1];
      double sum = 0, sum_h = 0;
      for_elements(c, [&](int64_t i) {
        sum += dy[i];
        if (x) sum_h += dy[i] * (x[i] - mean) * r;
      });
      if (learns_scale) add_gradient(run, 3, c, sum_h);
      if (learns_shift) add_gradient(run, 4, c, sum);
      sums[c] = sum, sums_h[c] = sum_h;
    });
    if (!dx) return;
    if (sync_ && run.pass->ranks) run.pass->ranks->sum(per_channel_pair(sums));
    const double m = elements_of_batch(run);
    for_channels([&, x, dy, dx, saved](int64_t c) {
      const double mean = saved[2 * c], r = saved[2 * c + 1], scale = scale_of(run, c);
      for_elements(c, [&](int64_t i) {
        const double centred = global_ ? dy[i] : dy[i] - sums[c] / m - (x[i] - mean) * r * sums_h[c] / m;
        dx[i] = static_cast<T>(r * scale * centred);
      });
    });
  }

 private:
  struct Moments {
    double mean, variance;
  };

  template <typename Body>
  void for_channels(const Body& body) const {
    parallel_for(channels_, 1 + (1 << 14) / (batch_ * plane_), body);
  }

  template <typename Body>
  void for_elements(int64_t c, const Body& body) const {
    for (int64_t n = 0; n < batch_; ++n) {
      const int64_t begin = (n * channels_ + c) * plane_;
      for (int64_t i = begin; i < begin + plane_; ++i) body(i);
    }
  }

  /// In two passes: sums of squares about the mean lose nothing where the mean is large.
  Moments batch_moments(const T* x, int64_t c) const {
    const double m = static_cast<double>(batch_ * plane_);
    double sum = 0, squares = 0;
    for_elements(c, [&](int64_t i) { sum += x[i]; });
    const double mean = sum / m;
    for_elements(c, [&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    return {mean, squares / m};
  }

  static T* statistic(const KernelRun& run, size_t index) { return run.params[index]->tensor().template as<T>(); }

  Moments stored_moments(const KernelRun& run, int64_t c) const {
    const double count = statistic(run, 2)[0], factor = count == 0 ? 0 : 1 / count;
    return {statistic(run, 0)[c] * factor, statistic(run, 1)[c] * factor};
  }

  void advance_count(const KernelRun& run) const {
    T* count = statistic(run, 2);
    *count = static_cast<T>(*count * fraction_ + 1);
  }

  std::span<double> per_channel_pair(double* first) const { return {first, 2 * static_cast<size_t>(channels_)}; }

  /// Elements per channel behind the moments: of all ranks, if they are synchronised.
  double elements_of_batch(const KernelRun& run) const {
    const StepReduce* ranks = sync_ ? run.pass->ranks : nullptr;
    return static_cast<double>(batch_ * plane_) * (ranks ? ranks->ranks() : 1);
  }

  void add_to_statistics(const KernelRun& run, int64_t c, const Moments& moments, double m) const {
    const double unbiased = m > 1 ? m / (m - 1) : 1;
    T &mean = statistic(run, 0)[c], &variance = statistic(run, 1)[c];
    mean = static_cast<T>(mean * fraction_ + moments.mean);
    variance = static_cast<T>(variance * fraction_ + moments.variance * unbiased);
  }

  double scale_of(const KernelRun& run, int64_t c) const { return scaled_ ? statistic(run, 3)[c] : T{1}; }
  double shift_of(const KernelRun& run, int64_t c) const { return scaled_ ? statistic(run, 4)[c] : T{0}; }

  static void add_gradient(const KernelRun& run, size_t index, int64_t c, double gradient) {
    T& diff = run.params[index]->gradient().template as<T>()[c];
    diff = static_cast<T>((run.accumulate[index] ? diff : T{0}) + gradient);
  }

  int64_t batch_, channels_, plane_;
  double eps_, fraction_;
  bool global_, scaled_, sync_;
};

}  // namespace

ROBUSTA_REGISTER_REFERENCE("BatchNorm", BatchNormReference);

}  // namespace robusta
