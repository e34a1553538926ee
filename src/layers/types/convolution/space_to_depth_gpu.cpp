// Space to depth on the GPU: a thread writes a pack of folded channels, or gathers the gradient of a tap.

#include "layers/types/convolution/space_to_depth_gpu.h"

#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"
#include "layers/backends/gpu/elementwise.h"

namespace robusta {
namespace {

/// One spatial axis: folded position j, phase r is position j * stride + r - pad of the plain one.
struct Axis {
  int64_t extent, folded, stride, pad;
};

/// An array of planes with `channels` each, whose axes are folded; `width` folded channels, the last of them zeros.
struct Planes {
  Axis y, x;
  int64_t channels, width;
};

/// Neighbouring folded channels are neighbouring plain channels, then phases along x, then along y.
template <typename T>
struct FoldPlanes {
  static constexpr int kPack = 8;
  Planes planes;
  Divisor packs, columns, rows, channels, phases;
  const float *plain, *factors;  ///< factors: one for each plane; null: 1
  T* folded;
  ROBUSTA_GPU float at(int64_t plane, int64_t row, int64_t column, int64_t channel) const {
    int64_t phase = channel;
    const int64_t c = channels.take_off(phase);
    const int64_t x_phase = phases.take_off(phase);
    const int64_t y = row * planes.y.stride + phase - planes.y.pad;
    const int64_t x = column * planes.x.stride + x_phase - planes.x.pad;
    if (phase >= planes.y.stride || y < 0 || y >= planes.y.extent || x < 0 || x >= planes.x.extent) return 0;
    const float value = plain[((plane * planes.channels + c) * planes.y.extent + y) * planes.x.extent + x];
    return factors ? value * factors[plane] : value;
  }
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t plane = i;
    const int64_t first = packs.take_off(plane) * kPack;
    const int64_t column = columns.take_off(plane), row = rows.take_off(plane);
    Pack<float, kPack> values;
    for (int k = 0; k < kPack; ++k) values.at[k] = at(plane, row, column, first + k);
    store_pack(values, folded + i * kPack);
  }
  void touches(int64_t count, KernelArrays& to) const {
    const int64_t images = count * kPack / (planes.y.folded * planes.x.folded * planes.width);
    to.add(plain, images * planes.channels * planes.y.extent * planes.x.extent);
    to.add(folded, count * kPack);
  }
};

template <typename T>
void fold(Stream* stream, const Planes& planes, int64_t count, const float* plain, const float* factors, T* folded) {
  constexpr int kPack = FoldPlanes<T>::kPack;
  const int64_t packs = planes.width / kPack;
  for_each(stream, count * planes.y.folded * planes.x.folded * packs,
           FoldPlanes<T>{planes, Divisor(packs), Divisor(planes.x.folded), Divisor(planes.y.folded),
                         Divisor(planes.channels), Divisor(planes.x.stride), plain, factors, folded});
}

template <typename T>
struct UnfoldFilters {
  Planes planes;
  Divisor columns, rows, channels;
  const T* folded;
  bool add;
  float* plain;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t output = i;
    const int64_t x = columns.take_off(output), y = rows.take_off(output), c = channels.take_off(output);
    const int64_t row = y / planes.y.stride, column = x / planes.x.stride;
    const int64_t phase = y % planes.y.stride * planes.x.stride + x % planes.x.stride;
    const int64_t place = ((output * planes.y.folded + row) * planes.x.folded + column) * planes.width;
    const auto value = static_cast<float>(folded[place + phase * planes.channels + c]);
    plain[i] = add ? plain[i] + value : value;
  }
  void touches(int64_t count, KernelArrays& to) const {
    to.add(folded, count);
    to.add(plain, count, add ? 2 : 1);
  }
};

Planes image_planes(const SpaceToDepth& how) {
  const auto axis = [&](size_t a) -> Axis {
    const WindowAxis& plain = how.plain.axes[a];
    return {plain.in, how.folded.axes[a].in, plain.stride, plain.pad};
  };
  return {axis(0), axis(1), how.plain.channels, how.folded.channels};
}

Planes filter_planes(const SpaceToDepth& how) {
  const auto axis = [&](size_t a) -> Axis {
    const WindowAxis& plain = how.plain.axes[a];
    return {plain.kernel, how.folded.axes[a].kernel, plain.stride, 0};
  };
  return {axis(0), axis(1), how.plain.channels, how.folded.channels};
}

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

void fold_image(Stream* stream, const SpaceToDepth& how, const float* image, DType type, void* folded) {
  with_storage(type, [&](auto t) {
    fold(stream, image_planes(how), how.plain.batch, image, nullptr, static_cast<decltype(t)*>(folded));
  });
}

void fold_filters(Stream* stream, const SpaceToDepth& how, const float* filters, const float* factors, DType type,
                  void* folded) {
  with_storage(type, [&](auto t) {
    fold(stream, filter_planes(how), how.plain.num_output, filters, factors, static_cast<decltype(t)*>(folded));
  });
}

void unfold_filters(Stream* stream, const SpaceToDepth& how, DType type, const void* folded, bool add, float* filters) {
  with_storage(type, [&](auto t) {
    using T = decltype(t);
    const Planes planes = filter_planes(how);
    for_each(stream, how.plain.weight_shape().count(),
             UnfoldFilters<T>{planes, Divisor(planes.x.extent), Divisor(planes.y.extent), Divisor(planes.channels),
                              static_cast<const T*>(folded), add, filters});
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
