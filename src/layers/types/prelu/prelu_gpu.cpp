// PReLU on the GPU, plain or channels last: forward and the gradient of x are one body, the gradient of the slopes is a
// sum by channel (backends/gpu/channels.h).

#include "layers/backends/gpu/channels.h"
#include "layers/kit/booking.h"
#include "layers/kit/rectifier.h"
#include "layers/types/prelu/prelu.h"

namespace robusta {
namespace {

/// y = x where `s` is above 0, slope * x elsewhere: forward with s = x, backward from dy to dx.
template <typename T>
struct PreluEach {
  static constexpr int kWidth = kPackWidth<T>;
  const float* slopes;
  const T *s, *x;
  T* y;
  bool in_packs() const { return on_packs(s, x, y) && on_packs(slopes); }
  template <int N, bool kAcross>
  ROBUSTA_GPU Pack<float, N> known(Channels<N, kAcross> channels) const {
    return channels.of(slopes);
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(s + i), stored_pack<N>(x + i)};
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const PackPair<T, N>& stored, const Pack<float, N>& slope) const {
    const Pack<float, N> signs = as_floats(stored.first);
    Pack<float, N> values = as_floats(stored.second);
    for (int k = 0; k < N; ++k) values.at[k] = rectified_gradient(signs.at[k], values.at[k], slope.at[k]);
    store_pack(values, y + i);
  }
};

/// The gradient of the slopes: sums of x * dy where x is not above 0.
template <typename T>
struct PreluSlopes {
  static constexpr int kSums = 1, kWidth = kPackWidth<T>;
  const T *x, *dy;
  float* sums;
  bool adds;
  bool in_packs() const { return on_packs(x, dy); }
  template <int N, bool kAcross>
  ROBUSTA_GPU bool known(Channels<N, kAcross>) const {
    return true;
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(x + i), stored_pack<N>(dy + i)};
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const PackPair<T, N>& stored, bool, ChannelTerms<1, N>& to) const {
    const Pack<float, N> values = as_floats(stored.first), slopes = as_floats(stored.second);
    for (int k = 0; k < N; ++k) to.at[0][k] += values.at[k] > 0 ? 0.0f : values.at[k] * slopes.at[k];
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[1]) const { hand_over(sum[0], adds, sums[c]); }
};

template <typename T>
class PreluGpu : public Kernel {
 public:
  explicit PreluGpu(const KernelRequest& request) {
    const ChannelExtents extents = channel_extents(request.bottoms[0].shape);
    view_ = book_channel_view(request, {extents.batch, extents.channels, extents.pixels}, booking_);
    book_reads(true, false, booking_);
    book_in_place(booking_);
    if (request.layer<PreluLayer>().shared()) view_ = {1, 1, view_.elements()};  // one slope: one channel
    booking_.backward_scratch = channel_sums_scratch<PreluSlopes<T>>(view_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override { apply(run, run.bottoms[0].as<T>(), run.tops[0].as<T>()); }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    // Before the gradient of the bottom, which may overwrite that of the top.
    if (run.params[0]->learns) {
      channel_sums(
          run.stream, view_, run.scratch,
          PreluSlopes<T>{run.bottoms[0].as<T>(), dy, run.params[0]->gradient().as<float>(), run.accumulate[0] != 0});
    }
    if (run.bottom_diffs[0]) apply(run, dy, run.bottom_diffs[0].as<T>());
  }

 private:
  /// Both directions: the signs are those of the bottom.
  void apply(const KernelRun& run, const T* from, T* to) const {
    for_each_by_channel(run.stream, view_,
                        PreluEach<T>{run.params[0]->tensor().as<float>(), run.bottoms[0].as<T>(), from, to});
  }

  ChannelView view_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("PReLU", PreluGpu);

}  // namespace robusta
