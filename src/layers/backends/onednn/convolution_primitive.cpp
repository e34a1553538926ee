// The three directions of a convolution as oneDNN primitives. Filters are reordered into the format that a primitive
// wants, and gradients of filters back; what oneDNN refuses is simply not offered.

#include "layers/backends/onednn/convolution_primitive.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/generation.h"
#include "layers/backends/onednn/primitive.h"
#include "layers/kit/weights_stamp.h"

namespace robusta::onednn {
namespace {

/// The problem in oneDNN's terms; the format of the weights, which are of `weights_type`, is left to it.
ConvolutionRequest request_of(const ConvolutionProblem& p, dnnl::algorithm algorithm, DType weights_type) {
  const Desc bias = p.bias ? plain_desc(Dims{p.geometry.num_output}) : Desc();
  const Desc weights = any_desc(p.weight_dims(), weights_type);
  ConvolutionRequest request{algorithm, p.src, weights, bias, p.dst, {}, {}, {}, {}, scratch_attr()};
  for (const WindowAxis& axis : p.geometry.axes) {
    request.strides.push_back(axis.stride);
    // oneDNN counts the pixels between two taps, Caffe the distance.
    request.dilates.push_back(axis.dilation - 1);
    request.pads.push_back(axis.pad);
    request.pads_behind.push_back(axis.pad_behind());
  }
  return request;
}

/// `whole`: with the sum and the ReLU that the problem has.
dnnl::convolution_forward::primitive_desc forward_desc(const ConvolutionProblem& p, dnnl::algorithm algorithm,
                                                       bool whole) {
  ConvolutionRequest request = request_of(p, algorithm, p.type);
  dnnl::post_ops after;
  if (whole && p.adds) after.append_sum(1.0f);
  if (whole && p.relu) append_relu(after, p.slope);
  if (after.len() > 0) request.attr.set_post_ops(after);
  return forward_primitive(request,
                           p.inference ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training);
}

/// Backward descriptors want the forward one that they belong to.
dnnl::convolution_forward::primitive_desc hint(const ConvolutionProblem& p) {
  ConvolutionProblem training = p;
  training.inference = false;
  return forward_desc(training, dnnl::algorithm::convolution_direct, false);
}

/// Weights as a primitive wants them.
class PackedWeights {
 public:
  /// `keep`: in memory of its own, refreshed when the version has moved. That is for inference, where weights stay: in
  /// training each pass would pack them anew anyway, and memory of its own would only be more than scratch memory,
  /// which all layers share.
  PackedWeights(const ConvolutionProblem& problem, const Desc& packed, bool keep, ScratchPlan& plan) {
    if (packed == plain_desc(problem.weight_dims())) return;
    pack_ = reorder_step(plain_desc(problem.weight_dims()), packed);
    if (keep) {
      kept_ = AlignedMemory(packed.get_size());
    } else {
      at_ = plan.add(packed.get_size());
    }
    scratch_at_ = plan.add(pack_.scratch_bytes());
  }

  size_t kept_bytes() const { return kept_.bytes(); }

  void keep(const ConvolutionData& data, void* scratch) {
    if (kept_) get(data, scratch);
  }

  const void* get(const ConvolutionData& data, void* scratch) {
    if (!pack_) return data.weights;
    void* packed = kept_ ? kept_.data() : at_offset(scratch, at_);
    if (kept_ && !stamp_.moved(data.weights, data.version)) return packed;
    pack_.run({{DNNL_ARG_FROM, data.weights}, {DNNL_ARG_TO, packed}}, at_offset(scratch, scratch_at_));
    return packed;
  }

 private:
  Step pack_;
  AlignedMemory kept_;  // none: the packed weights are scratch
  size_t at_ = 0, scratch_at_ = 0;
  WeightsStamp stamp_;
};

class ForwardPass : public ConvolutionPass {
 public:
  ForwardPass(const ConvolutionProblem& problem, const dnnl::convolution_forward::primitive_desc& chosen)
      : name_(chosen.impl_info_str()),
        bias_(problem.bias),
        added_(problem.adds ? static_cast<int64_t>(problem.dst.get_size()) : 0),
        weights_(problem, chosen.weights_desc(), problem.inference, plan_) {
    std::vector<Step::Arg> args{
        {DNNL_ARG_SRC, problem.src}, {DNNL_ARG_WEIGHTS, chosen.weights_desc()}, {DNNL_ARG_DST, problem.dst}};
    if (bias_) args.emplace_back(DNNL_ARG_BIAS, chosen.bias_desc());
    step_ = Step(dnnl::convolution_forward(chosen), args, chosen.scratchpad_desc());
    scratch_at_ = plan_.add(step_.scratch_bytes());
  }
  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  size_t kept_bytes() const override { return weights_.kept_bytes(); }
  void keep_weights(const ConvolutionData& data, void* scratch) override { weights_.keep(data, scratch); }

  void run(const ConvolutionData& data, void* scratch) override {
    const void* weights = weights_.get(data, scratch);
    void* own = at_offset(scratch, scratch_at_);
    if (added_ > 0 && data.addend != data.dst) copy_addend(data);
    if (bias_) {
      step_.run(
          {{DNNL_ARG_SRC, data.src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, data.dst}, {DNNL_ARG_BIAS, data.bias}},
          own);
    } else {
      step_.run({{DNNL_ARG_SRC, data.src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, data.dst}}, own);
    }
  }

 private:
  /// oneDNN adds to what the result's memory holds.
  void copy_addend(const ConvolutionData& data) const {
    const char* from = static_cast<const char*>(data.addend);
    char* to = static_cast<char*>(const_cast<void*>(data.dst));
    parallel_ranges(added_, 1 << 16, [=](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
  }

  std::string name_;
  bool bias_;
  int64_t added_;  // bytes of the addend; 0: there is none
  ScratchPlan plan_;
  PackedWeights weights_;
  Step step_;
  size_t scratch_at_ = 0;
};

class BackwardDataPass : public ConvolutionPass {
 public:
  BackwardDataPass(const ConvolutionProblem& problem, const dnnl::convolution_backward_data::primitive_desc& chosen)
      : name_(chosen.impl_info_str()),
        weights_(problem, chosen.weights_desc(), false, plan_),
        step_(dnnl::convolution_backward_data(chosen),
              {{DNNL_ARG_DIFF_DST, problem.dst},
               {DNNL_ARG_WEIGHTS, chosen.weights_desc()},
               {DNNL_ARG_DIFF_SRC, problem.src}},
              chosen.scratchpad_desc()),
        scratch_at_(plan_.add(step_.scratch_bytes())) {}
  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  void run(const ConvolutionData& data, void* scratch) override {
    const void* weights = weights_.get(data, scratch);
    step_.run({{DNNL_ARG_DIFF_DST, data.dst}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, data.src}},
              at_offset(scratch, scratch_at_));
  }

 private:
  std::string name_;
  ScratchPlan plan_;
  PackedWeights weights_;
  Step step_;
  size_t scratch_at_;
};

void add_to(const float* from, float* to, int64_t count) {
  parallel_for(count, 1 << 14, [=](int64_t i) { to[i] += from[i]; });
}

class BackwardWeightsPass : public ConvolutionPass {
 public:
  BackwardWeightsPass(const ConvolutionProblem& problem,
                      const dnnl::convolution_backward_weights::primitive_desc& chosen)
      : name_(chosen.impl_info_str()), bias_(problem.bias), outputs_(problem.geometry.num_output) {
    const Desc plain = plain_desc(problem.weight_dims()), packed = chosen.diff_weights_desc();
    count_ = problem.geometry.weight_shape().count();
    // oneDNN overwrites gradients, and in blocks of its own: they are computed aside, then written or added in order.
    // Where they are in order it would add one after the other.
    unpack_ = reorder_step(packed, plain);
    if (packed != plain) add_ = reorder_step(packed, plain, true);
    unpack_at_ = plan_.add(std::max(unpack_.scratch_bytes(), add_.scratch_bytes()));
    packed_at_ = plan_.add(packed.get_size());
    std::vector<Step::Arg> args{
        {DNNL_ARG_SRC, problem.src}, {DNNL_ARG_DIFF_DST, problem.dst}, {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (bias_) args.emplace_back(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
    step_ = Step(dnnl::convolution_backward_weights(chosen), args, chosen.scratchpad_desc());
    bias_at_ = plan_.add(sizeof(float) * static_cast<size_t>(outputs_));
    scratch_at_ = plan_.add(step_.scratch_bytes());
  }
  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  void run(const ConvolutionData& data, void* scratch) override {
    void *packed = at_offset(scratch, packed_at_), *bias = at_offset(scratch, bias_at_);
    void* own = at_offset(scratch, scratch_at_);
    if (bias_) {
      step_.run({{DNNL_ARG_SRC, data.src},
                 {DNNL_ARG_DIFF_DST, data.dst},
                 {DNNL_ARG_DIFF_WEIGHTS, packed},
                 {DNNL_ARG_DIFF_BIAS, bias}},
                own);
      if (data.bias) hand_over_bias(data, bias);
    } else {
      step_.run({{DNNL_ARG_SRC, data.src}, {DNNL_ARG_DIFF_DST, data.dst}, {DNNL_ARG_DIFF_WEIGHTS, packed}}, own);
    }
    if (!data.weights) return;
    if (data.add_weights && !add_) return add_to(static_cast<float*>(packed), gradient(data.weights), count_);
    Step& unpack = data.add_weights ? add_ : unpack_;
    unpack.run({{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, data.weights}}, at_offset(scratch, unpack_at_));
  }

 private:
  static float* gradient(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  void hand_over_bias(const ConvolutionData& data, const void* computed) const {
    const float* from = static_cast<const float*>(computed);
    if (data.add_bias) {
      add_to(from, gradient(data.bias), outputs_);
    } else {
      std::copy(from, from + outputs_, gradient(data.bias));
    }
  }

  std::string name_;
  bool bias_;
  int64_t outputs_, count_;
  ScratchPlan plan_;
  Step unpack_, add_, step_;
  size_t unpack_at_, packed_at_, bias_at_, scratch_at_;
};

/// Appends a pass for what `chosen` stands for. The implementations after oneDNN's first choice are not worth a trial:
/// where they differ at all they are its GEMM and reference ones.
template <typename Pass, typename PrimitiveDesc>
void add_pass(const ConvolutionProblem& problem, const PrimitiveDesc& chosen, ConvolutionPasses& passes) {
  if (!is_slow(chosen.impl_info_str())) passes.push_back(std::make_unique<Pass>(problem, chosen));
}

/// Of fewer channels than a vector has, beside one another in memory, oneDNN's kernel for AVX2 copies whole vectors
/// when it gathers the inputs that the stride leaves: gradients come out wrong, and it writes beyond its scratch
/// memory. So it does in 2.6 and 3.2, and in 3.7 it has the same code.
bool gathers_too_much(const ConvolutionProblem& problem, const std::string& implementation) {
  constexpr int64_t kVector = 8;  // floats of AVX2
  const ConvolutionGeometry& g = problem.geometry;
  return implementation == "jit_1x1:avx2" && g.channels / g.group < kVector && !is_pointwise(g.axes);
}

/// More than the offsets in machine code hold, where channels lie in blocks. From a code generator that met one oneDNN
/// 3.2 gets nothing any more in that thread, and its cache of primitives compares with descriptions that are gone.
bool is_beyond_offsets(const ConvolutionProblem& problem) {
  constexpr double kMost = 2147483648.0 / sizeof(float);
  constexpr int64_t kBlock = 16;
  const ConvolutionGeometry& g = problem.geometry;
  const auto blocks = [](int64_t channels) { return static_cast<double>((channels + kBlock - 1) / kBlock * kBlock); };
  const auto image = [&](int64_t channels, int64_t plane) { return blocks(channels) * static_cast<double>(plane); };
  const double weights = blocks(g.num_output) * blocks(g.channels / g.group) * static_cast<double>(taps(g.axes));
  return std::max({weights, image(g.channels, elements_in(g.axes)), image(g.num_output, elements_out(g.axes))}) > kMost;
}

}  // namespace

void add_primitive_passes(Direction direction, const ConvolutionProblem& p, dnnl::algorithm algorithm,
                          ConvolutionPasses& passes) {
  if (is_beyond_offsets(p)) return;
  try {
    if (direction == Direction::kForward) {
      add_pass<ForwardPass>(p, forward_desc(p, algorithm, true), passes);
    } else if (direction == Direction::kBackwardData) {
      add_pass<BackwardDataPass>(p, backward_data_primitive(request_of(p, algorithm, p.type), hint(p)), passes);
    } else {
      const auto refuse = [&p](const std::string& implementation) { return gathers_too_much(p, implementation); };
      // Gradients of filters are f32, whatever the filters were rounded to.
      const ConvolutionRequest request = request_of(p, algorithm, DType::kF32);
      add_pass<BackwardWeightsPass>(p, backward_weights_primitive(request, hint(p), refuse), passes);
    }
  } catch (const dnnl::error&) {
    // That is how oneDNN says that it does not do this; the caller sees that nothing was added.
  }
}

bool choose_formats(ConvolutionProblem& problem) {
  // Those of training also for inference, where oneDNN would take channels last: the blocks let Winograd's passes in,
  // and its direct kernels for them are no slower (Zen 4: VGG-16 takes 0.38 of the time, GoogLeNet 0.34, MobileNet
  // 0.95).
  ConvolutionProblem training = problem;
  training.inference = false;
  try {
    const auto chosen = forward_desc(training, dnnl::algorithm::convolution_direct, true);
    if (is_slow(chosen.impl_info_str())) return false;
    problem.src = chosen.src_desc();
    problem.dst = chosen.dst_desc();
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace robusta::onednn
