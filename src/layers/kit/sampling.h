/// Layers whose top is bottom 0 sampled at other pixels, between them or at the nearest: Interp, ResizeBilinear,
/// ResizeNearestNeighbor and Upsample say where, and have all kernels.
///
/// Along each axis a place is a ratio of whole numbers, so that no rounding decides which pixel is the nearest.
///
///     ROBUSTA_REGISTER_SAMPLING("Interp", InterpLayer);    the layer and the reference
///     ROBUSTA_REGISTER_GPU_SAMPLING(Interp);               in interp_gpu.cpp: backends/gpu/sampling.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/half.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// What one coordinate of the top is made of: (1 - share) * lower + share * upper.
struct AxisSample {
  int64_t lower, upper;
  double share;  ///< of the upper one, 0 to 1
};

/// Coordinates begin..end-1.
struct AxisRange {
  int64_t begin, end;
};

/// One axis. Coordinate `to` of the top lies at (to * step + shift) / unit of the part of the bottom that is seen,
/// which begins at `first`; what lies outside of it is taken for its margin.
struct SampledAxis {
  int64_t in = 1, out = 1;  ///< pixels of bottom and top
  int64_t first = 0, seen = 1;
  int64_t step = 0, shift = 0, unit = 1;
  bool linear = false;  ///< between pixels; else the one that begins at or before the place

  ROBUSTA_HOST_DEVICE AxisSample sample(int64_t to) const {
    const int64_t place = to * step + shift, below = floor_of(place, unit), rest = place - below * unit;
    const int64_t lower = within(below);
    if (!linear) return {first + lower, first + lower, 0};
    return {first + lower, first + within(rest > 0 ? below + 1 : below),
            static_cast<double>(rest) / static_cast<double>(unit)};
  }

  /// The coordinates of the top that may be made of `from`: all others have nothing of it.
  ROBUSTA_HOST_DEVICE AxisRange users(int64_t from) const {
    const int64_t pixel = from - first;
    if (pixel < 0 || pixel >= seen) return {0, 0};
    if (step == 0) return {0, out};
    const int64_t begin = pixel == 0 ? 0 : floor_of((pixel - 1) * unit - shift, step);
    const int64_t end = pixel == seen - 1 ? out : floor_of((pixel + 1) * unit - shift, step) + 1;
    return {begin < 0 ? 0 : begin, end > out ? out : end};
  }

  /// The share of `from` in coordinate `to` of the top.
  ROBUSTA_HOST_DEVICE double share(int64_t from, int64_t to) const {
    const AxisSample s = sample(to);
    return (s.lower == from ? 1 - s.share : 0) + (s.upper == from ? s.share : 0);
  }

 private:
  ROBUSTA_HOST_DEVICE static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  ROBUSTA_HOST_DEVICE int64_t within(int64_t pixel) const { return pixel < 0 ? 0 : pixel >= seen ? seen - 1 : pixel; }
};

/// Both hold [outer, height, width, inner].
struct Sampling {
  int64_t outer = 1, inner = 1;
  SampledAxis h, w;
  bool of_planes = false;  ///< the outer ones are batch and channels, and there are no inner ones
  int64_t count_in() const { return outer * h.in * w.in * inner; }
  int64_t count_out() const { return outer * h.out * w.out * inner; }
};

/// How coordinates of the top become places. First and last pixels lie on each other (kCorners); or both images fill
/// the same square, and a coordinate stands for the beginning of its pixel (kEdges) or for its middle (kMiddles).
enum class SampledBy { kCorners, kEdges, kMiddles };

/// Between the two pixels that a place lies between, of `seen` pixels from `first` on.
SampledAxis linear_axis(SampledBy by, int64_t in, int64_t first, int64_t seen, int64_t out);
/// The nearest pixel with kCorners, else the one that the place lies in.
SampledAxis nearest_axis(SampledBy by, int64_t in, int64_t out);

/// Throws Error{kConfig} in `field` unless the extent is one that images have: 1 to 2^30.
void check_sampled_extent(int64_t extent, const char* what, const std::string& field);

class SamplingLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    return (sampling_.h.linear ? 7 : 0) * static_cast<double>(tops[0].count());
  }
  /// After infer_tops.
  const Sampling& sampling() const { return sampling_; }

 protected:
  /// Sets the sampling of [batch, channels, h, w], and returns the shape of the top.
  Shape sample_planes(const Shape& bottom, const SampledAxis& h, const SampledAxis& w);

  Sampling sampling_;
};

/// The reference kernel, for layers that have others besides, and its registration.
std::unique_ptr<Kernel> make_sampling_reference(const KernelRequest& request, std::string& why_not);
bool register_sampling_kernel(const std::string& type);

#define ROBUSTA_REGISTER_SAMPLING(type, Class) \
  ROBUSTA_REGISTER_LAYER(type, Class);         \
  static const bool registered_sampling_##Class = ::robusta::register_sampling_kernel(type)

}  // namespace robusta
