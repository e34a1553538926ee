/// Layers that normalise channels (kit/channel_norm.h) on the GPU, plain or channels last, alone or with a ReLU behind,
/// and what a residual block adds before that (He et al. 2015, "Deep Residual Learning for Image Recognition"). For
/// files named *_gpu.cpp.
///
/// Statistics stay on the GPU; only sums over ranks pass through the host.
#pragma once

#include <cassert>
#include <memory>

#include "device/gpu/host_values.h"
#include "layers/backends/gpu/norm_backward.h"
#include "layers/backends/gpu/norm_forward.h"
#include "layers/kit/booking.h"
#include "layers/kit/changes_params.h"
#include "layers/kit/channel_norm.h"
#include "layers/kit/result_sums.h"
#include "memory/placement.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// `slope`: of the ReLU; 1: there is none. A second bottom is added before it.
template <typename T>
class ChannelNormGpu : public Kernel, public ChangesParams, public TakesResultSums {
 public:
  ChannelNormGpu(const KernelRequest& request, const ChannelNormPlan& plan, float slope)
      : plan_(plan), slope_(slope), joined_(request.bottoms.size() == 2) {
    view_ = book_channel_view(request, {plan.batch, plan.channels, plan.plane}, booking_);
    booking_.asks_ranks = plan_.sync;
    booking_.reads_bottoms = {!plan_.stored || plan_.learns_scale(request) || (slope_ != 1 && !joined_)};
    book_in_place(booking_);
    if (joined_) book_join(request);
    booking_.may_leave_top = request.backward && !joined_ && slope_ == 1;
    booking_.saved_bytes = signs_bytes_ + kSavedArrays * channels() * sizeof(float);
    booking_.forward_scratch = sums_bytes() + channel_sums_scratch<NormMoments<T>>(view_);
    booking_.backward_scratch = sums_bytes() + channel_sums_scratch<NormGradientSums<T>>(view_);
    if (plan_.sync) {
      Device& device = request.device ? *request.device : cpu_device();
      staging_ = std::static_pointer_cast<double>(device.host_memory(sums_bytes()));
    }
  }
  std::string describe() const override { return "gpu"; }
  bool changes_params() const override { return !plan_.stored; }

  /// Moments of a batch, of channels that lie side by side and are rounded (kit/result_sums.h).
  bool wants_result_sums() const override {
    return kSumsServe && !plan_.stored && view_.inner == 1 && view_.elements() > 0;
  }
  void take_result_sums() override {
    takes_sums_ = true;
    booking_.forward_scratch = plan_.sync ? sums_bytes() : 0;
  }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    if (!run.tops[0].data) {  // the rest is left to its reader
      assert(!run.again);
      return find_moments(run, x);
    }
    // What is added may come as such a kernel has left it.
    const bool norms_other = run.bottoms.size() > (takes_sums_ ? 3 : 2);
    norms_other ? normalise<true>(run, x) : normalise<false>(run, x);
  }

  void backward(const KernelRun& run) override {
    const T *x = booking_.reads_bottoms[0] ? run.bottoms[0].as<T>() : nullptr, *dy = run.top_diffs[0].as<T>();
    if (joined_ || !plan_.stored || gradient(run, plan_.scale) || gradient(run, plan_.shift)) {
      sum_gradients(run, x, dy);
    }
    if (joined_) dy = run.bottom_diffs[1].as<T>();
    if (!run.bottom_diffs[0]) return;
    for_each_by_channel(
        run.stream, view_,
        NormPropagate<T>{arrays_of_gradients(run), plan_.stored ? nullptr : constant(run),
                         plan_.stored ? nullptr : linear(run), x, dy, run.bottom_diffs[0].template as<T>()});
  }

 private:
  static constexpr bool kSumsServe = sizeof(T) == 2;
  static constexpr size_t kSavedArrays = 6;  ///< of NormArrays, then the two that backward fills

  /// The sum, and the gradient of what is added, may lie where that and the top's lay.
  void book_join(const KernelRequest& request) {
    booking_.bottom_layouts[1] = booking_.bottom_layouts[0];
    booking_.reads_bottoms.push_back(false);
    booking_.reads_tops = {request.backward && slope_ != 1};
    if (booking_.reads_tops[0]) signs_bytes_ = align_up(static_cast<size_t>(view_.elements() / kSignsPerByte + 1));
    booking_.forward_aliases.push_back({1, 0, false});
    booking_.backward_aliases = {{0, 1, false}};
    booking_.top_diff_terms = 2;
    if (request.backward) booking_.finishes_bottom = 1;
  }

  template <bool kNormsOther>
  void normalise(const KernelRun& run, const T* x) {
    const T* other = joined_ ? run.bottoms[1].as<T>() : nullptr;
    T* y = run.tops[0].as<T>();
    NormArrays other_norm = {};
    if (kNormsOther) other_norm = arrays_at(static_cast<float*>(run.bottoms[2].data), 1);
    const NormEach<T, true, kNormsOther> with_signs{arrays(run), x, other, y, static_cast<uint8_t*>(run.saved),
                                                    other_norm};
    has_signs_ = signs_bytes_ > 0 && pack_shape(view_, with_signs) != PackShape::kNone;
    if (has_signs_) return find_and_normalise(run, x, with_signs);
    find_and_normalise(run, x, NormEach<T, false, kNormsOther>{arrays(run), x, other, y, nullptr, other_norm});
  }

  template <typename Each>
  void find_and_normalise(const KernelRun& run, const T* x, const Each& each) {
    if constexpr (kSumsServe) {
      const bool at_once = takes_sums_ && !ranks_of(run) && pack_shape(view_, each) == PackShape::kAcrossChannels;
      if (at_once && !run.again) {
        for_each_by_found_channel(run.stream, view_, NormEachFromSums<Each>{each, from_sums(run, nullptr)});
        return renew_statistics(plan_, run);
      }
    }
    if (!run.again) find_moments(run, x);
    for_each_by_channel(run.stream, view_, each);
  }

  size_t channels() const { return static_cast<size_t>(view_.count); }
  size_t sums_bytes() const { return 2 * channels() * sizeof(double); }
  StepReduce* ranks_of(const KernelRun& run) const { return plan_.sync ? run.pass->ranks : nullptr; }
  std::span<double> staging() const { return {staging_.get(), 2 * channels()}; }
  /// Elements per channel behind the statistics: of all ranks, if they are synchronised.
  double elements_of_batch(const KernelRun& run) const {
    const StepReduce* ranks = ranks_of(run);
    return static_cast<double>(view_.outer * view_.inner) * (ranks ? ranks->ranks() : 1);
  }

  NormArrays arrays(const KernelRun& run) const { return arrays_at(saved_array(run, 0), slope_); }
  NormArrays arrays_at(float* first, float slope) const {
    return {first, first + view_.count, first + 2 * view_.count, first + 3 * view_.count, slope};
  }

  /// The same for backward: where something is added in between, the ReLU is no longer ours.
  NormArrays arrays_of_gradients(const KernelRun& run) const {
    NormArrays norm = arrays(run);
    if (joined_) norm.slope = 1;
    return norm;
  }

  /// Behind the signs of y.
  float* saved_array(const KernelRun& run, int64_t place) const {
    return reinterpret_cast<float*>(static_cast<char*>(run.saved) + signs_bytes_) + place * view_.count;
  }
  float* constant(const KernelRun& run) const { return saved_array(run, 4); }
  float* linear(const KernelRun& run) const { return saved_array(run, 5); }

  static float* values(const KernelRun& run, int param) {
    return param < 0 ? nullptr : run.params[static_cast<size_t>(param)]->tensor().as<float>();
  }
  /// Null when there is no such parameter, or when it does not learn.
  static float* gradient(const KernelRun& run, int param) {
    if (param < 0 || !run.params[static_cast<size_t>(param)]->learns) return nullptr;
    return run.params[static_cast<size_t>(param)]->gradient().as<float>();
  }
  static bool adds(const KernelRun& run, int param) { return param >= 0 && run.accumulate[static_cast<size_t>(param)]; }

  NormSettings settings_of(const KernelRun& run) const {
    return {arrays(run), values(run, plan_.scale), values(run, plan_.shift), plan_.eps};
  }
  NormStatistics statistics_of(const KernelRun& run) const {
    return {.means = values(run, plan_.mean),
            .variances = values(run, plan_.variance),
            .batches = values(run, plan_.batches),
            .fraction = plan_.fraction,
            .share = plan_.share,
            .unbiased = plan_.correction(elements_of_batch(run))};
  }
  NormFromSums from_sums(const KernelRun& run, double* moments) const {
    return {settings_of(run),
            statistics_of(run),
            static_cast<const float*>(run.bottoms.back().data),
            view_.count,
            1 / static_cast<double>(view_.outer * view_.inner),
            moments};
  }

  void find_moments(const KernelRun& run, const T* x) const {
    const NormSettings settings = settings_of(run);
    const NormStatistics stored = statistics_of(run);
    if (plan_.stored) return for_each(run.stream, view_.count, NormFromStored{settings, stored});
    double* sums = static_cast<double*>(run.scratch);
    StepReduce* ranks = ranks_of(run);
    if (takes_sums_) {
      for_each(run.stream, view_.count, from_sums(run, ranks ? sums : nullptr));
    } else {
      channel_sums(run.stream, view_, sums + 2 * view_.count,
                   NormMoments<T>{x, view_, settings, stored, ranks ? sums : nullptr});
    }
    if (ranks) {
      change_on_host(run.stream, sums, staging(), [=](std::span<double> own) { share_moments(ranks, own); });
      for_each(run.stream, view_.count, NormFromBatch{settings, stored, sums, view_.count});
    }
    renew_statistics(plan_, run);
  }

  void sum_gradients(const KernelRun& run, const T* x, const T* dy) const {
    double* sums = static_cast<double*>(run.scratch);
    double* scratch = sums + 2 * view_.count;
    StepReduce* ranks = plan_.stored ? nullptr : ranks_of(run);
    const NormArrays norm = arrays_of_gradients(run);
    const NormCoefficients coefficients{constant(run), linear(run), norm.inverse, elements_of_batch(run)};
    const NormGradientSums<T> body{norm,
                                   x,
                                   dy,
                                   gradient(run, plan_.scale),
                                   gradient(run, plan_.shift),
                                   adds(run, plan_.scale),
                                   adds(run, plan_.shift),
                                   coefficients,
                                   ranks ? sums : nullptr,
                                   view_.count};
    if (joined_) {
      const T* more = run.top_diffs.size() > 1 ? run.top_diffs[1].as<T>() : nullptr;
      const T* y = slope_ == 1 || has_signs_ ? nullptr : run.tops[0].as<T>();
      const uint8_t* signs = has_signs_ ? static_cast<const uint8_t*>(run.saved) : nullptr;
      channel_sums(run.stream, view_, scratch,
                   JoinedGradientSums<T>{body, more, y, signs, slope_, run.bottom_diffs[1].template as<T>()});
    } else {
      channel_sums(run.stream, view_, scratch, body);
    }
    if (!ranks) return;
    change_on_host(run.stream, sums, staging(), [=](std::span<double> values) { ranks->sum(values); });
    for_each(run.stream, view_.count, NormCoefficientsFromSums{coefficients, sums, view_.count});
  }

  ChannelNormPlan plan_;
  float slope_;
  bool joined_;              ///< a second bottom is added
  size_t signs_bytes_ = 0;   ///< of saved memory, before the arrays
  bool takes_sums_ = false;  ///< of x, from who wrote it (kit/result_sums.h)
  bool has_signs_ = false;   ///< the forward pass has written them: it took packs, as it does where addresses allow
  ChannelView view_;
  std::shared_ptr<double> staging_;  // of sums over ranks
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
