// LRN across channels for beta 0.75, in f32 on blocked channels (nChw16c and its like), in bf16 on channels last.
//
// A few pixels at a time are laid out channel after channel with zeros at both ends, so that the window sums are loads
// at neighbouring addresses. Backward computes the brackets again: reading them back would cost more. The formulas are
// those of lrn.h and lrn.cpp.

#include <bit>
#include <cstdint>

#include "base/lane_map.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "base/str.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/types/lrn/lrn.h"

namespace robusta {
namespace {

constexpr int64_t kPixels = 8;       // at a time
constexpr int64_t kMargin = 16;      // zeros before and after the channels: the longest reach of a window
constexpr int64_t kChannels = 1024;  // the most that fit the rows
constexpr int kUsualSize = 5;        // channels in a window, which is the default
constexpr int64_t kRow = kMargin + kChannels + kMargin;

/// s = k + weight * (sum over `size` channels); pull = 2 * weight * beta.
struct Window {
  int64_t size;
  float k, weight, pull;
};

/// The pixels at hand: `count` of them, with so many blocks of channels, and how many elements lie between two.
struct Pixels {
  int64_t count, blocks, next_pixel, next_block;
  int64_t place(int64_t block, int64_t pixel) const { return block * next_block + pixel * next_pixel; }
};

/// power = s^-0.75, inverse = 1 / s, without a call of pow: y = s^-1/4 from a quarter of the exponent, as for the
/// inverse square root (Lomont 2003, "Fast inverse square root"), two steps of Newton's method, y -= y (s y^4 - 1) / 4,
/// and what s y^4 then still misses of 1. Off by 3e-7 at most. REQUIRES: normal positive numbers.
template <int N>
__attribute__((always_inline)) inline void powers(const Floats<N>& s, Floats<N>& power, Floats<N>& inverse) {
  // 5/4 of the bits of 1.0, less what makes the worst error least: 3 %.
  const Ints<N> bits = 0x4f586666 - (reinterpret_cast<const Ints<N>&>(s) >> 2);
  Floats<N> y = reinterpret_cast<const Floats<N>&>(bits);
  for (int step = 0; step < 2; ++step) {
    const Floats<N> square = y * y;
    y *= 1.25f - 0.25f * s * (square * square);
  }
  const Floats<N> square = y * y, fourth = square * square, missing = 1.0f - s * fourth, cube = square * y;
  power = cube + 0.75f * missing * cube;
  inverse = fourth + missing * fourth;
}

/// Anew for each channel: a running sum would carry its rounding errors along all channels. kSize: the size, where it
/// is known; 0: it is not.
template <int N, int kSize>
__attribute__((always_inline)) inline void window_sum(const float* centre, int64_t size, Floats<N>& sum) {
  if constexpr (kSize > 0) size = kSize;
  const float* first = centre - size / 2;
  sum = floats_at<N>(first);
#pragma GCC unroll 4
  for (int64_t d = 1; d < size; ++d) sum += floats_at<N>(first + d);
}

__attribute__((always_inline)) inline void clear_margins(float* rows, int64_t channels, int64_t count) {
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t i = 0; i < kMargin; ++i) {
      rows[p * kRow + i] = 0;
      rows[p * kRow + kMargin + channels + i] = 0;
    }
  }
}

template <int N, typename Stored>
__attribute__((always_inline)) inline void lay_out_squares(const Pixels& at, const Stored* x, float* rows) {
  clear_margins(rows, at.blocks * N, at.count);
  for (int64_t b = 0; b < at.blocks; ++b) {
    for (int64_t p = 0; p < at.count; ++p) {
      fetch_ahead(x + at.place(b, p));
      Floats<N> value;
      load<N>(x + at.place(b, p), value);
      floats_at<N>(rows + p * kRow + kMargin + b * N) = value * value;
    }
  }
}

template <int N, int kSize, typename Stored>
ROBUSTA_SIMD void normalise_pixels(const Window& window, const Pixels& at, const Stored* x, Stored* y) {
  alignas(64) float squares[kPixels * kRow];
  lay_out_squares<N>(at, x, squares);
  for (int64_t b = 0; b < at.blocks; ++b) {
    for (int64_t p = 0; p < at.count; ++p) {
      Floats<N> sum, power, inverse;
      window_sum<N, kSize>(squares + p * kRow + kMargin + b * N, window.size, sum);
      const Floats<N> s = window.k + window.weight * sum;
      powers<N>(s, power, inverse);
      Floats<N> value;
      load<N>(x + at.place(b, p), value);
      store<N>(value * power, y + at.place(b, p));
    }
  }
}

template <int N, int kSize, typename Stored>
ROBUSTA_SIMD void propagate_pixels(const Window& window, const Pixels& at, const Stored* x, const Stored* dy,
                                   Stored* dx) {
  alignas(64) float squares[kPixels * kRow];
  alignas(64) float ratios[kPixels * kRow];
  alignas(64) float direct[kPixels * kRow];
  lay_out_squares<N>(at, x, squares);
  clear_margins(ratios, at.blocks * N, at.count);
  for (int64_t b = 0; b < at.blocks; ++b) {
    for (int64_t p = 0; p < at.count; ++p) {
      const int64_t row = p * kRow + kMargin + b * N;
      Floats<N> sum, power, inverse, value, above;
      window_sum<N, kSize>(squares + row, window.size, sum);
      const Floats<N> s = window.k + window.weight * sum;
      powers<N>(s, power, inverse);
      fetch_ahead(dy + at.place(b, p));
      load<N>(x + at.place(b, p), value);
      load<N>(dy + at.place(b, p), above);
      above *= power;
      floats_at<N>(direct + row) = above;
      floats_at<N>(ratios + row) = above * value * inverse;
    }
  }
  for (int64_t b = 0; b < at.blocks; ++b) {
    for (int64_t p = 0; p < at.count; ++p) {
      const int64_t row = p * kRow + kMargin + b * N;
      Floats<N> around, value;
      window_sum<N, kSize>(ratios + row, window.size, around);
      load<N>(x + at.place(b, p), value);
      const Floats<N> direct_part = floats_at<N>(static_cast<const float*>(direct + row));
      store<N>(direct_part - window.pull * value * around, dx + at.place(b, p));
    }
  }
}

template <int N, typename Stored>
class LrnNative : public Kernel {
 public:
  LrnNative(const KernelRequest& request, const LrnLayer& layer, const Layout& layout) {
    const Shape& shape = request.bottoms[0].shape;
    batch_ = shape[0];
    blocks_ = (shape[1] + N - 1) / N;
    pixels_ = shape.count(2);
    channels_last_ = onednn::has_channels_last(layout);
    const float weight = layer.alpha() / static_cast<float>(layer.size());
    window_ = {layer.size(), layer.k(), weight, 2 * weight * layer.beta()};
    booking_.bottom_layouts = booking_.top_layouts = {layout};
    book_reads(true, false, booking_);
    book_in_place(booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const Stored* x = run.bottoms[0].as<Stored>();
    Stored* y = run.tops[0].as<Stored>();
    const auto normalise =
        window_.size == kUsualSize ? normalise_pixels<N, kUsualSize, Stored> : normalise_pixels<N, 0, Stored>;
    for_pixels([=, this](const Pixels& at, int64_t i) { normalise(window_, at, x + i, y + i); });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const Stored *x = run.bottoms[0].as<Stored>(), *dy = run.top_diffs[0].as<Stored>();
    Stored* dx = run.bottom_diffs[0].as<Stored>();
    const auto propagate =
        window_.size == kUsualSize ? propagate_pixels<N, kUsualSize, Stored> : propagate_pixels<N, 0, Stored>;
    for_pixels([=, this](const Pixels& at, int64_t i) { propagate(window_, at, x + i, dy + i, dx + i); });
  }

 private:
  template <typename Body>
  void for_pixels(const Body& body) const {
    const int64_t groups = (pixels_ + kPixels - 1) / kPixels;
    parallel_for(batch_ * groups, 1 + (1 << 11) / (blocks_ * N), [&](int64_t i) {
      const int64_t sample = i / groups, pixel = i % groups * kPixels;
      const Pixels at{std::min(kPixels, pixels_ - pixel), blocks_, channels_last_ ? blocks_ * N : N,
                      channels_last_ ? N : pixels_ * N};
      body(at, sample * blocks_ * pixels_ * N + pixel * at.next_pixel);
    });
  }

  int64_t batch_, blocks_, pixels_;
  bool channels_last_;
  Window window_;
};

std::unique_ptr<Kernel> make_lrn_native(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<LrnLayer>();
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  const bool half = request.dtype() == DType::kBF16;
  const Shape& shape = request.bottoms[0].shape;
  if (!layer.across_channels()) {
    why_not = "normalises across channels only";
  } else if (layer.beta() != 0.75f) {
    why_not = str("knows beta 0.75 only, not ", layer.beta());
  } else if (layer.k() <= 0 || layer.alpha() < 0) {
    why_not = "the bracket may not be positive";
  } else if (layer.size() / 2 > kMargin || shape[1] > kChannels) {
    why_not = "too many channels at once";
  } else if (half && shape[1] % 16 != 0) {
    why_not = "wants channels that are a multiple of 16, for bf16";
  }
  if (!why_not.empty()) return nullptr;
  const Layout& offered = request.bottoms[0].layout;
  // Whatever else comes is worth a reorder.
  if (half) {
    const Layout last = onednn::layout_of(onednn::channels_last_desc(onednn::dims_of(shape)));
    return std::make_unique<LrnNative<16, BFloat16>>(request, layer, last);
  }
  if (onednn::channel_block(offered) == 8) return std::make_unique<LrnNative<8, float>>(request, layer, offered);
  const Layout blocked = onednn::layout_of(onednn::blocked_desc(onednn::dims_of(shape), 16));
  return std::make_unique<LrnNative<16, float>>(request, layer, blocked);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("LRN", "native", 10, make_lrn_native);

}  // namespace robusta
