/// Strided copies (kit/gather.h) on the GPU: the kernel of Tile, Crop, Permute and their like. For files named
/// *_gpu.cpp.
///
/// A thread makes an element of the destination, or 16 bytes where all that it is made of lies so: neighbouring threads
/// write neighbouring places. Types do not matter but where elements are summed.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>

#include "device/gpu/copy.h"
#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/gather_layer.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

inline constexpr size_t kGpuGatherAxes = 8;  // the most that a kernel takes, where none can be joined

/// Of element i of the destination: its place in the source.
class GatherPlaces {
 public:
  explicit GatherPlaces(const Gather& gather) : count_(static_cast<int>(gather.axes.size())), base_(gather.base) {
    assert(gather.axes.size() <= kGpuGatherAxes);
    for (size_t a = 0; a < gather.axes.size(); ++a) {
      const GatherAxis& axis = gather.axes[a];
      axes_[a] = {Divisor(std::max<int64_t>(axis.extent, 1)), axis.stride, axis.before, axis.seen()};
    }
  }
  /// -1: none.
  ROBUSTA_GPU int64_t operator()(int64_t i) const {
    int64_t place = base_;
    for (int a = count_ - 1; a >= 0; --a) {
      const int64_t c = axes_[a].by_extent.take_off(i) - axes_[a].before;
      if (c < 0 || c >= axes_[a].seen) return -1;
      place += c * axes_[a].stride;
    }
    return place;
  }

 private:
  struct Axis {
    Divisor by_extent;
    int64_t stride, before, seen;
  };
  int count_;
  int64_t base_;
  Axis axes_[kGpuGatherAxes];
};

/// One unit of the destination: an element, or several.
template <typename Unit>
struct GatherEach {
  GatherPlaces places;
  Unit fill;
  const Unit* from;
  Unit* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t place = places(i);
    to[i] = place < 0 ? fill : from[place];
  }
};

template <typename T>
struct GatherSumEach {
  GatherPlaces places;
  int64_t terms, stride;
  const T* from;
  T* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t place = places(i);
    float sum = 0;  // sums are gradients, which nothing fills up
    for (int64_t k = 0; place >= 0 && k < terms; ++k) sum += static_cast<float>(from[place + k * stride]);
    to[i] = static_cast<T>(sum);
  }
};

/// 16 bytes, copied as one.
struct alignas(16) GatherUnit {
  uint64_t low, high;
};

template <typename T>
class GpuGather {
 public:
  explicit GpuGather(const Gather& gather) : elements_(gather) {
    const auto divides = [](int64_t number) { return number % kWidth == 0; };
    Gather units = gather;
    bool whole = gather.terms == 1 && gather.axes.back().stride == 1 && divides(gather.base);
    GatherAxis& last = units.axes.back();
    whole = whole && divides(last.extent) && divides(last.before) && divides(last.after);
    last = {.extent = last.extent / kWidth, .stride = 1, .before = last.before / kWidth, .after = last.after / kWidth};
    units.base /= kWidth;
    for (size_t a = 0; a + 1 < units.axes.size(); ++a) {
      whole = whole && divides(units.axes[a].stride);
      units.axes[a].stride /= kWidth;
    }
    if (whole) units_ = units;
  }

  void run(Stream* stream, const T* from, T* to) const {
    if (units_ && on_packs(from, to)) {
      for_each(stream, units_->count(),
               GatherEach<GatherUnit>{GatherPlaces(*units_), filled_unit(), reinterpret_cast<const GatherUnit*>(from),
                                      reinterpret_cast<GatherUnit*>(to)});
    } else if (elements_.terms == 1) {
      for_each(stream, elements_.count(),
               GatherEach<T>{GatherPlaces(elements_), static_cast<T>(elements_.fill), from, to});
    } else {
      for_each(stream, elements_.count(),
               GatherSumEach<T>{GatherPlaces(elements_), elements_.terms, elements_.term_stride, from, to});
    }
  }

 private:
  static constexpr auto kWidth = static_cast<int64_t>(sizeof(GatherUnit) / sizeof(T));

  GatherUnit filled_unit() const {
    T elements[kWidth];
    std::fill_n(elements, kWidth, static_cast<T>(elements_.fill));
    GatherUnit unit;
    std::memcpy(&unit, elements, sizeof unit);
    return unit;
  }

  Gather elements_;
  std::optional<Gather> units_;  ///< in units of 16 bytes, where these do
};

/// A copy between tensors that are stored so.
struct StoredGather {
  GatherLayouts layouts;
  Gather gather;
};

/// Elements of the source that lie side by side in the destination, too.
inline int64_t run_of(const Gather& gather) { return gather.axes.back().stride == 1 ? gather.axes.back().seen() : 0; }

/// The bottom as its producer left it; the top in the order of which longer runs are copied, or channels last where
/// neither has any.
inline StoredGather choose_gather(const GatherLayer& layer, const TensorDesc& bottom, const TensorDesc& top) {
  if (!is_channels_last(bottom.layout) || layer.plain_alone()) {
    return {{}, plain_gather(layer, bottom.shape)};
  }
  const ChannelExtents extents = channel_extents(bottom.shape);
  std::vector<int64_t> strides = plain_strides(bottom.shape.dims());
  for (size_t a = 2; a < strides.size(); ++a) strides[a] *= extents.channels;
  strides[1] = 1;
  const auto steps = layer.steps(strides);
  std::vector<GatherAxis> plain, last;
  for (size_t a = 0; a < steps.size(); ++a) plain.insert(plain.end(), steps[a].begin(), steps[a].end());
  StoredGather chosen{{bottom.layout, nullptr}, coalesced(plain)};
  chosen.gather.fill = layer.fill();
  const Layout turned = channels_last(top);
  if (!turned) return chosen;
  for (size_t a = 0; a < steps.size(); ++a) {
    if (a != 1) last.insert(last.end(), steps[a].begin(), steps[a].end());
  }
  last.insert(last.end(), steps[1].begin(), steps[1].end());
  Gather other = coalesced(last);
  other.fill = layer.fill();
  if (run_of(other) >= run_of(chosen.gather)) chosen = {{bottom.layout, turned}, std::move(other)};
  return chosen;
}

template <typename T>
class GatherGpu : public Kernel {
 public:
  GatherGpu(const KernelRequest& request, const StoredGather& chosen)
      : there_(chosen.gather),
        back_(transposed(chosen.gather, request.bottoms[0].count())),
        identity_(chosen.gather.is_identity(request.bottoms[0].count())) {
    book_gather(request, identity_, chosen.layouts, booking_);
    for (const TensorDesc& bottom : request.bottoms) booking_.bottom_types.push_back(bottom.dtype);
    booking_.top_types = {dtype_of<T>()};
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override { copy(run.stream, there_, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) copy(run.stream, back_, run.top_diffs[0], run.bottom_diffs[0]);
    for (const Tensor& diff : run.bottom_diffs.subspan(1)) {
      if (diff) gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
    }
  }

 private:
  void copy(Stream* stream, const GpuGather<T>& gather, const Tensor& from, const Tensor& to) const {
    if (identity_) return gpu_copy(stream, to.data, from.data, to.desc.bytes());
    gather.run(stream, from.as<T>(), to.as<T>());
  }

  GpuGather<T> there_, back_;
  bool identity_;
};

/// False, with a reason, where one has too many axes.
inline bool gpu_takes_gathers(const Gather& a, const Gather& b, std::string& why_not) {
  if (std::max(a.axes.size(), b.axes.size()) <= kGpuGatherAxes) return true;
  why_not = "takes at most 8 axes that cannot be joined";
  return false;
}

inline std::unique_ptr<Kernel> make_gpu_gather(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  const StoredGather chosen = choose_gather(request.layer<GatherLayer>(), request.bottoms[0], request.tops[0]);
  const Gather back = transposed(chosen.gather, request.bottoms[0].count());
  if (!gpu_takes_gathers(chosen.gather, back, why_not)) return nullptr;
  return make_as_bottom<GatherGpu>(request, chosen);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Registers it for a GatherLayer's type: `ROBUSTA_REGISTER_GPU_GATHER(Tile);`
#define ROBUSTA_REGISTER_GPU_GATHER(type)                           \
  [[maybe_unused]] static const bool registered_gpu_gather_##type = \
      ::robusta::register_kernel({#type, "gpu", ::robusta::kGpuKind, 10, ::robusta::make_gpu_gather})
