/// A library of convolutions in plain loops, for the emulated GPU: what is done around cuDNN's kernels
/// (library_convolution.h) runs with it in whole nets, on the host. Off unless a test asks for it.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "layers/types/convolution/library_convolution.h"

namespace robusta::test {

struct PlainLibraryUse {
  bool on = false;
  bool fuses = true;     ///< bias, sum and ReLU are its work; else ours
  bool gates = false;    ///< gradients of images
  bool sums = false;     ///< results by channel
  int gated = 0;         ///< convolutions that gate
  int summed = 0;        ///< convolutions that sum
  int prepared = 0;      ///< in how many runs of any convolution its parameters were made anew
  int convolutions = 0;  ///< how many were planned
};
inline PlainLibraryUse plain_library;

/// As long as it lives, convolutions of emulated GPUs are this library's.
class WithPlainLibrary {
 public:
  explicit WithPlainLibrary(bool fuses) { plain_library = {.on = true, .fuses = fuses}; }
  ~WithPlainLibrary() { plain_library = {}; }
};

/// Two spatial axes.
class PlainLibrary {
 public:
  PlainLibrary(const KernelRequest& request, const LibraryPasses& passes) : problem_(passes.problem) {
    fused_ = passes.fused;
    for (size_t d = 0; d < 3; ++d) has_[d] = wants(request, static_cast<dnn::Direction>(d));
  }
  std::string describe() const { return fused_ ? "plain fused" : "plain"; }
  bool has(dnn::Direction direction) const { return has_[static_cast<size_t>(direction)]; }
  size_t workspace_bytes(dnn::Direction) const { return 0; }
  bool gate() {
    plain_library.gated += plain_library.gates ? 1 : 0;
    return plain_library.gates;
  }

  bool sum() {
    fused_ |= plain_library.sums;
    plain_library.summed += plain_library.sums ? 1 : 0;
    return plain_library.sums;
  }

  void run(dnn::Direction direction, Stream*, const ConvolutionArrays& arrays) const {
    const auto size = [](int64_t count) { return static_cast<size_t>(count); };
    Floats image(size(problem_.image_size())), filters(size(problem_.filter_size()));
    Floats result(size(problem_.result_size()));
    if (direction != dnn::Direction::kBackwardData) read(arrays.image, image);
    if (direction != dnn::Direction::kBackwardFilters) read(arrays.filters, filters);
    if (direction != dnn::Direction::kForward) read(arrays.result, result);
    for_products([&](size_t r, size_t i, size_t f) {
      if (direction == dnn::Direction::kForward) result[r] += image[i] * filters[f];
      if (direction == dnn::Direction::kBackwardData) image[i] += result[r] * filters[f];
      if (direction == dnn::Direction::kBackwardFilters) filters[f] += image[i] * result[r];
    });
    if (direction == dnn::Direction::kBackwardData && arrays.gate) {
      Floats gate(image.size());
      read(arrays.gate, gate);
      for (size_t i = 0; i < image.size(); ++i) image[i] = gate[i] > 0 ? image[i] : 0;
    }
    if (direction == dnn::Direction::kBackwardData) return write(image, arrays.image);
    if (direction == dnn::Direction::kBackwardFilters) return write(filters, arrays.filters);
    finish(arrays, result);
    write(result, arrays.result);
    if (arrays.sums) sum(result, arrays.sums);
  }

 private:
  using Floats = std::vector<float>;

  void read(const void* from, Floats& to) const { to_floats(problem_.type, from, to.data(), to.size()); }
  void write(const Floats& from, const void* to) const {
    from_floats(problem_.type, from.data(), const_cast<void*>(to), from.size());
  }

  /// Where element (n, c, y, x) of an array lies.
  size_t place(int64_t n, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t height, int64_t width) const {
    const int64_t at = problem_.channels_last ? ((n * height + y) * width + x) * channels + c
                                              : ((n * channels + c) * height + y) * width + x;
    return static_cast<size_t>(at);
  }

  void for_products(const std::function<void(size_t, size_t, size_t)>& each) const {
    const ConvolutionGeometry& g = problem_.geometry;
    const WindowAxis &v = g.axes[0], &h = g.axes[1];
    const int64_t inputs = g.channels / g.group, outputs = g.num_output / g.group;
    for (int64_t n = 0; n < g.batch; ++n)
      for (int64_t o = 0; o < g.num_output; ++o)
        for (int64_t row = 0; row < v.out; ++row)
          for (int64_t col = 0; col < h.out; ++col)
            for (int64_t c = 0; c < inputs; ++c)
              for (int64_t i = 0; i < v.kernel; ++i)
                for (int64_t j = 0; j < h.kernel; ++j) {
                  const int64_t y = row * v.stride + i * v.dilation - v.pad;
                  const int64_t x = col * h.stride + j * h.dilation - h.pad;
                  if (y < 0 || y >= v.in || x < 0 || x >= h.in) continue;
                  each(place(n, o, row, col, g.num_output, v.out, h.out),
                       place(n, o / outputs * inputs + c, y, x, g.channels, v.in, h.in),
                       place(o, c, i, j, inputs, v.kernel, h.kernel));
                }
  }

  /// As cuDNN: what it is not asked for, and not given, it does not add.
  void finish(const ConvolutionArrays& arrays, Floats& result) const {
    if (!fused_) return;
    const ConvolutionGeometry& g = problem_.geometry;
    Floats bias(static_cast<size_t>(problem_.bias ? g.num_output : 0)), addend(problem_.adds ? result.size() : 0);
    if (problem_.bias) read(arrays.bias, bias);
    if (problem_.adds) read(arrays.addend, addend);
    const int64_t pixels = elements_out(g.axes);
    for (size_t i = 0; i < result.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t channel = problem_.channels_last ? at % g.num_output : at / pixels % g.num_output;
      if (problem_.bias) result[i] += bias[static_cast<size_t>(channel)];
      if (problem_.adds) result[i] += addend[i];
      if (problem_.relu) result[i] = std::max(result[i], 0.0f);
    }
  }

  /// As they are before they are rounded, in some order.
  void sum(const Floats& result, float* sums) const {
    const auto channels = static_cast<size_t>(problem_.geometry.num_output);
    std::vector<double> exact(2 * channels);
    for (size_t i = 0; i < result.size(); ++i) {
      exact[i % channels] += result[i];
      exact[channels + i % channels] += static_cast<double>(result[i]) * result[i];
    }
    std::ranges::copy(exact, sums);
  }

  dnn::Problem problem_;
  bool has_[3], fused_;
};

/// Counts what it prepares.
class PlainConvolution : public LibraryConvolution<PlainLibrary> {
 public:
  using LibraryConvolution::LibraryConvolution;
  void prepare(const KernelRun& run) override {
    ++plain_library.prepared;
    LibraryConvolution::prepare(run);
  }
};

inline std::unique_ptr<Kernel> make_convolution_plain(const KernelRequest& request, std::string& why_not) {
  if (!plain_library.on) {
    why_not = "no test asks for it";
    return nullptr;
  }
  why_not = objection_to_library(request);
  if (why_not.empty() && request.layer<ConvolutionLayer>().geometry().axes.size() != 2) why_not = "takes two axes";
  if (!why_not.empty()) return nullptr;
  ++plain_library.convolutions;
  LibraryPasses passes = ways_to_convolve(request).front();
  passes.fused = plain_library.fuses && passes.problem.follows();
  const PlainLibrary library(request, passes);
  return std::make_unique<PlainConvolution>(request, std::move(passes), library);
}

}  // namespace robusta::test
