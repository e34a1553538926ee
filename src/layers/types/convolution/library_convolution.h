/// A convolution, alone or with what follows it (fused_convolution.h), by a library that has kernels for convolutions,
/// with what is left to do around them. Written for cuDNN (convolution_cuda.cpp); a GPU that is only described has it,
/// too (convolution_described.cpp).
///
/// Channels last where channels are axis 1, else plain. Filters and their gradient stay in Caffe's order outside: those
/// of all layers, and biases, are brought into the library's order and type when a pass begins (Booking::packed), and
/// filters' gradients back when it has run (Booking::packed_gradients), or, where the net has no memory for that, in
/// scratch memory each time a pass runs. With activations of 16 bits the filters are rounded on that way. Where nothing
/// runs backward they are made once (library_params_gpu.h), and a pass is one launch if the library computes what
/// follows, too.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/kit/gates_gradients.h"
#include "layers/kit/prepares_params.h"
#include "layers/kit/result_sums.h"
#include "layers/types/convolution/fused_convolution.h"
#include "layers/types/convolution/library_params_gpu.h"
#include "layers/types/convolution/library_problem.h"
#include "memory/placement.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Parts of scratch memory.
class ScratchParts {
 public:
  size_t add(size_t bytes) { return std::exchange(bytes_, bytes_ + align_up(bytes)); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

inline void* scratch_part(void* scratch, size_t offset) {
  return scratch ? static_cast<char*>(scratch) + offset : nullptr;
}

/// `Library` says what computes the convolutions themselves:
///   std::string describe() const             which of its kernels do
///   bool has(dnn::Direction) const           of those that the request asks for
///   size_t workspace_bytes(dnn::Direction) const
///   void run(dnn::Direction, Stream*, const ConvolutionArrays&)
///   bool gate()                              whether it will gate gradients of images, which it then does
///   bool sum()                               whether forward will sum results, which it then does, with what follows
template <typename Library>
class LibraryConvolution : public Kernel, public PreparesParams, public GatesGradients, public SumsResults {
 public:
  LibraryConvolution(const KernelRequest& request, LibraryPasses passes, Library library)
      : passes_(std::move(passes)),
        library_(std::move(library)),
        problem_(passes_.problem),
        turns_(passes_.turns_filters()),
        packs_(passes_.packs_filters()),
        masks_(passes_.relu),
        has_bias_(FusedConvolution(request).convolution->has_bias()),
        learns_bias_(request.backward && has_bias_ && request.param_grads[1]) {
    for (const TensorDesc& bottom : request.bottoms) booking_.bottom_layouts.push_back(layout_of(bottom));
    for (const TensorDesc& top : request.tops) booking_.top_layouts.push_back(layout_of(top));
    const bool learns = library_.has(Direction::kBackwardFilters);
    if (passes_.fold) {
      const size_t images = request.bottoms.size() - (passes_.adds ? 1 : 0);
      booking_.bottom_types.assign(request.bottoms.size(), problem_.type);
      for (size_t i = 0; i < images; ++i) {
        booking_.bottom_layouts[i] = nullptr;
        booking_.bottom_types[i] = DType::kF32;
      }
    }
    // What backward would fold once more is kept: it is smaller than the image, which may go.
    if (passes_.fold && learns) {
      kept_image_ = align_up(bytes_of(problem_.image_size()));
      booking_.saved_bytes = kept_image_ * request.bottoms.size();
    }
    booking_.reads_bottoms.assign(request.bottoms.size(), learns && !passes_.fold);
    booking_.reads_tops.assign(request.tops.size(), request.backward && passes_.relu);
    if (!request.backward) {
      made_.emplace(FusedConvolution(request), passes_, passes_.fused ? problem_.type : DType::kF32);
      booking_.saved_bytes = made_->bytes();
    } else {
      book_packing(request.tops.size());
    }
    book_scratch();
  }

  std::string describe() const override { return library_.describe(); }

  bool prepares() const override { return made_ && made_->bytes() > 0; }
  void prepare(const KernelRun& run) override { made_->make(run.stream, run.params, run.saved); }

  /// Of bottoms that backward reads in any case; where there are several, a ReLU would have given each.
  bool gate_bottom_diff() override {
    if (booking_.reads_bottoms != std::vector<bool>{true} || passes_.fold || !library_.gate()) return false;
    gates_ = true;
    book_scratch();
    return true;
  }
  bool takes_gated_top_diff() const override {
    return passes_.relu && passes_.slope == 0 && booking_.top_layouts.size() == 1;
  }
  void take_gated_top_diff() override {
    masks_ = false;
    booking_.reads_tops = {false};
    book_scratch();
  }

  /// Of a result that nothing but a bias follows, and that is rounded to 16 bits (kit/result_sums.h says why).
  bool sum_results() override {
    if (made_ || booking_.top_layouts.size() != 1 || passes_.relu || passes_.adds) return false;
    if (!problem_.channels_last || !is_16_bit(problem_.type) || !library_.sum()) return false;
    sums_ = true;
    passes_.fused = problem_.follows();
    book_packing(1);
    book_scratch();
    return true;
  }

  void forward(const KernelRun& run) override {
    const ForwardParams params = forward_params(run);
    const size_t images = booking_.top_layouts.size();
    for (size_t i = 0; i < images; ++i) {
      void* top = run.tops[i].data;
      const void* addend = passes_.adds ? run.bottoms[1].data : nullptr;
      library_.run(Direction::kForward, run.stream,
                   {.image = forward_image(run, i),
                    .filters = params.filters,
                    .result = top,
                    .bias = passes_.fused ? params.bias : nullptr,
                    .addend = passes_.fused ? addend : nullptr,
                    .sums = sums_ ? static_cast<float*>(run.tops[images].data) : nullptr,
                    .workspace = scratch_part(run.scratch, forward_workspace_)});
      if (passes_.fused) continue;
      finish_result(run.stream, problem_.result_view(),
                    {static_cast<const float*>(params.bias), addend, passes_.relu, passes_.slope}, top);
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const void* dy = gradient_before_relu(run, i);
      if (library_.has(Direction::kBackwardFilters)) filter_gradient(run, i, dy);
      if (!run.bottom_diffs[i]) continue;
      const void* filters = packed_filters(run, scratch_part(run.scratch, backward_filters_));
      library_.run(Direction::kBackwardData, run.stream,
                   {.image = run.bottom_diffs[i].data,
                    .filters = filters,
                    .result = dy,
                    .gate = gates_ ? run.bottoms[i].data : nullptr,
                    .workspace = scratch_part(run.scratch, backward_workspace_)});
    }
  }

 private:
  using Direction = dnn::Direction;
  /// The bias is the library's, in its type, where it fuses; else ours, in f32.
  struct ForwardParams {
    const void *filters, *bias;
  };

  Layout layout_of(const TensorDesc& desc) const { return problem_.channels_last ? channels_last(desc) : nullptr; }
  size_t bytes_of(int64_t elements) const { return static_cast<size_t>(elements) * size_of(problem_.type); }

  void book_packing(size_t images) {
    booking_.packed.clear();
    if (packs_ && !passes_.fold) {
      booking_.packed = {
          {0, problem_.type, problem_.geometry.num_output, passes_.filter_rows(), passes_.filter_cols()}};
    }
    // Gradients of several images are added up in f32.
    if (library_.has(Direction::kBackwardFilters) && images == 1) booking_.packed_gradients = booking_.packed;
    if (rounds_bias()) booking_.packed.push_back({1, problem_.type, 1, problem_.geometry.num_output, 1});
  }

  void book_scratch() {
    ScratchParts forward, backward;
    const bool learns = library_.has(Direction::kBackwardFilters), hands_on = library_.has(Direction::kBackwardData);
    forward.add(packs_ && !made_ ? bytes_of(problem_.filter_size()) : 0);
    forward_image_ = forward.add(passes_.fold && !learns ? bytes_of(problem_.image_size()) : 0);
    forward_bias_ = forward.add(rounds_bias() ? bytes_of(problem_.geometry.num_output) : 0);
    forward_workspace_ = forward.add(library_.workspace_bytes(Direction::kForward));
    booking_.forward_scratch = forward.bytes();

    if (masks_) backward.add(bytes_of(problem_.result_size()));
    backward_filters_ = backward.add(learns || packs_ ? bytes_of(problem_.filter_size()) : 0);
    size_t workspace = learns_bias_ ? bias_gradient_scratch(problem_.result_view()) : 0;
    if (hands_on) workspace = std::max(workspace, library_.workspace_bytes(Direction::kBackwardData));
    if (learns) workspace = std::max(workspace, library_.workspace_bytes(Direction::kBackwardFilters));
    backward_workspace_ = backward.add(workspace);
    if (hands_on || learns || learns_bias_) booking_.backward_scratch = backward.bytes();
  }

  bool rounds_bias() const { return has_bias_ && !made_ && passes_.fused && is_16_bit(problem_.type); }

  ForwardParams forward_params(const KernelRun& run) const {
    if (!made_) return {packed_filters(run, scratch_part(run.scratch, 0)), stored_bias(run)};
    return {made_->filters(run.params, run.saved), made_->bias(run.params, run.saved)};
  }

  /// A bottom as the library is given it.
  const void* forward_image(const KernelRun& run, size_t i) const {
    if (!passes_.fold) return run.bottoms[i].data;
    void* folded = kept_image_ > 0 ? kept_image(run, i) : scratch_part(run.scratch, forward_image_);
    fold_image(run.stream, *passes_.fold, run.bottoms[i].as<float>(), problem_.type, folded);
    return folded;
  }
  /// Where forward has left a folded one.
  void* kept_image(const KernelRun& run, size_t i) const { return static_cast<char*>(run.saved) + i * kept_image_; }

  /// The filters in the library's order and type, which may be their own.
  const void* packed_filters(const KernelRun& run, void* memory) const {
    void* plain = run.params[0]->data;
    if (!packs_) return plain;
    if (!run.packed.empty() && !passes_.fold) return run.packed[0];
    if (passes_.fold) {
      fold_filters(run.stream, *passes_.fold, static_cast<const float*>(plain), nullptr, problem_.type, memory);
      return memory;
    }
    transpose_filters(run.stream, problem_.geometry.num_output, passes_.filter_rows(), passes_.filter_cols(),
                      {DType::kF32, plain}, false, {problem_.type, memory});
    return memory;
  }

  void* stored_bias(const KernelRun& run) const {
    void* bias = has_bias_ ? run.params[1]->data : nullptr;
    if (!rounds_bias()) return bias;
    if (!run.packed.empty()) return run.packed.back();
    void* memory = scratch_part(run.scratch, forward_bias_);
    transpose_filters(run.stream, 1, problem_.geometry.num_output, 1, {DType::kF32, bias}, false,
                      {problem_.type, memory});
    return memory;
  }

  /// What the library is given, summed for the bias on the way. The top's own gradient stays as it is: others may share
  /// it.
  const void* gradient_before_relu(const KernelRun& run, size_t i) const {
    const dnn::Problem& p = problem_;
    const void* dy = run.top_diffs[i].data;
    BiasGradient bias;
    if (learns_bias_) bias = {run.params[1]->gradient().as<float>(), run.accumulate[1] || i > 0};
    void* scratch = scratch_part(run.scratch, backward_workspace_);
    if (!masks_) {
      if (learns_bias_) bias_gradient(run.stream, p.result_view(), dy, bias, scratch);
      return dy;
    }
    void* masked = scratch_part(run.scratch, 0);
    mask_gradient(run.stream, p.result_view(), run.tops[i].data, dy, passes_.slope, masked, bias, scratch);
    return masked;
  }

  /// cuDNN has no engines from 16 bits to f32: what one pass gives is rounded, sums over passes are not.
  void filter_gradient(const KernelRun& run, size_t i, const void* dy) {
    const bool add = run.accumulate[0] || i > 0, left_packed = !run.packed_gradients.empty();
    void* gradient = run.params[0]->diff;
    void* target = left_packed     ? run.packed_gradients[0]
                   : packs_ || add ? scratch_part(run.scratch, backward_filters_)
                                   : gradient;
    library_.run(Direction::kBackwardFilters, run.stream,
                 {.image = passes_.fold ? kept_image(run, i) : run.bottoms[i].data,
                  .filters = target,
                  .result = dy,
                  .workspace = scratch_part(run.scratch, backward_workspace_)});
    if (left_packed || target == gradient) return;
    if (passes_.fold) {
      return unfold_filters(run.stream, *passes_.fold, problem_.type, target, add, static_cast<float*>(gradient));
    }
    const int64_t rows = passes_.filter_rows(), cols = passes_.filter_cols();
    transpose_filters(run.stream, problem_.geometry.num_output, turns_ ? cols : rows, turns_ ? rows : cols,
                      {problem_.type, target}, add, {DType::kF32, gradient});
  }

  LibraryPasses passes_;
  Library library_;
  const dnn::Problem problem_;
  bool turns_, packs_;  ///< LibraryPasses: turns_filters(), packs_filters()
  bool masks_;          ///< backward: the ReLU's mask is ours, and not applied by who gives the gradient
  bool gates_ = false;
  bool sums_ = false;  ///< forward sums its result, for its reader
  bool has_bias_, learns_bias_;
  std::optional<LibraryParams> made_;  ///< none: backward runs
  size_t kept_image_ = 0;              ///< bytes of a folded image that is saved for backward
  size_t forward_image_ = 0, forward_bias_ = 0, forward_workspace_ = 0;
  size_t backward_filters_ = 0, backward_workspace_ = 0;
};

/// Why the chain cannot be taken; "" if it can.
inline std::string objection_to_library(const KernelRequest& request) {
  if (request.dtype() == DType::kF64) return "computes in f32";
  const FusedConvolution chain(request);
  if (chain.convolution->geometry().axes.size() > 3) return "takes at most 3 spatial axes";
  return chain.objection(request);
}

/// Whether backward is to run in this direction.
inline bool wants(const KernelRequest& request, dnn::Direction direction) {
  if (direction == dnn::Direction::kForward) return true;
  if (direction == dnn::Direction::kBackwardFilters) return request.backward && request.param_grads[0];
  const auto& wanted = request.bottom_grads;
  return request.backward && std::find(wanted.begin(), wanted.end(), true) != wanted.end();
}

/// Space to depth, where it serves: libraries pad channels with 16 bits alone, and nobody unfolds gradients of images.
inline std::optional<SpaceToDepth> fold_of(const KernelRequest& request) {
  const auto& wanted = request.bottom_grads;
  if (!is_16_bit(request.dtype()) || std::find(wanted.begin(), wanted.end(), true) != wanted.end()) return std::nullopt;
  return SpaceToDepth::of(request.layer<ConvolutionLayer>().geometry());
}

inline LibraryPasses asked_passes(const KernelRequest& request) {
  const FusedConvolution chain(request);
  LibraryPasses passes;
  passes.adds = bool{chain.joint};
  passes.relu = bool{chain.relu};
  if (chain.relu) passes.slope = chain.relu->slope();
  passes.problem.geometry = chain.convolution->geometry();
  passes.problem.type = request.dtype();
  passes.problem.relu = passes.relu && passes.slope == 0;
  // A ReLU that the library leaves to us comes after bias and sum: then all are ours.
  const bool takes_all = passes.relu == passes.problem.relu;
  passes.problem.bias = chain.has_bias() && takes_all;
  passes.problem.adds = passes.adds && takes_all;
  return passes;
}

/// In which the convolution can be asked for, best first.
inline std::vector<LibraryPasses> ways_to_convolve(const KernelRequest& request) {
  const LibraryPasses asked = asked_passes(request);
  std::vector<LibraryPasses> ways;
  if (request.bottoms[0].shape.axes() == static_cast<int>(asked.problem.geometry.axes.size()) + 2) {
    LibraryPasses last = asked;
    last.problem.channels_last = true;
    if (const auto fold = fold_of(request)) {
      ways.push_back(last);
      ways.back().problem.geometry = fold->folded;
      ways.back().fold = fold;
    }
    ways.push_back(last);
  }
  ways.push_back(asked);
  return ways;
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
