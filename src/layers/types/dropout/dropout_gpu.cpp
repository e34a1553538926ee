// Dropout on the GPU: the masks of the CPU, bit for bit, in any layout.
//
// An element's word depends on its place in plain order. So a thread takes a whole block of four words where tensors
// are plain, and draws a block for one word where they are stored channels last; arithmetic is cheap beside memory. The
// position of the pass is read from device memory, since recorded passes (CUDA graphs) see only that change.

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/alias.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/dropout/dropout.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

/// A Philox block of a sample, which is four elements that are neighbours in plain order: a pack, for N = 4.
template <typename T, int N>
struct DropBlock {
  DropoutMask mask;
  float scale;
  Divisor blocks;  ///< of a sample
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t sample = i;
    const int64_t within = 4 * blocks.take_off(sample), at = sample * mask.per_sample + within;
    const PhiloxBlock words =
        philox(mask.key, *mask.first_sample + static_cast<uint64_t>(sample), static_cast<uint64_t>(within / 4));
    for (int begin = 0; begin < 4 && within + begin < mask.per_sample; begin += N) {
      Pack<float, N> values = load_pack<N>(x + at + begin);
      for (int k = 0; k < N; ++k) {
        values.at[k] = words[static_cast<size_t>(begin + k)] >= mask.threshold ? scale * values.at[k] : 0.0f;
      }
      store_pack(values, y + at + begin);
    }
  }
};

/// An element stored channels last, whose neighbours lie in other blocks.
template <typename T>
struct DropElement {
  DropoutMask mask;
  float scale;
  Divisor channels, pixels, per_sample;
  int64_t channel_count, pixel_count;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t n = i;
    const int64_t channel = channels.take_off(n), pixel = pixels.take_off(n);
    int64_t sample = (n * channel_count + channel) * pixel_count + pixel;
    const auto within = static_cast<uint64_t>(per_sample.take_off(sample));
    const PhiloxBlock words = philox(mask.key, *mask.first_sample + static_cast<uint64_t>(sample), within / 4);
    // Selected, for a GPU's registers have no index.
    const uint32_t even = within % 4 < 2 ? words[0] : words[2], odd = within % 4 < 2 ? words[1] : words[3];
    const bool stays = (within % 2 == 0 ? even : odd) >= mask.threshold;
    y[i] = static_cast<T>(stays ? scale * static_cast<float>(x[i]) : 0.0f);
  }
};

template <typename T>
class DropoutGpu : public DropoutKernel {
 public:
  explicit DropoutGpu(const KernelRequest& request) : DropoutKernel(request), scale_(layer_.scale<float>()) {
    count_ = book_shared_layout(request, true, booking_);
    last_ = is_channels_last(booking_.bottom_layouts[0]);
    if (last_) extents_ = channel_extents(request.bottoms[0].shape);
    booking_.reads_position = true;
  }
  std::string describe() const override { return "gpu"; }

 private:
  void apply(const KernelRun& run, const Tensor& from, const Tensor& to) const override {
    if (count_ == 0) return;
    const T* x = from.as<T>();
    T* y = to.as<T>();
    const DropoutMask mask(layer_, run, count_);
    if (last_) {
      for_each(run.stream, count_,
               DropElement<T>{.mask = mask,
                              .scale = scale_,
                              .channels = Divisor(extents_.channels),
                              .pixels = Divisor(extents_.pixels),
                              .per_sample = Divisor(mask.per_sample),
                              .channel_count = extents_.channels,
                              .pixel_count = extents_.pixels,
                              .x = x,
                              .y = y});
    } else {
      drop_blocks(run.stream, mask, x, y);
    }
  }

  /// Packs of four elements where samples begin on packs.
  void drop_blocks(Stream* stream, const DropoutMask& mask, const T* x, T* y) const {
    if (mask.per_sample % 4 == 0 && on_packs(x, y)) {
      drop_blocks_by<4>(stream, mask, x, y);
    } else {
      drop_blocks_by<1>(stream, mask, x, y);
    }
  }

  template <int N>
  void drop_blocks_by(Stream* stream, const DropoutMask& mask, const T* x, T* y) const {
    const int64_t blocks = (mask.per_sample + 3) / 4;
    for_each(stream, mask.samples * blocks,
             DropBlock<T, N>{.mask = mask, .scale = scale_, .blocks = Divisor(blocks), .x = x, .y = y});
  }

  float scale_;
  int64_t count_;
  bool last_;
  ChannelExtents extents_;
};

std::unique_ptr<Kernel> make_dropout_gpu(const KernelRequest& request, std::string& why_not) {
  if (request.layer<DropoutLayer>().passes_on()) return make_gpu_alias(request, true);
  if (!gpu_takes(request, why_not)) return nullptr;
  return make_stored<DropoutGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Dropout", "gpu", 10, make_dropout_gpu);

}  // namespace robusta
