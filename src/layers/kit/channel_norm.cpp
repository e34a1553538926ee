// The reference kernel of layers that normalise channels (Ioffe and Szegedy, "Batch Normalization", 2015, algorithm 1
// and section 3).

#include "layers/kit/channel_norm.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace robusta {

void renew_statistics(const ChannelNormPlan& plan, const KernelRun& run) {
  for (const int statistic : {plan.mean, plan.variance, plan.batches}) {
    if (statistic >= 0) ++run.params[static_cast<size_t>(statistic)]->version;
  }
}

void share_moments(StepReduce* ranks, std::span<double> moments) {
  if (!ranks) return;
  const size_t channels = moments.size() / 2;
  const std::span<double> mean = moments.first(channels), variance = moments.last(channels);
  // Batches of one size: the mean of their means is the mean, but variances do not add up that way where means differ.
  // Means of squares do, and E x^2 = variance + mean^2. The difference that undoes it may be rounded to below zero.
  for (size_t c = 0; c < channels; ++c) variance[c] += mean[c] * mean[c];
  ranks->sum(moments);
  for (double& moment : moments) moment /= ranks->ranks();
  for (size_t c = 0; c < channels; ++c) variance[c] = std::max(0.0, variance[c] - mean[c] * mean[c]);
}

namespace {

/// Keeps each channel's mean and 1 / sqrt(variance + eps) from forward to backward.
///
/// With h = (x - mean) * r and g = dy * scale, over the m elements of a channel,
///   dx = r * g                                       with stored statistics,
///   dx = r * (g - sum(g) / m - h * sum(g h) / m)     with those of the batch.
template <typename T>
class ChannelNormReference : public Kernel {
 public:
  ChannelNormReference(const KernelRequest& request, const ChannelNormPlan& plan) : plan_(plan) {
    booking_.reads_bottoms = {!plan_.stored || plan_.learns_scale(request)};
    booking_.repeatable = !plan_.sync;  // ranks would sum once more
    if (request.backward) booking_.saved_bytes = 2 * static_cast<size_t>(plan_.channels) * sizeof(T);
    booking_.forward_scratch = booking_.backward_scratch = 2 * static_cast<size_t>(plan_.channels) * sizeof(double);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    T* saved = static_cast<T*>(run.saved);
    double *means = static_cast<double*>(run.scratch), *variances = means + plan_.channels;
    for_channels([&, x](int64_t c) {
      const Moments moments = plan_.stored ? stored_moments(run, c) : batch_moments(x, c);
      means[c] = moments.mean, variances[c] = moments.variance;
    });
    if (plan_.sync) share_moments(run.pass->ranks, per_channel_pair(means));
    const bool counts = !plan_.stored && !run.again && plan_.mean >= 0;
    if (counts) advance_count(run);
    for_channels([&, x, y, saved](int64_t c) {
      const Moments moments{means[c], variances[c]};
      if (counts) add_to_statistics(run, c, moments);
      const double r = plan_.eps.inverse(moments.variance), scale = scale_of(run, c), shift = shift_of(run, c);
      for_elements(c, [&](int64_t i) { y[i] = static_cast<T>((x[i] - moments.mean) * r * scale + shift); });
      if (!saved) return;
      saved[2 * c] = static_cast<T>(moments.mean);
      saved[2 * c + 1] = static_cast<T>(r);
    });
    if (counts) renew_statistics(plan_, run);
  }

  void backward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const T* saved = static_cast<const T*>(run.saved);
    double *sums = static_cast<double*>(run.scratch), *sums_h = sums + plan_.channels;  // of dy and dy * h
    for_channels([&, x, dy, saved](int64_t c) {
      const double mean = saved[2 * c], r = saved[2 * c + 1];
      double sum = 0, sum_h = 0;
      for_elements(c, [&](int64_t i) {
        sum += dy[i];
        if (x) sum_h += dy[i] * (x[i] - mean) * r;
      });
      add_gradient(run, plan_.scale, c, sum_h);
      add_gradient(run, plan_.shift, c, sum);
      sums[c] = sum, sums_h[c] = sum_h;
    });
    if (!dx) return;
    if (plan_.sync && run.pass->ranks) run.pass->ranks->sum(per_channel_pair(sums));
    const double m = elements_of_batch(run);
    for_channels([&, x, dy, dx, saved](int64_t c) {
      const double mean = saved[2 * c], r = saved[2 * c + 1], scale = scale_of(run, c);
      for_elements(c, [&](int64_t i) {
        const double centred = plan_.stored ? dy[i] : dy[i] - sums[c] / m - (x[i] - mean) * r * sums_h[c] / m;
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
    parallel_for(plan_.channels, 1 + (1 << 14) / (plan_.batch * plan_.plane), body);
  }

  template <typename Body>
  void for_elements(int64_t c, const Body& body) const {
    for (int64_t n = 0; n < plan_.batch; ++n) {
      const int64_t begin = (n * plan_.channels + c) * plan_.plane;
      for (int64_t i = begin; i < begin + plan_.plane; ++i) body(i);
    }
  }

  /// In two passes: sums of squares about the mean lose nothing where the mean is large.
  Moments batch_moments(const T* x, int64_t c) const {
    const double m = static_cast<double>(plan_.batch * plan_.plane);
    double sum = 0, squares = 0;
    for_elements(c, [&](int64_t i) { sum += x[i]; });
    const double mean = sum / m;
    for_elements(c, [&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    return {mean, squares / m};
  }

  /// Null where there is no such parameter.
  static T* values(const KernelRun& run, int param) {
    return param < 0 ? nullptr : run.params[static_cast<size_t>(param)]->tensor().template as<T>();
  }

  Moments stored_moments(const KernelRun& run, int64_t c) const {
    if (plan_.mean < 0) return {0, 1};
    const T* batches = values(run, plan_.batches);
    const double count = batches ? *batches : 1, factor = count == 0 ? 0 : 1 / count;
    return {values(run, plan_.mean)[c] * factor, values(run, plan_.variance)[c] * factor};
  }

  void advance_count(const KernelRun& run) const {
    if (T* count = values(run, plan_.batches)) *count = static_cast<T>(*count * plan_.fraction + 1);
  }

  std::span<double> per_channel_pair(double* first) const { return {first, 2 * static_cast<size_t>(plan_.channels)}; }

  /// Elements per channel behind the moments: of all ranks, if they are synchronised.
  double elements_of_batch(const KernelRun& run) const {
    const StepReduce* ranks = plan_.sync ? run.pass->ranks : nullptr;
    return static_cast<double>(plan_.batch * plan_.plane) * (ranks ? ranks->ranks() : 1);
  }

  void add_to_statistics(const KernelRun& run, int64_t c, const Moments& moments) const {
    T &mean = values(run, plan_.mean)[c], &variance = values(run, plan_.variance)[c];
    const double correction = plan_.correction(elements_of_batch(run));
    mean = static_cast<T>(mean * plan_.fraction + moments.mean * plan_.share);
    variance = static_cast<T>(variance * plan_.fraction + moments.variance * correction * plan_.share);
  }

  double scale_of(const KernelRun& run, int64_t c) const {
    const T* scale = values(run, plan_.scale);
    return scale ? scale[c] : T{1};
  }
  double shift_of(const KernelRun& run, int64_t c) const {
    const T* shift = values(run, plan_.shift);
    return shift ? shift[c] : T{0};
  }

  static void add_gradient(const KernelRun& run, int param, int64_t c, double gradient) {
    const auto index = static_cast<size_t>(param);
    if (param < 0 || !run.params[index]->learns) return;
    T& diff = run.params[index]->gradient().template as<T>()[c];
    diff = static_cast<T>((run.accumulate[index] ? diff : T{0}) + gradient);
  }

  ChannelNormPlan plan_;
};

}  // namespace

std::unique_ptr<Kernel> make_channel_norm_reference(const KernelRequest& request, const ChannelNormPlan& plan) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<ChannelNormReference<decltype(t)>>(request, plan);
  });
}

}  // namespace robusta
