#include "layers/convolution/gemm_convolution_gpu.h"

#include <algorithm>

#include "ops/gemm_gpu.h"
#include "ops/im2col_gpu.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

GemmConvolutionGpu::GemmConvolutionGpu(const ConvolutionGeometry& g, int64_t most_column_bytes)
    : geometry_(g),
      pointwise_(is_pointwise(g.axes)),
      image_size_(g.channels * elements_in(g.axes)),
      rows_(g.num_output / g.group),
      depth_(g.channels / g.group * taps(g.axes)),
      places_(elements_out(g.axes)) {
  const int64_t bytes = patch(1, 0) * static_cast<int64_t>(sizeof(float));
  images_at_once_ = std::clamp<int64_t>(most_column_bytes / bytes, 1, g.batch);
}

size_t GemmConvolutionGpu::column_bytes() const {
  return pointwise_ ? 0 : static_cast<size_t>(patch(images_at_once_, 0)) * sizeof(float);
}

template <typename Body>
void GemmConvolutionGpu::for_chunks(const Body& body) const {
  for (int64_t first = 0; first < geometry_.batch; first += images_at_once_) {
    body(first, std::min(images_at_once_, geometry_.batch - first));
  }
}

const float* GemmConvolutionGpu::columns_of(Stream* stream, const float* images, int64_t count, float* columns) const {
  if (pointwise_) return images;
  gpu_im2col(stream, images, count, geometry_.channels, geometry_.axes, columns);
  return columns;
}

void GemmConvolutionGpu::convolve(Stream* stream, const float* image, const float* weights, float* output,
                                  float* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    const float* patches = columns_of(stream, image + first * image_size_, count, columns);
    for_groups(count, [&](int64_t n, int64_t g) {
      gpu_gemm(stream, Op::kPlain, Op::kPlain, rows_, places_, depth_, 1.0f, weights + g * rows_ * depth_,
               patches + patch(n, g), 0.0f, output + result(first + n, g));
    });
  });
}

void GemmConvolutionGpu::deconvolve(Stream* stream, const float* output, const float* weights, float* image,
                                    float* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    float* images = image + first * image_size_;
    float* patches = pointwise_ ? images : columns;
    for_groups(count, [&](int64_t n, int64_t g) {
      gpu_gemm(stream, Op::kTransposed, Op::kPlain, depth_, places_, rows_, 1.0f, weights + g * rows_ * depth_,
               output + result(first + n, g), 0.0f, patches + patch(n, g));
    });
    if (!pointwise_) gpu_col2im(stream, columns, count, geometry_.channels, geometry_.axes, images);
  });
}

void GemmConvolutionGpu::correlate(Stream* stream, const float* image, const float* output, bool add,
                                   float* weight_diff, float* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    const float* patches = columns_of(stream, image + first * image_size_, count, columns);
    for_groups(count, [&](int64_t n, int64_t g) {
      const float beta = add || first + n > 0 ? 1.0f : 0.0f;
      gpu_gemm(stream, Op::kPlain, Op::kTransposed, rows_, depth_, places_, 1.0f, output + result(first + n, g),
               patches + patch(n, g), beta, weight_diff + g * rows_ * depth_);
    });
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
