// BatchNorm in f32 on blocked channels, alone or with the Scale and ReLU after it. With inverse = 1 / sqrt(variance +
// eps), h = (x - mean) * inverse, factor = inverse * scale, and g for the gradient before the ReLU,
//
//   y = relu((x - mean) * factor + shift)
//   dx = factor * (g - sum(g) / m - h * sum(g h) / m).
//
// Memory traffic is all that counts: forward reads x twice and writes y, backward reads x and dy twice and writes dx.
// The ReLU costs nothing more, since its mask is computed from x again. Sums over the batch are made per sample and
// block of channels and added in order of the samples, whatever the number of threads.

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/batch_norm/channel_blocks.h"
#include "layers/types/batch_norm/norm_chain.h"

namespace robusta {
namespace {

template <int N>
class BatchNormNative : public Kernel {
 public:
  BatchNormNative(const KernelRequest& request, const NormChain& chain)
      : batch_(chain.norm->batch()),
        channels_(chain.norm->channels()),
        pixels_(chain.norm->plane()),
        blocks_((channels_ + N - 1) / N),
        eps_(chain.norm->eps()),
        fraction_(chain.norm->fraction()),
        global_(chain.norm->uses_global_stats()),
        sync_(chain.norm->synchronised()),
        scale_(chain.scale_param),
        shift_(chain.shift_param) {
    if (chain.relu) slope_ = chain.relu->slope();
    booking_.bottom_layouts = booking_.top_layouts = {request.bottoms[0].layout};
    booking_.reads_bottoms = {true};
    book_in_place(booking_);
    booking_.saved_bytes = kSavedArrays * width() * sizeof(float);
    booking_.forward_scratch = booking_.backward_scratch =
        2 * (static_cast<size_t>(batch_) + 1) * width() * sizeof(double);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* x = run.bottoms[0].as<float>();
    float* y = run.tops[0].as<float>();
    const Saved saved(run.saved, width());
    if (run.again) {
      // What normalising needs is in `saved`.
    } else if (global_) {
      use_stored_moments(run, saved);
    } else {
      const Sums sums(run.scratch, batch_, width());
      const float* origin = x;  // the first pixel of the first sample: near enough to the mean to cancel nothing
      for_blocks(
          [=, this](int64_t n, int64_t b) {
            channel_blocks::add_moments<N>(x + at(n, b), pixels_, origin + at(0, b), sums.first(n) + b * N,
                                           sums.second(n) + b * N);
          },
          sums);
      use_batch_moments(run, sums, saved, x);
    }
    const channel_blocks::Affine affine{saved.mean, saved.factor, saved.shift, slope_};
    for_blocks_backwards([=, this](int64_t n, int64_t b) {
      channel_blocks::normalise<N>(x + at(n, b), pixels_, block_of(affine, b), y + at(n, b));
    });
  }

  void backward(const KernelRun& run) override {
    const float *x = run.bottoms[0].as<float>(), *dy = run.top_diffs[0].as<float>();
    const Saved saved(run.saved, width());
    const channel_blocks::Affine affine{saved.mean, saved.factor, saved.shift, slope_};
    const Sums sums(run.scratch, batch_, width());
    for_blocks(
        [=, this](int64_t n, int64_t b) {
          channel_blocks::add_gradient_sums<N>(x + at(n, b), dy + at(n, b), pixels_, block_of(affine, b),
                                               sums.first(n) + b * N, sums.second(n) + b * N);
        },
        sums);
    hand_over_gradients(run, sums, saved);
    if (!run.bottom_diffs[0]) return;
    float* dx = run.bottom_diffs[0].as<float>();
    for_blocks_backwards([=, this](int64_t n, int64_t b) {
      channel_blocks::propagate<N>(x + at(n, b), dy + at(n, b), pixels_, block_of(affine, b), saved.constant + b * N,
                                   saved.linear + b * N, dx + at(n, b));
    });
  }

 private:
  static constexpr size_t kSavedArrays = 6;

  /// Per-channel arrays. The last two are filled by backward.
  struct Saved {
    float *mean, *inverse, *factor, *shift, *constant, *linear;
    Saved(void* memory, size_t width) {
      float* next = static_cast<float*>(memory);
      for (float** array : {&mean, &inverse, &factor, &shift, &constant, &linear}) *array = next, next += width;
    }
  };

  /// Two sums per sample and channel; the last row is for their totals.
  struct Sums {
    double* base;
    int64_t batch, width;
    Sums(void* memory, int64_t batch, size_t width)
        : base(static_cast<double*>(memory)), batch(batch), width(static_cast<int64_t>(width)) {}
    double* first(int64_t n) const { return base + 2 * n * width; }
    double* second(int64_t n) const { return base + (2 * n + 1) * width; }
    void clear(int64_t n) const { std::fill(first(n), first(n) + 2 * width, 0.0); }
    void add_up() const {
      clear(batch);
      for (int64_t n = 0; n < batch; ++n) {
        for (int64_t i = 0; i < 2 * width; ++i) first(batch)[i] += first(n)[i];
      }
    }
  };

  size_t width() const { return static_cast<size_t>(blocks_) * N; }
  int64_t at(int64_t n, int64_t b) const { return (n * blocks_ + b) * pixels_ * N; }
  /// Elements per channel behind the statistics: of all ranks, if they are synchronised.
  double count(const StepReduce* ranks) const {
    return static_cast<double>(batch_ * pixels_) * (ranks ? ranks->ranks() : 1);
  }
  StepReduce* ranks_of(const KernelRun& run) const { return sync_ ? run.pass->ranks : nullptr; }
  static channel_blocks::Affine block_of(const channel_blocks::Affine& affine, int64_t b) {
    return {affine.mean + b * N, affine.factor + b * N, affine.shift + b * N, affine.slope};
  }

  int64_t grain() const { return 1 + (1 << 13) / (pixels_ * N); }

  template <typename Body>
  void for_blocks(const Body& body, const Sums& sums) const {
    for (int64_t n = 0; n < batch_; ++n) sums.clear(n);
    parallel_for(batch_ * blocks_, grain(), [&](int64_t i) { body(i / blocks_, i % blocks_); });
    sums.add_up();
  }

  /// Last things first: they may still be in the cache from the pass before.
  template <typename Body>
  void for_blocks_backwards(const Body& body) const {
    parallel_ranges(batch_ * blocks_, grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = end; i-- > begin;) body(i / blocks_, i % blocks_);
    });
  }

  static float* values(const KernelRun& run, int index) {
    return run.params[static_cast<size_t>(index)]->tensor().as<float>();
  }

  /// What normalising needs of channel c.
  void set_channel(const KernelRun& run, const Saved& saved, int64_t c, double mean, double variance) const {
    const double inverse = eps_.inverse(variance);
    saved.mean[c] = static_cast<float>(mean);
    saved.inverse[c] = static_cast<float>(inverse);
    saved.factor[c] = static_cast<float>(inverse * (scale_ < 0 ? 1.0 : values(run, scale_)[c]));
    saved.shift[c] = shift_ < 0 ? 0.0f : values(run, shift_)[c];
  }

  /// Lanes beyond the last channel make zeros of zeros.
  void clear_padding(const Saved& saved) const {
    for (float* array : {saved.mean, saved.inverse, saved.factor, saved.shift, saved.constant, saved.linear}) {
      std::fill(array + channels_, array + width(), 0.0f);
    }
  }

  void use_stored_moments(const KernelRun& run, const Saved& saved) const {
    const double batches = *values(run, 2), norm = batches == 0 ? 0 : 1 / batches;
    clear_padding(saved);
    for (int64_t c = 0; c < channels_; ++c) {
      set_channel(run, saved, c, values(run, 0)[c] * norm, values(run, 1)[c] * norm);
    }
  }

  void use_batch_moments(const KernelRun& run, const Sums& sums, const Saved& saved, const float* x) const {
    float *means = values(run, 0), *variances = values(run, 1), *batches = values(run, 2);
    // The sums are of differences from an origin o: the variance is E (x - o)^2 - (E (x - o))^2 for any, and little
    // cancels where o is near the mean (Chan, Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance").
    double* const moments = sums.first(batch_);  // means, then variances, in the place of the sums
    for (int64_t c = 0; c < channels_; ++c) {
      const double own = count(nullptr), offset = sums.first(batch_)[c] / own;
      moments[c] = x[at(0, c / N) + c % N] + offset;
      moments[channels_ + c] = std::max(0.0, sums.second(batch_)[c] / own - offset * offset);
    }
    share_moments(ranks_of(run), {moments, 2 * static_cast<size_t>(channels_)});
    const double m = count(ranks_of(run)), unbiased = m > 1 ? m / (m - 1) : 1;
    clear_padding(saved);
    for (int64_t c = 0; c < channels_; ++c) {
      const double mean = moments[c], variance = moments[channels_ + c];
      set_channel(run, saved, c, mean, variance);
      means[c] = static_cast<float>(means[c] * fraction_ + mean);
      variances[c] = static_cast<float>(variances[c] * fraction_ + variance * unbiased);
    }
    *batches = static_cast<float>(*batches * fraction_ + 1);
    for (size_t i = 0; i < 3; ++i) ++run.params[i]->version;
  }

  /// Gradients of scale and shift, and the coefficients of propagate.
  void hand_over_gradients(const KernelRun& run, const Sums& sums, const Saved& saved) const {
    for (int64_t c = 0; c < channels_; ++c) {
      // Those of the parameters are of this rank's samples alone: the solver sums them over ranks with all others.
      add_gradient(run, scale_, c, sums.second(batch_)[c] * saved.inverse[c]);
      add_gradient(run, shift_, c, sums.first(batch_)[c]);
    }
    // Adjacent: `second` begins where `first` ends.
    if (ranks_of(run)) ranks_of(run)->sum({sums.first(batch_), 2 * width()});
    const double m = count(ranks_of(run));
    for (int64_t c = 0; c < channels_; ++c) {
      const double sum = sums.first(batch_)[c], sum_h = sums.second(batch_)[c] * saved.inverse[c];
      saved.constant[c] = global_ ? 0.0f : static_cast<float>(saved.factor[c] * sum / m);
      saved.linear[c] = global_ ? 0.0f : static_cast<float>(saved.factor[c] * saved.inverse[c] * sum_h / m);
    }
  }

  static void add_gradient(const KernelRun& run, int index, int64_t c, double gradient) {
    if (index < 0 || !run.params[static_cast<size_t>(index)]->learns) return;
    float& diff = run.params[static_cast<size_t>(index)]->gradient().as<float>()[c];
    diff = static_cast<float>((run.accumulate[static_cast<size_t>(index)] ? diff : 0.0f) + gradient);
  }

  int64_t batch_, channels_, pixels_, blocks_;
  NormEps eps_;
  double fraction_;
  bool global_, sync_;
  int scale_, shift_;  // indices of the parameters, -1: none
  float slope_ = 1;
};

std::unique_ptr<Kernel> make_batch_norm_native(const KernelRequest& request, std::string& why_not) {
  const NormChain chain(request);
  if (!is_f32(request, why_not)) return nullptr;
  const int block = onednn::channel_block(request.bottoms[0].layout);
  why_not = chain.obstacle();
  if (why_not.empty() && block != 16 && block != 8) {
    why_not = "wants channels in blocks of 8 or 16, as convolutions leave them";
  }
  if (!why_not.empty()) return nullptr;
  if (block == 8) return std::make_unique<BatchNormNative<8>>(request, chain);
  return std::make_unique<BatchNormNative<16>>(request, chain);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL(NormChain::pattern(), "native", 10, make_batch_norm_native);

}  // namespace robusta
