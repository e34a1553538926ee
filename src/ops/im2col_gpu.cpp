// Unfolding on a GPU, one thread per element: of the columns forward, and of the image backward, where it gathers from
// all columns that hold it, so that no two threads write to one place.

#include "ops/im2col_gpu.h"

#include <cassert>

#include "device/gpu/divisor.h"
#include "device/gpu/for_each.h"
#include "tensor/dtype.h"

namespace robusta {
namespace {

struct ColumnAxis {
  WindowAxis window;
  Divisor by_in, by_out, by_kernel, by_stride;
};

struct ColumnAxes {
  int count = 0;
  ColumnAxis axis[kGpuWindowAxes];
  Divisor by_pixels, by_places, by_taps;  ///< of elements_in, elements_out and taps
  int64_t places, taps;

  explicit ColumnAxes(std::span<const WindowAxis> axes)
      : by_pixels(elements_in(axes)),
        by_places(elements_out(axes)),
        by_taps(robusta::taps(axes)),
        places(elements_out(axes)),
        taps(robusta::taps(axes)) {
    assert(axes.size() <= kGpuWindowAxes);
    for (const WindowAxis& w : axes) {
      axis[count++] = {w, Divisor(w.in), Divisor(w.out), Divisor(w.kernel), Divisor(w.stride)};
    }
  }
};

/// One element of the columns, stored as [image, channel, tap, place].
template <typename T>
struct Im2colEach {
  ColumnAxes axes;
  int64_t pixels;
  const T* images;
  T* columns;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t rest = i, at = 0, step = 1;
    int64_t place = axes.by_places.take_off(rest), tap = axes.by_taps.take_off(rest);
    for (int a = axes.count - 1; a >= 0; --a) {
      const ColumnAxis& axis = axes.axis[a];
      const WindowAxis& w = axis.window;
      const int64_t o = axis.by_out.take_off(place), t = axis.by_kernel.take_off(tap);
      const int64_t pixel = o * w.stride - w.pad + t * w.dilation;
      if (pixel < 0 || pixel >= w.in) {
        columns[i] = static_cast<T>(0.0f);
        return;
      }
      at += pixel * step;
      step *= w.in;
    }
    columns[i] = images[rest * pixels + at];
  }
};

/// One element of the images, stored as [image, channel, pixel].
template <typename T>
struct Col2imEach {
  ColumnAxes axes;
  const T* columns;
  T* images;

  /// The place of the output that sees `pixel` through `tap`; -1: there is none.
  ROBUSTA_GPU int64_t place_of(int64_t pixel, int64_t tap) const {
    int64_t place = 0, step = 1;
    for (int a = axes.count - 1; a >= 0; --a) {
      const ColumnAxis& axis = axes.axis[a];
      const WindowAxis& w = axis.window;
      int64_t o = axis.by_in.take_off(pixel) + w.pad - axis.by_kernel.take_off(tap) * w.dilation;
      if (o < 0 || axis.by_stride.take_off(o) != 0 || o >= w.out) return -1;
      place += o * step;
      step *= w.out;
    }
    return place;
  }

  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t plane = i;
    const int64_t pixel = axes.by_pixels.take_off(plane);
    float sum = 0;
    for (int64_t tap = 0; tap < axes.taps; ++tap) {
      const int64_t place = place_of(pixel, tap);
      if (place >= 0) sum += static_cast<float>(columns[(plane * axes.taps + tap) * axes.places + place]);
    }
    images[i] = static_cast<T>(sum);
  }
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
void gpu_im2col(Stream* stream, const T* images, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                T* columns) {
  const ColumnAxes shape(axes);
  for_each(stream, count * channels * shape.taps * shape.places,
           Im2colEach<T>{shape, elements_in(axes), images, columns});
}

template <typename T>
void gpu_col2im(Stream* stream, const T* columns, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                T* images) {
  for_each(stream, count * channels * elements_in(axes), Col2imEach<T>{ColumnAxes(axes), columns, images});
}

#define ROBUSTA_GPU_COLUMNS(T)                                                                       \
  template void gpu_im2col<T>(Stream*, const T*, int64_t, int64_t, std::span<const WindowAxis>, T*); \
  template void gpu_col2im<T>(Stream*, const T*, int64_t, int64_t, std::span<const WindowAxis>, T*)
ROBUSTA_GPU_COLUMNS(float);
ROBUSTA_GPU_COLUMNS(BFloat16);
ROBUSTA_GPU_COLUMNS(Half);
#undef ROBUSTA_GPU_COLUMNS

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
