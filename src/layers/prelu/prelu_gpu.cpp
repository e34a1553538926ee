// PReLU on the GPU, plain or channels last.

#include "layers/gpu_channels.h"
#include "layers/prelu/prelu.h"

namespace robusta {
namespace {

/// y = x where `s` is above 0, slope * x elsewhere: forward with s = x, backward from dy to dx.
template <typename T>
struct PreluEach {
  ChannelOf channel;
  const float* slopes;
  bool shared;
  const T *s, *x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float value = static_cast<float>(x[i]);
    y[i] = static_cast<T>(static_cast<float>(s[i]) > 0 ? value : slopes[shared ? 0 : channel(i)] * value);
  }
};

/// The gradient of the slopes: sums of x * dy where x is not above 0.
template <typename T>
struct PreluSlopes {
  using Sum = double;
  const T *x, *dy;
  float* sums;
  bool add;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t i, int64_t = 0) const {
    const float value = static_cast<float>(x[i]);
    return value > 0 ? 0.0 : static_cast<double>(value) * static_cast<float>(dy[i]);
  }
  ROBUSTA_GPU void store(int64_t c, Sum sum) const { sums[c] = static_cast<float>(add ? sums[c] + sum : sum); }
  ROBUSTA_GPU void store(Sum sum) const { store(0, sum); }
};

template <typename T>
class PreluGpu : public Kernel {
 public:
  explicit PreluGpu(const KernelRequest& request) : shared_(request.layer<PreluLayer>().shared()) {
    const ChannelExtents extents = channel_extents(request.bottoms[0].shape);
    view_ = book_channel_view(request, {extents.batch, extents.channels, extents.pixels}, booking_);
    booking_.reads_bottoms = {true};
    booking_.repeatable = true;
    booking_.forward_aliases = {{0, 0, false}};
    booking_.backward_aliases = {{0, 0, false}};
    booking_.backward_scratch =
        shared_ ? reduce_all_scratch<PreluSlopes<T>>(view_.elements()) : channel_sums_scratch<PreluSlopes<T>>(view_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override { apply(run, run.bottoms[0].as<T>(), run.tops[0].as<T>()); }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    // Before the gradient of the bottom, which may overwrite that of the top.
    if (run.params[0]->learns) {
      const PreluSlopes<T> slopes{run.bottoms[0].as<T>(), dy, run.params[0]->gradient().as<float>(),
                                  run.accumulate[0] != 0};
      if (shared_) {
        reduce_all(run.stream, view_.elements(), run.scratch, slopes);
      } else {
        channel_sums(run.stream, view_, run.scratch, slopes);
      }
    }
    if (run.bottom_diffs[0]) apply(run, dy, run.bottom_diffs[0].as<T>());
  }

 private:
  void apply(const KernelRun& run, const T* from, T* to) const {
    for_each(run.stream, view_.elements(),
             PreluEach<T>{view_.channel_of(), run.params[0]->tensor().as<float>(), shared_, run.bottoms[0].as<T>(),
                          from, to});
  }

  bool shared_;
  ChannelView view_;
};

std::unique_ptr<Kernel> make_prelu_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<PreluGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("PReLU", "gpu", 10, make_prelu_gpu);

}  // namespace robusta
