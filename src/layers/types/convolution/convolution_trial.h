/// Runs the passes of a convolution on memory of their own, for timing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "device/cpu/host_memory.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/convolution_problem.h"
#include "layers/types/convolution/masked_gradient.h"

namespace robusta {

class ConvolutionTrial {
 public:
  explicit ConvolutionTrial(const onednn::ConvolutionProblem& problem)
      : problem_(problem),
        src_(filled(problem.src.get_size())),
        dst_(filled(problem.dst.get_size())),
        weights_(filled(static_cast<size_t>(problem.geometry.weight_shape().count()) * sizeof(float))),
        bias_(filled(static_cast<size_t>(problem.geometry.num_output) * sizeof(float))) {}

  /// Bytes of the tensors of all trials that run at once may take half of what is available: a net whose values take
  /// more, with gradients as large, is refused before it runs, and so must not take memory for timing.
  static bool has_room(size_t bytes) { return 2 * bytes <= available_host_memory(); }
  static size_t bytes(const onednn::ConvolutionProblem& problem) {
    return problem.src.get_size() + problem.dst.get_size();
  }

  /// `gated`: backward behind a ReLU, whose mask the pass applies, or is given applied.
  void run(onednn::ConvolutionPass& pass, bool gated = false) {
    if (scratch_bytes_ < pass.scratch_bytes()) {
      scratch_bytes_ = pass.scratch_bytes();
      scratch_ = onednn::AlignedMemory(scratch_bytes_);
    }
    onednn::ConvolutionData data{src_.data(), weights_.data(), bias_.data(), dst_.data()};
    data.addend = dst_.data();
    data.version = kNobodysVersion;
    if (gated && pass.gates()) {
      data.gate = dst_.data();
    } else if (gated) {
      if (!masked_) masked_ = onednn::AlignedMemory(problem_.dst.get_size());
      mask_gradient(problem_, dst_.data(), dst_.data(), masked_.data());
      data.dst = masked_.data();
    }
    pass.run(data, scratch_.data());
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
  /// What a pass packs here is not what it runs on later, though weights may come to lie in the same memory.
  static constexpr uint64_t kNobodysVersion = std::numeric_limits<uint64_t>::max();

  onednn::ConvolutionProblem problem_;
  onednn::AlignedMemory src_, dst_, weights_, bias_, scratch_, masked_;
  size_t scratch_bytes_ = 0;
};

}  // namespace robusta
