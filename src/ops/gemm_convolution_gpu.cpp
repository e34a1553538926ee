// The passes of gemm_convolution.cpp on the GPU: as many images are unfolded at a time as the scratch memory has room
// for, and each image and group is one matrix product.

#include "ops/gemm_convolution_gpu.h"

#include <algorithm>

#include "ops/gemm_gpu.h"
#include "ops/im2col_gpu.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
GemmConvolutionGpu<T>::GemmConvolutionGpu(const ConvolutionGeometry& g, int64_t most_column_bytes)
    : geometry_(g),
      pointwise_(is_pointwise(g.axes)),
      image_size_(g.channels * elements_in(g.axes)),
      rows_(g.num_output / g.group),
      depth_(g.channels / g.group * taps(g.axes)),
      places_(elements_out(g.axes)) {
  const int64_t bytes = patch(1, 0) * static_cast<int64_t>(sizeof(T));
  images_at_once_ = std::clamp<int64_t>(most_column_bytes / bytes, 1, g.batch);
}

template <typename T>
size_t GemmConvolutionGpu<T>::column_bytes() const {
  return pointwise_ ? 0 : static_cast<size_t>(patch(images_at_once_, 0)) * sizeof(T);
}

template <typename T>
template <typename Body>
void GemmConvolutionGpu<T>::for_chunks(const Body& body) const {
  for (int64_t first = 0; first < geometry_.batch; first += images_at_once_) {
    body(first, std::min(images_at_once_, geometry_.batch - first));
  }
}

template <typename T>
const T* GemmConvolutionGpu<T>::columns_of(Stream* stream, const T* images, int64_t count, T* columns) const {
  if (pointwise_) return images;
  gpu_im2col(stream, images, count, geometry_.channels, geometry_.axes, columns);
  return columns;
}

template <typename T>
void GemmConvolutionGpu<T>::convolve(Stream* stream, const T* image, const T* weights, T* output, T* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    const T* patches = columns_of(stream, image + first * image_size_, count, columns);
    for_groups(count, [&](int64_t n, int64_t g) {
      gpu_gemm(stream, Op::kPlain, Op::kPlain, rows_, places_, depth_, 1.0f, weights + g * rows_ * depth_,
               patches + patch(n, g), 0.0f, output + result(first + n, g));
    });
  });
}

template <typename T>
void GemmConvolutionGpu<T>::deconvolve(Stream* stream, const T* output, const T* weights, T* image, T* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    T* images = image + first * image_size_;
    T* patches = pointwise_ ? images : columns;
    for_groups(count, [&](int64_t n, int64_t g) {
      gpu_gemm(stream, Op::kTransposed, Op::kPlain, depth_, places_, rows_, 1.0f, weights + g * rows_ * depth_,
               output + result(first + n, g), 0.0f, patches + patch(n, g));
    });
    if (!pointwise_) gpu_col2im(stream, columns, count, geometry_.channels, geometry_.axes, images);
  });
}

template <typename T>
void GemmConvolutionGpu<T>::correlate(Stream* stream, const T* image, const T* output, bool add, float* weight_diff,
                                      T* columns) const {
  for_chunks([&](int64_t first, int64_t count) {
    const T* patches = columns_of(stream, image + first * image_size_, count, columns);
    for_groups(count, [&](int64_t n, int64_t g) {
      const float beta = add || first + n > 0 ? 1.0f : 0.0f;
      gpu_gemm(stream, Op::kPlain, Op::kTransposed, rows_, depth_, places_, 1.0f, output + result(first + n, g),
               patches + patch(n, g), beta, weight_diff + g * rows_ * depth_);
    });
  });
}

template class GemmConvolutionGpu<float>;
template class GemmConvolutionGpu<BFloat16>;
template class GemmConvolutionGpu<Half>;

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
