// BatchNorm on the GPU, plain or channels last, alone or with the Scale and ReLU after it.
//
// Statistics stay on the GPU; only sums over ranks pass through the host.

#include <memory>

#include "device/gpu/host_values.h"
#include "layers/kit/booking.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/batch_norm/norm_backward_gpu.h"
#include "layers/types/batch_norm/norm_chain.h"
#include "layers/types/batch_norm/norm_forward_gpu.h"

namespace robusta {
namespace {

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
    booking_.asks_ranks = sync_;
    booking_.reads_bottoms = {!global_ || learns_scale || slope_ != 1};
    book_in_place(booking_);
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
    if (!run.again) find_moments(run, x);
    for_each_by_channel(run.stream, view_, NormEach<T>{arrays(run), x, run.tops[0].template as<T>()});
  }

  void backward(const KernelRun& run) override {
    const T *x = booking_.reads_bottoms[0] ? run.bottoms[0].as<T>() : nullptr, *dy = run.top_diffs[0].as<T>();
    if (!global_ || gradient(run, scale_) || gradient(run, shift_)) sum_gradients(run, x, dy);
    if (!run.bottom_diffs[0]) return;
    for_each_by_channel(run.stream, view_,
                        NormPropagate<T>{arrays(run), global_ ? nullptr : constant(run),
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

  void find_moments(const KernelRun& run, const T* x) const {
    const double m = elements_of_batch(run), unbiased = m > 1 ? m / (m - 1) : 1;
    const NormSettings settings{arrays(run), values(run, scale_), values(run, shift_), eps_};
    const NormStatistics stored{values(run, 0), values(run, 1), values(run, 2), fraction_, unbiased};
    if (global_) return for_each(run.stream, view_.count, NormFromStored{settings, stored});
    double* sums = static_cast<double*>(run.scratch);
    StepReduce* ranks = ranks_of(run);
    channel_sums(run.stream, view_, sums + 2 * view_.count,
                 NormMoments<T>{x, view_, settings, stored, ranks ? sums : nullptr});
    if (ranks) {
      change_on_host(run.stream, sums, staging(), [=](std::span<double> own) { share_moments(ranks, own); });
      for_each(run.stream, view_.count, NormFromBatch{settings, stored, sums, view_.count});
    }
    for (size_t i = 0; i < 3; ++i) ++run.params[i]->version;
  }

  void sum_gradients(const KernelRun& run, const T* x, const T* dy) const {
    double* sums = static_cast<double*>(run.scratch);
    StepReduce* ranks = global_ ? nullptr : ranks_of(run);
    const NormArrays norm = arrays(run);
    const NormCoefficients coefficients{constant(run), linear(run), norm.inverse, elements_of_batch(run)};
    channel_sums(run.stream, view_, sums + 2 * view_.count,
                 NormGradientSums<T>{norm, x, dy, gradient(run, scale_), gradient(run, shift_), adds(run, scale_),
                                     adds(run, shift_), coefficients, ranks ? sums : nullptr, view_.count});
    if (!ranks) return;
    change_on_host(run.stream, sums, staging(), [=](std::span<double> values) { ranks->sum(values); });
    for_each(run.stream, view_.count, NormCoefficientsFromSums{coefficients, sums, view_.count});
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

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(NormChain::pattern(), "gpu", 10, make_batch_norm_gpu);

}  // namespace robusta
