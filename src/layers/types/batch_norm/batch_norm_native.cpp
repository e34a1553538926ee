// BatchNorm on channels that lie in blocks or come last, alone or with the Scale and ReLU after it. With inverse = 1 /
// sqrt(variance + eps), h = (x - mean) * inverse, factor = inverse * scale, and g for the gradient before the ReLU,
//
//   y = relu((x - mean) * factor + shift)
//   dx = factor * (g - sum(g) / m - h * sum(g h) / m).
//
// Memory traffic is all that counts: forward reads x twice and writes y, or once where the convolution before has
// summed what it wrote; backward reads x and dy twice and writes dx. The ReLU costs nothing more, since its mask is
// computed from x again. Sums over the batch that are made here are made per sample and block of channels and added in
// order of the samples, whatever the number of threads.

#include <cmath>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/result_sums.h"
#include "layers/types/batch_norm/arithmetic.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/batch_norm/norm_chain.h"

namespace robusta {
namespace {

using batch_norm::ChannelsLast;
using batch_norm::InBlocks;
using batch_norm::OfChannels;
using batch_norm::Piece;

template <typename Arithmetic>
class BatchNormNative : public Kernel, public TakesResultSums {
  using Stored = typename Arithmetic::Stored;

 public:
  BatchNormNative(const KernelRequest& request, const NormChain& chain, const Layout& layout)
      : batch_(chain.norm->batch()),
        channels_(chain.norm->channels()),
        pixels_(chain.norm->plane()),
        arithmetic_(channels_, pixels_),
        eps_(chain.norm->eps()),
        fraction_(chain.norm->fraction()),
        global_(chain.norm->uses_global_stats()),
        sync_(chain.norm->synchronised()),
        joined_(chain.joint),
        scale_(chain.scale_param),
        shift_(chain.shift_param) {
    if (chain.relu) slope_ = chain.relu->slope();
    booking_.bottom_layouts = booking_.top_layouts = {layout};
    booking_.reads_bottoms = {true};
    book_in_place(booking_);
    if (joined_) book_join(layout);
    booking_.saved_bytes = kSavedArrays * width() * sizeof(float);
    booking_.forward_scratch = booking_.backward_scratch =
        2 * (static_cast<size_t>(batch_) + 1) * width() * sizeof(double);
  }
  std::string describe() const override { return "native"; }

  /// Of channels that are rounded (kit/result_sums.h).
  bool wants_result_sums() const override { return std::is_same_v<Stored, BFloat16> && !global_; }
  void take_result_sums() override {
    takes_sums_ = true;
    booking_.forward_scratch = 2 * width() * sizeof(double);
  }

  void forward(const KernelRun& run) override {
    const Stored* x = run.bottoms[0].as<Stored>();
    Stored* y = run.tops[0].as<Stored>();
    const Saved saved(run.saved, width());
    if (run.again) {
      // What normalising needs is in `saved`.
    } else if (global_) {
      use_stored_moments(run, saved);
    } else {
      find_moments(run, x);
      use_batch_moments(run, saved);
    }
    const OfChannels of = of_channels(saved);
    const Stored* other = joined_ ? run.bottoms[1].as<Stored>() : nullptr;
    for_pieces_backwards([=, this](const Piece& piece) {
      if (joined_) return arithmetic_.normalise_joined(x, other, piece, of, y);
      arithmetic_.normalise(x, piece, of, y);
    });
  }

  void backward(const KernelRun& run) override {
    const Stored *x = run.bottoms[0].as<Stored>(), *dy = run.top_diffs[0].as<Stored>();
    const Saved saved(run.saved, width());
    OfChannels of = of_channels(saved);
    const Sums sums(run.scratch, batch_, width());
    if (joined_) {
      sum_joined_gradients(run, x, of, sums);
      // The ReLU is done with.
      dy = run.bottom_diffs[1].as<Stored>();
      of.affine.slope = 1;
    } else {
      add_up_pieces(sums, [=, this](const Piece& piece, double* first, double* second) {
        arithmetic_.add_gradient_sums(x, dy, piece, of, first, second);
      });
    }
    hand_over_gradients(run, sums, saved);
    if (!run.bottom_diffs[0]) return;
    Stored* dx = run.bottom_diffs[0].as<Stored>();
    for_pieces_backwards([=, this](const Piece& piece) { arithmetic_.propagate(x, dy, piece, of, dx); });
  }

 private:
  static constexpr size_t kSavedArrays = 6;

  /// The result may lie where the second bottom lay, and its gradient is that of the result behind the ReLU.
  void book_join(const Layout& layout) {
    booking_.bottom_layouts.push_back(layout);
    booking_.reads_bottoms.push_back(false);
    booking_.reads_tops = {slope_ != 1};
    booking_.forward_aliases.push_back({1, 0, false});
    booking_.backward_aliases = {{0, 1, false}};
    booking_.top_diff_terms = 2;
    booking_.repeatable = false;  // the second bottom may be gone
  }

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

  size_t width() const { return static_cast<size_t>(arithmetic_.width()); }
  void sum_joined_gradients(const KernelRun& run, const Stored* x, const OfChannels& of, const Sums& sums) const {
    const channel_blocks::JoinedGradients<Stored> gradients{
        run.top_diffs[0].as<Stored>(), run.top_diffs.size() > 1 ? run.top_diffs[1].as<Stored>() : nullptr,
        slope_ == 1 ? nullptr : run.tops[0].as<Stored>(), run.bottom_diffs[1].as<Stored>()};
    add_up_pieces(sums, [=, this](const Piece& piece, double* first, double* second) {
      arithmetic_.add_joined_sums(x, gradients, piece, of, first, second);
    });
  }

  /// Elements per channel behind the statistics: of all ranks, if they are synchronised.
  double count(const StepReduce* ranks) const {
    return static_cast<double>(batch_ * pixels_) * (ranks ? ranks->ranks() : 1);
  }
  StepReduce* ranks_of(const KernelRun& run) const { return sync_ ? run.pass->ranks : nullptr; }
  OfChannels of_channels(const Saved& saved) const {
    return {{saved.mean, saved.factor, saved.shift, slope_}, saved.constant, saved.linear};
  }

  int64_t grain() const { return 1 + (1 << 13) * arithmetic_.pieces() / (pixels_ * arithmetic_.width()); }
  Piece piece(int64_t i) const { return arithmetic_.piece(i / arithmetic_.pieces(), i % arithmetic_.pieces()); }

  /// add(piece, first, second), with the sums of its sample that begin with its first channel.
  template <typename Add>
  void add_up_pieces(const Sums& sums, const Add& add) const {
    for (int64_t n = 0; n < batch_; ++n) sums.clear(n);
    parallel_for(batch_ * arithmetic_.pieces(), grain(), [&](int64_t i) {
      const Piece some = piece(i);
      add(some, sums.first(some.n) + some.channel, sums.second(some.n) + some.channel);
    });
    sums.add_up();
  }

  /// Last things first: they may still be in the cache from the pass before.
  template <typename Body>
  void for_pieces_backwards(const Body& body) const {
    parallel_ranges(batch_ * arithmetic_.pieces(), grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = end; i-- > begin;) body(piece(i));
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

  /// Means, then variances, over all ranks, which are left where scratch memory begins: by then the sums of sample 0,
  /// which lie there, have been added up.
  void find_moments(const KernelRun& run, const Stored* x) const {
    double* const moments = static_cast<double*>(run.scratch);
    if (takes_sums_) {
      moments_of_sums(run.bottoms.back().template as<float>(), moments);
    } else {
      const Sums sums(run.scratch, batch_, width());
      add_up_pieces(sums, [=, this](const Piece& piece, double* first, double* second) {
        arithmetic_.add_moments(x, piece, first, second);
      });
      moments_of_differences(sums, x, moments);
    }
    share_moments(ranks_of(run), {moments, 2 * static_cast<size_t>(channels_)});
  }

  /// E x and E x^2 - (E x)^2, of sums that the convolution has made.
  void moments_of_sums(const float* sums, double* moments) const {
    for (int64_t c = 0; c < channels_; ++c) {
      const double own = count(nullptr), mean = static_cast<double>(sums[c]) / own;
      moments[c] = mean;
      moments[channels_ + c] = std::max(0.0, static_cast<double>(sums[channels_ + c]) / own - mean * mean);
    }
  }

  /// The sums are of differences from an origin o: the variance is E (x - o)^2 - (E (x - o))^2 for any, and little
  /// cancels where o is near the mean (Chan, Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance").
  void moments_of_differences(const Sums& sums, const Stored* x, double* moments) const {
    for (int64_t c = 0; c < channels_; ++c) {
      const double own = count(nullptr), offset = sums.first(batch_)[c] / own;
      moments[c] = static_cast<float>(x[arithmetic_.origin(c)]) + offset;
      moments[channels_ + c] = std::max(0.0, sums.second(batch_)[c] / own - offset * offset);
    }
  }

  void use_batch_moments(const KernelRun& run, const Saved& saved) const {
    float *means = values(run, 0), *variances = values(run, 1), *batches = values(run, 2);
    const double* const moments = static_cast<double*>(run.scratch);
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

  int64_t batch_, channels_, pixels_;
  Arithmetic arithmetic_;
  NormEps eps_;
  double fraction_;
  bool global_, sync_;
  bool takes_sums_ = false;  // of bottom 0, which the convolution has made
  bool joined_;              // a second bottom is added before the ReLU
  int scale_, shift_;        // indices of the parameters, -1: none
  float slope_ = 1;
};

/// As convolutions leave them: of 16 bits channels last, of f32 in blocks.
std::unique_ptr<Kernel> make_norm_kernel(const KernelRequest& request, const NormChain& chain, std::string& why_not) {
  const Layout& layout = request.bottoms[0].layout;
  const bool half = request.dtype() == DType::kBF16;
  const int block = half ? 16 : onednn::channel_block(layout);
  why_not = chain.obstacle();
  if (!why_not.empty()) return nullptr;
  if (half && (!onednn::has_channels_last(layout) || chain.norm->channels() % block != 0)) {
    why_not = "wants channels last, and their number a multiple of 16, for bf16";
  } else if (block != 16 && block != 8) {
    why_not = "wants channels in blocks of 8 or 16, as convolutions leave them";
  }
  if (!why_not.empty()) return nullptr;
  if (half) return std::make_unique<BatchNormNative<ChannelsLast>>(request, chain, layout);
  if (block == 8) return std::make_unique<BatchNormNative<InBlocks<8>>>(request, chain, layout);
  return std::make_unique<BatchNormNative<InBlocks<16>>>(request, chain, layout);
}

std::unique_ptr<Kernel> make_batch_norm_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  return make_norm_kernel(request, NormChain(request), why_not);
}

std::unique_ptr<Kernel> make_joined_norm_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  if (!request.backward) {
    why_not = "is for training: elsewhere a BatchNorm is in the convolution before it";
  } else if (!request.bottom_grads[0] || !request.bottom_grads[1]) {
    why_not = "hands gradients to both of its bottoms";
  }
  return why_not.empty() ? make_norm_kernel(request, NormChain(request, true), why_not) : nullptr;
}

}  // namespace

ROBUSTA_REGISTER_KERNEL(NormChain::pattern(), "native", 10, make_batch_norm_native);
ROBUSTA_REGISTER_KERNEL(NormChain::joined_pattern(), "native", 10, make_joined_norm_native);

}  // namespace robusta
