/// Runs the passes of a convolution on memory of their own, for timing: on some of its images, where these are many.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/convolution_problem.h"
#include "layers/backends/onednn/generation.h"
#include "layers/types/convolution/masked_gradient.h"
#include "layers/types/convolution/results_read.h"

namespace robusta {

/// So many of the problem's images as tell its algorithms apart: the time of each goes with the images, but for what it
/// does with the weights once. So each thread has an image and work for some milliseconds, and pixels are so many that
/// a transform of the weights is a few hundredths of the whole.
inline int64_t images_to_time(const ConvolutionGeometry& geometry) {
  constexpr double kFlops = 0.5e9, kPixels = 2048;
  const double threads = omp_get_max_threads(), images = static_cast<double>(geometry.batch);
  const double by_work = kFlops * threads * images / geometry.flops();
  const double by_pixels = kPixels / static_cast<double>(elements_out(geometry.axes));
  return static_cast<int64_t>(std::ceil(std::min(images, std::max({threads, by_work, by_pixels}))));
}

/// The problem with its first images alone; the whole one where images are not what its tensors begin with.
inline onednn::ConvolutionProblem of_images(const onednn::ConvolutionProblem& whole, int64_t images) {
  const auto first = [images](const onednn::Desc& tensor) {
    onednn::Dims dims = onednn::dims_of(tensor);
    dims[0] = images;
    return tensor.submemory_desc(dims, onednn::Dims(dims.size(), 0));
  };
  if (onednn::dims_of(whole.src)[0] != whole.geometry.batch) return whole;
  onednn::ConvolutionProblem some = whole;
  some.geometry.batch = images;
  some.src = first(whole.src);
  some.dst = first(whole.dst);
  return some;
}

class ConvolutionTrial {
 public:
  explicit ConvolutionTrial(const onednn::ConvolutionProblem& problem)
      : problem_(problem),
        src_(filled(problem.src.get_size())),
        dst_(filled(problem.dst.get_size())),
        weights_(filled(static_cast<size_t>(problem.geometry.weight_shape().count()) * sizeof(float))),
        bias_(filled(static_cast<size_t>(problem.geometry.num_output) * sizeof(float))) {}

  /// Of its tensors, for require_room_for_trial().
  static size_t bytes(const onednn::ConvolutionProblem& problem) {
    return problem.src.get_size() + problem.dst.get_size();
  }

  /// Touched here, since memory that is new would count against the first who writes it.
  void make_room(const onednn::ConvolutionPass& pass) {
    if (scratch_bytes_ >= pass.scratch_bytes()) return;
    scratch_bytes_ = pass.scratch_bytes();
    scratch_ = filled(scratch_bytes_);
  }

  /// What comes before the first run. REQUIRES: make_room.
  void keep_weights(onednn::ConvolutionPass& pass) { pass.keep_weights(data(), scratch_.data()); }

  /// `gated`: backward behind a ReLU, whose mask the pass applies, or is given applied.
  void run(onednn::ConvolutionPass& pass, bool gated = false) {
    make_room(pass);
    onednn::ConvolutionData data = this->data();
    if (gated && pass.gates()) {
      data.gate = dst_.data();
    } else if (gated) {
      if (!masked_) masked_ = filled(problem_.dst.get_size());
      mask_gradient(problem_, dst_.data(), dst_.data(), masked_.data());
      data.dst = masked_.data();
    }
    if (problem_.moments_follow && !sums_)
      sums_ = filled(2 * static_cast<size_t>(problem_.geometry.num_output) * sizeof(float));
    if (problem_.moments_follow && pass.sums_results()) data.sums = sums_.floats();
    pass.run(data, scratch_.data());
    if (problem_.moments_follow && !pass.sums_results()) read_ = read_results(problem_, dst_.data());
  }
  /// As ConvolutionProblem::src.
  void* src() const { return src_.data(); }

  /// Ones everywhere: denormals and NaN would be slower than real values.
  static onednn::AlignedMemory filled(size_t bytes) {
    onednn::AlignedMemory memory(bytes);
    std::fill_n(memory.floats(), bytes / sizeof(float), 1.0f);
    return memory;
  }

 private:
  onednn::ConvolutionData data() const {
    onednn::ConvolutionData data{src_.data(), weights_.data(), bias_.data(), dst_.data()};
    data.addend = dst_.data();
    data.version = kNobodysVersion;
    return data;
  }

  /// What a pass packs here is not what it runs on later, though weights may come to lie in the same memory.
  static constexpr uint64_t kNobodysVersion = std::numeric_limits<uint64_t>::max();

  onednn::ConvolutionProblem problem_;
  onednn::AlignedMemory src_, dst_, weights_, bias_, scratch_, masked_, sums_;
  size_t scratch_bytes_ = 0;
  ResultsRead read_;  // kept, or the compiler would leave the reading out
};

}  // namespace robusta
