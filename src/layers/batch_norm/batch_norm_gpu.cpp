// BatchNorm on the GPU, plain or channels last, alone or with the Scale and ReLU after it.
//
// Memory traffic is all that counts: forward reads x twice and writes y, backward reads x and dy twice and writes dx.
// The ReLU's mask is computed from x again. Sums over the batch are made in double. Statistics stay on the GPU; only
// sums over ranks pass through the host.

#include <cmath>
#include <memory>

#include "device/gpu/host_values.h"
#include "layers/batch_norm/batch_norm.h"
#include "layers/batch_norm/norm_chain.h"
#include "layers/gpu_channels.h"

namespace robusta {
namespace {

/// What normalising needs of each channel: v = (x - mean) * factor + shift, then y = v or, if that is not positive,
/// slope * v; slope 1: no ReLU. factor = inverse * scale.
struct NormArrays {
  float *mean, *inverse, *factor, *shift;
  float slope;
  ROBUSTA_GPU float value(float x, int64_t c) const { return (x - mean[c]) * factor[c] + shift[c]; }
  /// Of the ReLU where the normalised value is v.
  ROBUSTA_GPU float gain(float v) const { return v > 0 ? 1.0f : slope; }
};

struct NormSums {
  double first, second;
};

/// Mean and variance of each channel, into moments[c] and moments[count + c]. The variance is sum(x^2) / m - mean^2:
/// in double nothing cancels that a float x could show.
template <typename T>
struct NormMoments {
  using Sum = NormSums;
  const T* x;
  double* moments;
  int64_t channels;
  double elements;  ///< of each channel
  ROBUSTA_GPU Sum zero() const { return {0, 0}; }
  ROBUSTA_GPU Sum term(int64_t i, int64_t) const {
    const double value = static_cast<float>(x[i]);
    return {value, value * value};
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.first + b.first, a.second + b.second}; }
  ROBUSTA_GPU void store(int64_t c, Sum sum) const {
    const double mean = sum.first / elements, variance = sum.second / elements - mean * mean;
    moments[c] = mean;
    moments[channels + c] = variance > 0 ? variance : 0;
  }
};

/// Fills the arrays of channel c from the stored statistics, or (`moments` not null) from the batch's, which are then
/// added to the stored ones. `scale` and `shift` may be null.
struct NormSettle {
  NormArrays to;
  const double* moments;
  const float *scale, *shift;
  float *means, *variances, *batches;
  int64_t channels;
  double eps, fraction, unbiased;
  ROBUSTA_GPU void operator()(int64_t c) const {
    double mean, variance;
    if (moments) {
      mean = moments[c], variance = moments[channels + c];
      means[c] = static_cast<float>(means[c] * fraction + mean);
      variances[c] = static_cast<float>(variances[c] * fraction + variance * unbiased);
      if (c == 0) *batches = static_cast<float>(*batches * fraction + 1);
    } else {
      const double norm = *batches == 0 ? 0 : 1 / static_cast<double>(*batches);
      mean = means[c] * norm, variance = variances[c] * norm;
    }
    const double inverse = 1 / ::sqrt(variance + eps);
    to.mean[c] = static_cast<float>(mean);
    to.inverse[c] = static_cast<float>(inverse);
    to.factor[c] = static_cast<float>(inverse * (scale ? scale[c] : 1.0f));
    to.shift[c] = shift ? shift[c] : 0.0f;
  }
};

template <typename T>
struct NormEach {
  ChannelOf channel;
  NormArrays norm;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float value = norm.value(static_cast<float>(x[i]), channel(i));
    y[i] = static_cast<T>(value * norm.gain(value));
  }
};

/// With g the gradient before the ReLU: sum(g) and sum(g * (x - mean)) * inverse of channel c into sums[c] and
/// sums[channels + c], and into the gradients of shift and scale where those are not null. x may be null: then there
/// is no ReLU, and the second sum is zero.
template <typename T>
struct NormGradientSums {
  using Sum = NormSums;
  NormArrays norm;
  const T *x, *dy;
  double* sums;
  int64_t channels;
  float *scale_gradient, *shift_gradient;
  bool add_to_scale, add_to_shift;
  ROBUSTA_GPU Sum zero() const { return {0, 0}; }
  ROBUSTA_GPU Sum term(int64_t i, int64_t c) const {
    const float slope = static_cast<float>(dy[i]);
    if (!x) return {slope, 0};
    const float own = static_cast<float>(x[i]), g = slope * norm.gain(norm.value(own, c));
    return {g, static_cast<double>(g) * (own - norm.mean[c])};
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.first + b.first, a.second + b.second}; }
  ROBUSTA_GPU void store(int64_t c, Sum sum) const {
    const double by_value = sum.second * norm.inverse[c];
    sums[c] = sum.first;
    sums[channels + c] = by_value;
    if (shift_gradient) hand_over(sum.first, add_to_shift, shift_gradient[c]);
    if (scale_gradient) hand_over(by_value, add_to_scale, scale_gradient[c]);
  }
  ROBUSTA_GPU static void hand_over(double sum, bool add, float& gradient) {
    gradient = static_cast<float>(add ? gradient + sum : sum);
  }
};

/// With h = (x - mean) * inverse, the gradient is dx = factor * (g - sum(g) / m - h * sum(g h) / m); `constant` and
/// `linear` are what g and x - mean are joined by.
struct NormCoefficients {
  NormArrays norm;
  const double* sums;
  int64_t channels;
  double elements;  ///< m
  float *constant, *linear;
  ROBUSTA_GPU void operator()(int64_t c) const {
    constant[c] = static_cast<float>(sums[c] / elements);
    linear[c] = static_cast<float>(sums[channels + c] / elements * norm.inverse[c]);
  }
};

/// `constant` is null with stored statistics; x may be null when there is no ReLU either. dx may be dy.
template <typename T>
struct NormPropagate {
  ChannelOf channel;
  NormArrays norm;
  const float *constant, *linear;
  const T *x, *dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t c = channel(i);
    float g = static_cast<float>(dy[i]);
    if (x) {
      const float own = static_cast<float>(x[i]);
      g *= norm.gain(norm.value(own, c));
      if (constant) g -= constant[c] + (own - norm.mean[c]) * linear[c];
    }
    dx[i] = static_cast<T>(norm.factor[c] * g);
  }
};

template <typename T>
class BatchNormGpu : public Kernel {
 public:
  BatchNormGpu(const KernelRequest& request, const NormChain& chain)
      : eps_(chain.norm->eps()),
        fraction_(chain.norm->fraction()),
        slope_(chain.relu ? chain.relu->slope() : 1.0f),
        global_(chain.norm->uses_global_stats()),
        sync_(chain.norm->synchronised()),
        scale_(chain.scale_param),
        shift_(chain.shift_param) {
    view_ = book_channel_view(request, {chain.norm->batch(), chain.norm->channels(), chain.norm->plane()}, booking_);
    const bool learns_scale = scale_ >= 0 && request.backward && request.param_grads[static_cast<size_t>(scale_)];
    booking_.repeatable = true;
    booking_.asks_ranks = sync_;
    booking_.reads_bottoms = {!global_ || learns_scale || slope_ != 1};
    booking_.forward_aliases = booking_.backward_aliases = {{0, 0, false}};
    booking_.saved_bytes = kSavedArrays * channels() * sizeof(float);
    booking_.forward_scratch = sums_bytes() + channel_sums_scratch<NormMoments<T>>(view_);
    booking_.backward_scratch = sums_bytes() + channel_sums_scratch<NormGradientSums<T>>(view_);
    if (sync_) {
      Device& device = request.device ? *request.device : cpu_device();
      staging_ = std::static_pointer_cast<double>(device.host_memory(sums_bytes()));
    }
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    if (!run.again) settle(run, global_ ? nullptr : moments_of_batch(run, x));
    for_each(run.stream, view_.elements(),
             NormEach<T>{view_.channel_of(), arrays(run), x, run.tops[0].template as<T>()});
  }

  void backward(const KernelRun& run) override {
    const T *x = booking_.reads_bottoms[0] ? run.bottoms[0].as<T>() : nullptr, *dy = run.top_diffs[0].as<T>();
    float *scale = gradient(run, scale_), *shift = gradient(run, shift_);
    auto* sums = static_cast<double*>(run.scratch);
    if (!global_ || scale || shift) {
      channel_sums(run.stream, view_, sums + 2 * view_.count,
                   NormGradientSums<T>{arrays(run), x, dy, sums, view_.count, scale, shift, adds(run, scale_),
                                       adds(run, shift_)});
    }
    if (!run.bottom_diffs[0]) return;
    if (!global_) settle_coefficients(run, sums);
    for_each(run.stream, view_.elements(),
             NormPropagate<T>{view_.channel_of(), arrays(run), global_ ? nullptr : constant(run),
                              global_ ? nullptr : linear(run), x, dy, run.bottom_diffs[0].template as<T>()});
  }

 private:
  static constexpr size_t kSavedArrays = 6;  ///< of NormArrays, then the two that backward fills

  size_t channels() const { return static_cast<size_t>(view_.count); }
  size_t sums_bytes() const { return 2 * channels() * sizeof(double); }
  StepReduce* ranks_of(const KernelRun& run) const { return sync_ ? run.pass->ranks : nullptr; }
  std::span<double> staging() const { return {staging_.get(), 2 * channels()}; }
  /// Elements per channel behind the statistics: of all ranks, if they are synchronised.
  double elements_of_batch(const KernelRun& run) const {
    const StepReduce* ranks = ranks_of(run);
    return static_cast<double>(view_.outer * view_.inner) * (ranks ? ranks->ranks() : 1);
  }

  NormArrays arrays(const KernelRun& run) const {
    float* first = static_cast<float*>(run.saved);
    return {first, first + view_.count, first + 2 * view_.count, first + 3 * view_.count, slope_};
  }

  float* constant(const KernelRun& run) const { return static_cast<float*>(run.saved) + 4 * view_.count; }
  float* linear(const KernelRun& run) const { return static_cast<float*>(run.saved) + 5 * view_.count; }

  static float* values(const KernelRun& run, int param) {
    return param < 0 ? nullptr : run.params[static_cast<size_t>(param)]->tensor().as<float>();
  }
  /// Null when there is no such parameter, or when it does not learn.
  static float* gradient(const KernelRun& run, int param) {
    if (param < 0 || !run.params[static_cast<size_t>(param)]->learns) return nullptr;
    return run.params[static_cast<size_t>(param)]->gradient().as<float>();
  }
  static bool adds(const KernelRun& run, int param) { return param >= 0 && run.accumulate[static_cast<size_t>(param)]; }

  /// In scratch: all means, then all variances.
  const double* moments_of_batch(const KernelRun& run, const T* x) const {
    auto* moments = static_cast<double*>(run.scratch);
    channel_sums(run.stream, view_, moments + 2 * view_.count,
                 NormMoments<T>{x, moments, view_.count, static_cast<double>(view_.outer * view_.inner)});
    if (StepReduce* ranks = ranks_of(run)) {
      change_on_host(run.stream, moments, staging(), [=](std::span<double> own) { share_moments(ranks, own); });
    }
    return moments;
  }

  void settle(const KernelRun& run, const double* moments) const {
    const double m = elements_of_batch(run), unbiased = m > 1 ? m / (m - 1) : 1;
    for_each(run.stream, view_.count,
             NormSettle{arrays(run), moments, values(run, scale_), values(run, shift_), values(run, 0), values(run, 1),
                        values(run, 2), view_.count, eps_, fraction_, unbiased});
    for (size_t i = 0; moments && i < 3; ++i) ++run.params[i]->version;
  }

  void settle_coefficients(const KernelRun& run, double* sums) const {
    if (StepReduce* ranks = ranks_of(run)) {
      change_on_host(run.stream, sums, staging(), [=](std::span<double> values) { ranks->sum(values); });
    }
    for_each(run.stream, view_.count,
             NormCoefficients{arrays(run), sums, view_.count, elements_of_batch(run), constant(run), linear(run)});
  }

  double eps_, fraction_;
  float slope_;
  bool global_, sync_;
  int scale_, shift_;  // indices of the parameters, -1: none
  ChannelView view_;
  std::shared_ptr<double> staging_;  // of sums over ranks
};

std::unique_ptr<Kernel> make_batch_norm_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const NormChain chain(request);
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  return make_stored<BatchNormGpu>(request, chain);
}

const bool registered_batch_norm_gpu = [] {
  for (const char* pattern : {"BatchNorm", "BatchNorm+Scale", "BatchNorm+ReLU", "BatchNorm+Scale+ReLU"}) {
    register_kernel({pattern, "gpu", kGpuKind, 10, make_batch_norm_gpu});
  }
  return true;
}();

}  // namespace
}  // namespace robusta
