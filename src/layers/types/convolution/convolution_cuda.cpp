// Convolution on cuDNN, alone or with the ReLU that follows it.
//
// Channels last where channels are axis 1, else plain. Filters and their gradient stay in Caffe's order outside: a pass
// brings them into cuDNN's order, in scratch memory, each time it runs. Training changes them anyway, and a pass that
// does the same each time can be part of a CUDA graph. With activations of 16 bits the filters are rounded on that way.

#include <algorithm>
#include <optional>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "layers/kit/chain.h"
#include "layers/kit/roles.h"
#include "layers/types/convolution/convolution.h"
#include "layers/types/convolution/dnn_choice_cuda.h"
#include "layers/types/convolution/space_to_depth_gpu.h"
#include "memory/placement.h"
#include "tensor/channels_last.h"

namespace robusta {
namespace {

static_assert(kMemoryAlignment % dnn::kAlignment == 0);

/// Parts of scratch memory.
class Parts {
 public:
  size_t add(size_t bytes) { return std::exchange(bytes_, bytes_ + align_up(bytes)); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

template <typename T = void>
T* part(void* scratch, size_t offset) {
  return scratch ? reinterpret_cast<T*>(static_cast<char*>(scratch) + offset) : nullptr;
}

/// What is computed, in the format that all directions have plans for.
struct CudnnPasses {
  dnn::Problem problem;
  std::optional<SpaceToDepth> fold;  ///< `problem` is the folded one, and the image comes plain and in f32
  float slope = 0;                   ///< of a ReLU
  bool relu = false;                 ///< one follows
  bool fused = false;                ///< forward: bias and ReLU are in the plan
  std::shared_ptr<const dnn::Plan> forward, data, filters;
};

class CudnnConvolution : public Kernel {
 public:
  CudnnConvolution(const KernelRequest& request, CudnnPasses passes)
      : passes_(std::move(passes)),
        problem_(passes_.problem),
        channels_(problem_.geometry.channels / problem_.geometry.group),
        taps_(taps(problem_.geometry.axes)),
        turns_(problem_.channels_last && channels_ > 1 && taps_ > 1),
        packs_(turns_ || is_16_bit(problem_.type)),
        learns_bias_(request.backward && request.params.size() > 1 && request.param_grads[1]) {
    if (passes_.fold) {
      booking_.bottom_layouts.assign(request.bottoms.size(), nullptr);
      booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    } else {
      for (const TensorDesc& bottom : request.bottoms) booking_.bottom_layouts.push_back(layout_of(bottom));
    }
    for (const TensorDesc& top : request.tops) booking_.top_layouts.push_back(layout_of(top));
    booking_.reads_bottoms.assign(request.bottoms.size(), passes_.filters != nullptr);
    booking_.reads_tops.assign(request.tops.size(), request.backward && passes_.relu);
    forward_.emplace(passes_.forward);
    if (passes_.data) data_.emplace(passes_.data);
    if (passes_.filters) filters_.emplace(passes_.filters);
    book_scratch();
  }

  std::string describe() const override {
    std::string text = passes_.fold ? "cudnn folded " : "cudnn ";
    if (passes_.fused) text += "fused ";
    text += engine(*passes_.forward);
    if (passes_.data) text += " / " + engine(*passes_.data);
    if (passes_.filters) text += " / " + engine(*passes_.filters);
    return text;
  }

  void forward(const KernelRun& run) override {
    const void* filters = packed_filters(run, part(run.scratch, 0));
    const float* bias = run.params.size() > 1 ? run.params[1]->tensor().as<float>() : nullptr;
    for (size_t i = 0; i < run.tops.size(); ++i) {
      void* top = run.tops[i].data;
      std::vector<dnn::Binding>& b = bind(image(run, i, forward_image_), filters, top);
      if (passes_.fused && bias) b.push_back({dnn::kBias, stored_bias(run)});
      forward_->run(handle(run), b, part(run.scratch, forward_workspace_));
      if (!passes_.fused) add_bias_and_relu(run.stream, problem_.result_view(), bias, passes_.relu, passes_.slope, top);
    }
  }

  void backward(const KernelRun& run) override {
    for (size_t i = 0; i < run.top_diffs.size(); ++i) {
      const void* dy = gradient_before_relu(run, i);
      if (filters_) filter_gradient(run, i, dy);
      if (!run.bottom_diffs[i]) continue;
      const void* filters = packed_filters(run, part(run.scratch, backward_filters_));
      data_->run(handle(run), bind(run.bottom_diffs[i].data, filters, dy), part(run.scratch, backward_workspace_));
    }
  }

 private:
  static std::string engine(const dnn::Plan& plan) { return plan.name().substr(0, plan.name().find('_')); }
  static cudnnHandle_t handle(const KernelRun& run) { return static_cast<CudaStream*>(run.stream)->dnn(); }
  Layout layout_of(const TensorDesc& desc) const { return problem_.channels_last ? channels_last(desc) : nullptr; }
  size_t bytes_of(int64_t elements) const { return static_cast<size_t>(elements) * size_of(problem_.type); }

  void book_scratch() {
    Parts forward, backward;
    const size_t image = passes_.fold ? bytes_of(problem_.image_size()) : 0;
    if (packs_) forward.add(bytes_of(problem_.filter_size()));
    forward_image_ = forward.add(image);
    forward_bias_ = forward.add(is_16_bit(problem_.type) ? bytes_of(problem_.geometry.num_output) : 0);
    forward_workspace_ = forward.add(passes_.forward->workspace_bytes());
    booking_.forward_scratch = forward.bytes();

    if (passes_.relu) backward.add(bytes_of(problem_.result_size()));
    backward_filters_ = backward.add(filters_ || packs_ ? bytes_of(problem_.filter_size()) : 0);
    backward_image_ = backward.add(filters_ ? image : 0);
    size_t workspace = learns_bias_ ? bias_gradient_scratch(problem_.result_view()) : 0;
    if (data_) workspace = std::max(workspace, passes_.data->workspace_bytes());
    if (filters_) workspace = std::max(workspace, passes_.filters->workspace_bytes());
    backward_workspace_ = backward.add(workspace);
    if (data_ || filters_ || learns_bias_) booking_.backward_scratch = backward.bytes();
  }

  std::vector<dnn::Binding>& bind(const void* image, const void* filters, const void* result) {
    bindings_ = {{dnn::kImage, const_cast<void*>(image)},
                 {dnn::kFilters, const_cast<void*>(filters)},
                 {dnn::kResult, const_cast<void*>(result)}};
    return bindings_;
  }

  /// A bottom as cuDNN is given it; `offset`: of the scratch memory for one that is folded.
  const void* image(const KernelRun& run, size_t i, size_t offset) const {
    if (!passes_.fold) return run.bottoms[i].data;
    void* folded = part(run.scratch, offset);
    fold_image(run.stream, *passes_.fold, run.bottoms[i].as<float>(), problem_.type, folded);
    return folded;
  }

  /// The filters in cuDNN's order and type, which may be their own.
  const void* packed_filters(const KernelRun& run, void* memory) const {
    void* plain = run.params[0]->data;
    if (!packs_) return plain;
    if (passes_.fold) {
      fold_filters(run.stream, *passes_.fold, static_cast<const float*>(plain), problem_.type, memory);
      return memory;
    }
    const int64_t rows = turns_ ? channels_ : channels_ * taps_, cols = turns_ ? taps_ : 1;
    transpose_filters(run.stream, problem_.geometry.num_output, rows, cols, {DType::kF32, plain}, false,
                      {problem_.type, memory});
    return memory;
  }

  void* stored_bias(const KernelRun& run) const {
    void* bias = run.params[1]->data;
    if (!is_16_bit(problem_.type)) return bias;
    void* memory = part(run.scratch, forward_bias_);
    transpose_filters(run.stream, 1, problem_.geometry.num_output, 1, {DType::kF32, bias}, false,
                      {problem_.type, memory});
    return memory;
  }

  /// What cuDNN is given, summed for the bias on the way. The top's own gradient stays as it is: others may share it.
  const void* gradient_before_relu(const KernelRun& run, size_t i) const {
    const dnn::Problem& p = problem_;
    const void* dy = run.top_diffs[i].data;
    BiasGradient bias;
    if (learns_bias_) bias = {run.params[1]->gradient().as<float>(), run.accumulate[1] || i > 0};
    void* scratch = part(run.scratch, backward_workspace_);
    if (!passes_.relu) {
      if (learns_bias_) bias_gradient(run.stream, p.result_view(), dy, bias, scratch);
      return dy;
    }
    void* masked = part(run.scratch, 0);
    mask_gradient(run.stream, p.result_view(), run.tops[i].data, dy, passes_.slope, masked, bias, scratch);
    return masked;
  }

  /// cuDNN has no engines from 16 bits to f32: what one pass gives is rounded, sums over passes are not.
  void filter_gradient(const KernelRun& run, size_t i, const void* dy) {
    const bool add = run.accumulate[0] || i > 0;
    void* gradient = run.params[0]->diff;
    void* target = packs_ || add ? part(run.scratch, backward_filters_) : gradient;
    filters_->run(handle(run), bind(image(run, i, backward_image_), target, dy),
                  part(run.scratch, backward_workspace_));
    if (target == gradient) return;
    if (passes_.fold) {
      return unfold_filters(run.stream, *passes_.fold, problem_.type, target, add, static_cast<float*>(gradient));
    }
    const int64_t rows = turns_ ? taps_ : channels_ * taps_, cols = turns_ ? channels_ : 1;
    transpose_filters(run.stream, problem_.geometry.num_output, rows, cols, {problem_.type, target}, add,
                      {DType::kF32, gradient});
  }

  CudnnPasses passes_;
  const dnn::Problem& problem_;
  int64_t channels_, taps_;  ///< of one filter
  bool turns_;               ///< cuDNN's order of the filters is not Caffe's
  bool packs_;               ///< it takes a copy of them, for that or as they are of 16 bits
  bool learns_bias_;
  std::optional<dnn::Runner> forward_, data_, filters_;
  std::vector<dnn::Binding> bindings_;
  size_t forward_image_ = 0, forward_bias_ = 0, forward_workspace_ = 0;
  size_t backward_filters_ = 0, backward_image_ = 0, backward_workspace_ = 0;
};

const auto& cudnn_chain() {
  static const auto pattern = chain(of<ConvolutionLayer>("Convolution"), maybe<Rectifier>());
  return pattern;
}

/// Why the chain cannot be taken; "" if it can.
std::string cudnn_objection(const KernelRequest& request) {
  if (request.dtype() == DType::kF64) return "computes in f32";
  if (!request.device) return "wants to know its GPU";
  if (request.layer<ConvolutionLayer>().geometry().axes.size() > 3) return "takes at most 3 spatial axes";
  const auto [convolution, relu] = cudnn_chain().links(request);
  if (relu && !relu->sign_survives()) return "a negative slope hides the sign";
  return "";
}

/// False, with a reason, when cuDNN lacks a direction that the request asks for.
bool choose_cudnn_passes(const KernelRequest& request, const dnn::Site& site, CudnnPasses& passes,
                         std::string& why_not) {
  using dnn::Direction;
  const auto choose = [&](Direction direction) { return choose_plan(direction, passes.problem, site, why_not); };
  const dnn::Choice forward = choose(Direction::kForward);
  passes.forward = forward.plan;
  passes.fused = forward.fused;
  if (!passes.forward) return false;
  const auto& wanted = request.bottom_grads;
  if (request.backward && std::find(wanted.begin(), wanted.end(), true) != wanted.end()) {
    passes.data = choose(Direction::kBackwardData).plan;
    if (!passes.data) return false;
  }
  if (request.backward && request.param_grads[0]) {
    passes.filters = choose(Direction::kBackwardFilters).plan;
    if (!passes.filters) return false;
  }
  return true;
}

/// Space to depth, where it serves: cuDNN pads channels with 16 bits alone, and nobody unfolds gradients of images.
std::optional<SpaceToDepth> fold_of(const KernelRequest& request) {
  const auto& wanted = request.bottom_grads;
  if (!is_16_bit(request.dtype()) || std::find(wanted.begin(), wanted.end(), true) != wanted.end()) return std::nullopt;
  return SpaceToDepth::of(request.layer<ConvolutionLayer>().geometry());
}

CudnnPasses asked_passes(const KernelRequest& request) {
  const auto [layer, relu] = cudnn_chain().links(request);
  CudnnPasses passes;
  passes.relu = bool{relu};
  if (relu) passes.slope = relu->slope();
  passes.problem.geometry = layer->geometry();
  passes.problem.type = request.dtype();
  passes.problem.relu = passes.relu && passes.slope == 0;
  // A ReLU that cuDNN leaves to us comes after the bias: then both do.
  passes.problem.bias = layer->has_bias() && passes.relu == passes.problem.relu;
  return passes;
}

std::unique_ptr<Kernel> make_convolution_cudnn(const KernelRequest& request, std::string& why_not) {
  why_not = cudnn_objection(request);
  if (!why_not.empty()) return nullptr;
  const dnn::Site site = dnn::Site::of(static_cast<CudaDevice&>(*request.device), request.tuner);
  const CudnnPasses asked = asked_passes(request);
  std::vector<CudnnPasses> ways;
  if (request.bottoms[0].shape.axes() == static_cast<int>(asked.problem.geometry.axes.size()) + 2) {
    CudnnPasses last = asked;
    last.problem.channels_last = true;
    if (const auto fold = fold_of(request)) {
      ways.push_back(last);
      ways.back().problem.geometry = fold->folded;
      ways.back().fold = fold;
    }
    ways.push_back(last);
  }
  ways.push_back(asked);
  for (CudnnPasses& passes : ways) {
    if (choose_cudnn_passes(request, site, passes, why_not)) {
      return std::make_unique<CudnnConvolution>(request, std::move(passes));
    }
  }
  return nullptr;
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(cudnn_chain(), "cudnn", 20, make_convolution_cudnn);

}  // namespace robusta
