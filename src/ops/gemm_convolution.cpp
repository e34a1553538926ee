// Convolution as matrix products of unfolded images (im2col: Chellapilla, Puri and Simard, "High Performance
// Convolutional Neural Networks for Document Processing", 2006), one image and one group at a time.

#include "ops/gemm_convolution.h"

#include "base/parallel.h"
#include "ops/gemm.h"
#include "ops/im2col.h"

namespace robusta {

template <typename T>
GemmConvolution<T>::GemmConvolution(const ConvolutionGeometry& g)
    : geometry_(g),
      pointwise_(is_pointwise(g.axes)),
      image_size_(g.channels * elements_in(g.axes)),
      output_size_(g.num_output * elements_out(g.axes)),
      rows_(g.num_output / g.group),
      depth_(g.channels / g.group * taps(g.axes)),
      places_(elements_out(g.axes)) {}

template <typename T>
size_t GemmConvolution<T>::column_elements() const {
  return pointwise_ ? 0 : static_cast<size_t>(geometry_.group * depth_ * places_);
}

template <typename T>
const T* GemmConvolution<T>::columns_of(const T* image, int64_t n, T* columns) const {
  if (pointwise_) return image + n * image_size_;
  im2col<T>(image + n * image_size_, geometry_.channels, geometry_.axes, columns);
  return columns;
}

template <typename T>
void GemmConvolution<T>::convolve(const T* image, const T* weights, T* output, T* columns) const {
  for (int64_t n = 0; n < geometry_.batch; ++n) {
    const T* patches = columns_of(image, n, columns);
    for (int64_t g = 0; g < geometry_.group; ++g) {
      gemm<T>(Op::kPlain, Op::kPlain, rows_, places_, depth_, 1, weights + g * rows_ * depth_,
              patches + g * depth_ * places_, 0, output + n * output_size_ + g * rows_ * places_);
    }
  }
}

template <typename T>
void GemmConvolution<T>::deconvolve(const T* output, const T* weights, T* image, T* columns) const {
  for (int64_t n = 0; n < geometry_.batch; ++n) {
    T* patches = pointwise_ ? image + n * image_size_ : columns;
    for (int64_t g = 0; g < geometry_.group; ++g) {
      gemm<T>(Op::kTransposed, Op::kPlain, depth_, places_, rows_, 1, weights + g * rows_ * depth_,
              output + n * output_size_ + g * rows_ * places_, 0, patches + g * depth_ * places_);
    }
    if (!pointwise_) col2im<T>(columns, geometry_.channels, geometry_.axes, image + n * image_size_);
  }
}

template <typename T>
void GemmConvolution<T>::correlate(const T* image, const T* output, T beta, T* weight_diff, T* columns) const {
  for (int64_t n = 0; n < geometry_.batch; ++n) {
    const T* patches = columns_of(image, n, columns);
    for (int64_t g = 0; g < geometry_.group; ++g) {
      gemm<T>(Op::kPlain, Op::kTransposed, rows_, depth_, places_, 1, output + n * output_size_ + g * rows_ * places_,
              patches + g * depth_ * places_, n == 0 ? beta : T{1}, weight_diff + g * rows_ * depth_);
    }
  }
}

template <typename T>
void add_bias(const T* bias, int64_t batch, int64_t channels, int64_t plane, T* top) {
  parallel_for(batch * channels, 1 + (1 << 14) / plane, [=](int64_t p) {
    for (int64_t i = p * plane; i < (p + 1) * plane; ++i) top[i] += bias[p % channels];
  });
}

template <typename T>
void sum_bias_gradient(std::span<const Tensor> top_diffs, int64_t batch, int64_t channels, int64_t plane,
                       bool accumulate, T* bias_diff) {
  parallel_for(channels, 1 + (1 << 14) / (batch * plane), [=](int64_t c) {
    double sum = accumulate ? bias_diff[c] : T{0};
    for (const Tensor& diff : top_diffs) {
      for (int64_t n = 0; n < batch; ++n) {
        const T* from = diff.as<T>() + (n * channels + c) * plane;
        for (int64_t i = 0; i < plane; ++i) sum += from[i];
      }
    }
    bias_diff[c] = static_cast<T>(sum);
  });
}

template class GemmConvolution<float>;
template class GemmConvolution<double>;
template void add_bias(const float*, int64_t, int64_t, int64_t, float*);
template void add_bias(const double*, int64_t, int64_t, int64_t, double*);
template void sum_bias_gradient(std::span<const Tensor>, int64_t, int64_t, int64_t, bool, float*);
template void sum_bias_gradient(std::span<const Tensor>, int64_t, int64_t, int64_t, bool, double*);

}  // namespace robusta
