/// A library of convolutions for the fake GPUs of the tests: plain loops in the place of cuDNN's kernels, so that what
/// is done around a library's convolution (convolution/library_convolution.h) runs where there is none.
///
/// Nets take it where NetOptions::kernels is kLoops. Two spatial axes, no groups, no dilation; everything else it
/// declines.
#pragma once

#include "layers/backends/gpu/elementwise.h"
#include "layers/types/convolution/library_convolution.h"

namespace robusta::test {

inline constexpr const char* kLoops = "loops";

class LoopedLibrary {
 public:
  LoopedLibrary(const KernelRequest& request, const LibraryPasses& passes) : problem_(passes.problem) {
    for (size_t d = 0; d < 3; ++d) has_[d] = wants(request, static_cast<dnn::Direction>(d));
  }
  std::string describe() const { return kLoops; }
  bool has(dnn::Direction direction) const { return has_[static_cast<size_t>(direction)]; }
  size_t workspace_bytes(dnn::Direction) const { return 0; }

  void run(dnn::Direction direction, Stream* stream, const ConvolutionArrays& arrays) const {
    if (!detail::runs_call(stream, 0, [](KernelArrays&) {})) return;
    with_storage(problem_.type, [&](auto t) { run<decltype(t)>(direction, arrays); });
  }

 private:
  /// Where an element lies whose coordinates are outer, channel, y, x.
  int64_t at(int64_t n, int64_t c, int64_t channels, int64_t y, int64_t height, int64_t x, int64_t width) const {
    return problem_.channels_last ? ((n * height + y) * width + x) * channels + c
                                  : ((n * channels + c) * height + y) * width + x;
  }

  /// Calls visit(image, filter, result) with the places of the factors of every product.
  template <typename Visit>
  void products(const Visit& visit) const {
    const ConvolutionGeometry& g = problem_.geometry;
    const WindowAxis &v = g.axes[0], &h = g.axes[1];
    const auto inside = [](const WindowAxis& axis, int64_t out, int64_t tap) {
      const int64_t in = out * axis.stride - axis.pad + tap;
      return in >= 0 && in < axis.in ? in : -1;
    };
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t o = 0; o < g.num_output; ++o) {
        for (int64_t i = 0; i < v.out * h.out * g.channels * v.kernel * h.kernel; ++i) {
          int64_t rest = i;
          const auto take = [&rest](int64_t extent) { return std::exchange(rest, rest / extent) % extent; };
          const int64_t kx = take(h.kernel), ky = take(v.kernel), c = take(g.channels), x = take(h.out), y = rest;
          const int64_t in_y = inside(v, y, ky), in_x = inside(h, x, kx);
          if (in_y < 0 || in_x < 0) continue;
          visit(at(n, c, g.channels, in_y, v.in, in_x, h.in), at(o, c, g.channels, ky, v.kernel, kx, h.kernel),
                at(n, o, g.num_output, y, v.out, x, h.out));
        }
      }
    }
  }

  template <typename T>
  void run(dnn::Direction direction, const ConvolutionArrays& arrays) const {
    const T *image = static_cast<const T*>(arrays.image), *filters = static_cast<const T*>(arrays.filters),
            *result = static_cast<const T*>(arrays.result);
    const auto number = [](const T* array, int64_t i) { return static_cast<double>(static_cast<float>(array[i])); };
    const bool forward = direction == dnn::Direction::kForward, data = direction == dnn::Direction::kBackwardData;
    const T* const target = forward ? result : data ? image : filters;
    std::vector<double> sums(static_cast<size_t>(forward ? problem_.result_size()
                                                 : data  ? problem_.image_size()
                                                         : problem_.filter_size()));
    products([&](int64_t i, int64_t f, int64_t r) {
      if (forward) sums[static_cast<size_t>(r)] += number(image, i) * number(filters, f);
      if (data) sums[static_cast<size_t>(i)] += number(filters, f) * number(result, r);
      if (!forward && !data) sums[static_cast<size_t>(f)] += number(image, i) * number(result, r);
    });
    T* const to = const_cast<T*>(target);  // the array that this direction writes
    for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(static_cast<float>(sums[i]));
  }

  dnn::Problem problem_;
  bool has_[3];
};

inline std::unique_ptr<Kernel> make_looped_convolution(const KernelRequest& request, std::string& why_not) {
  why_not = objection_to_library(request);
  const ConvolutionGeometry& geometry = request.layer<ConvolutionLayer>().geometry();
  if (geometry.axes.size() != 2 || geometry.group != 1) why_not = "takes two axes and one group";
  if (!why_not.empty()) return nullptr;
  LibraryPasses passes = ways_to_convolve(request).front();
  const LoopedLibrary library(request, passes);
  return std::make_unique<LibraryConvolution<LoopedLibrary>>(request, std::move(passes), library);
}

/// True; nets are asked for it by name alone, as every other kernel goes before it.
inline bool offer_looped_convolutions() {
  static const bool offered = register_kernel({library_chain(), kLoops, kGpuKind, 1, make_looped_convolution});
  return offered;
}

}  // namespace robusta::test
