// From pixels to the numbers that enter the net, on the GPU: the arithmetic of data/transformer.cpp, bit for bit.

#include "device/gpu/divisor.h"
#include "device/gpu/for_each.h"
#include "layers/kit/pixel_upload.h"

namespace robusta {
namespace {

struct PixelEach {
  PixelJob job;
  Divisor width, height, channels;
  int64_t last_column;

  /// `row` and `column` of the whole item.
  ROBUSTA_GPU float mean(int64_t channel, int64_t row, int64_t column) const {
    if (job.mean_count == 1) return job.means[0];
    if (job.mean_item.channels == 0) return job.means[channel];
    return job.means[(channel * job.mean_item.height + row) * job.mean_item.width + column];
  }
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t sample = i;
    const int64_t x = width.take_off(sample), row = height.take_off(sample), channel = channels.take_off(sample);
    const PixelWindow window = job.windows[sample];
    const int64_t column = window.mirror ? last_column - x : x;
    if (row >= window.rows || column >= window.columns) {
      job.out[i] = 0;
      return;
    }
    const auto pixel = static_cast<float>(job.bytes[i - x + column]);
    job.out[i] = (pixel - mean(channel, window.top + row, window.left + column)) * job.scale;
  }
};

void expand_pixels(Stream* stream, const PixelJob& job) {
  for_each(stream, job.batch * job.item.count(),
           PixelEach{job, Divisor(job.item.width), Divisor(job.item.height), Divisor(job.item.channels),
                     job.item.width - 1});
}

[[maybe_unused]] const bool registered_pixels = register_pixel_expander(kGpuKind, expand_pixels);

}  // namespace
}  // namespace robusta
