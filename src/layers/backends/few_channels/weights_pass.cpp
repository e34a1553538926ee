// From a plain image and gradients in blocks of a vector. Threads share the rows of all results; each has sums of its
// own, which are added up in the end, always in the same order.

#include "layers/backends/few_channels/weights_pass.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/few_channels/row_products.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/onednn/primitive.h"

namespace robusta::few_channels {
namespace {

using onednn::at_offset;
using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;
using onednn::ScratchPlan;

constexpr int64_t kMostChannels = 4;

class WeightsPass : public onednn::ConvolutionPass {
 public:
  WeightsPass(const ConvolutionProblem& problem, int lanes)
      : geometry_(problem.geometry),
        slope_(problem.slope),
        lanes_(lanes),
        blocks_((geometry_.num_output + lanes - 1) / lanes),
        taps_(geometry_.weight_shape().count(1)),
        workers_(omp_get_max_threads()) {
    for (int64_t row = 0; row < geometry_.channels * y().kernel; ++row) {
      for (int64_t tap = 0; tap < x().kernel; ++tap) places_.push_back(row * x().padded_in() + tap * x().dilation);
    }
    const auto of_each_worker = [&](int64_t count, size_t size) {
      return plan_.add(static_cast<size_t>(workers_ * count) * size);
    };
    sums_at_ = of_each_worker(sum_floats(), sizeof(float));
    bias_at_ = of_each_worker(blocks_ * lanes_, sizeof(double));
    inputs_at_ = of_each_worker(input_floats(), sizeof(float));
    gradients_at_ = of_each_worker(gradient_floats(), sizeof(float));
  }

  std::string name() const override { return "few_channels:native"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  bool gates() const override { return true; }

  void run(const ConvolutionData& data, void* scratch) override {
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t rows = geometry_.batch * y().out;
      sum_rows(data, rows * worker / workers_, rows * (worker + 1) / workers_, buffers_of(worker, scratch));
    });
    if (data.weights) hand_over_weights(data.add_weights, scratch, written(data.weights));
    if (data.bias) hand_over_bias(data.add_bias, scratch, written(data.bias));
  }

 private:
  /// What a worker has for itself.
  struct Buffers {
    float* sums;       ///< [pair of blocks][taps][lanes of both]
    double* bias;      ///< [outputs]
    float* inputs;     ///< [channels][rows under a window][padded pixels]
    float* gradients;  ///< [pixels][lanes of two blocks]
  };

  const WindowAxis& y() const { return geometry_.axes[0]; }
  const WindowAxis& x() const { return geometry_.axes[1]; }
  static float* written(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  int64_t sum_floats() const { return blocks_ * lanes_ * taps_; }
  int64_t input_floats() const { return geometry_.channels * y().kernel * x().padded_in(); }
  int64_t gradient_floats() const { return x().out * kMostBlocks * lanes_; }

  Buffers buffers_of(int64_t worker, void* scratch) const {
    const auto floats = [&](size_t at, int64_t count) {
      return static_cast<float*>(at_offset(scratch, at)) + worker * count;
    };
    return {floats(sums_at_, sum_floats()),
            static_cast<double*>(at_offset(scratch, bias_at_)) + worker * blocks_ * lanes_,
            floats(inputs_at_, input_floats()), floats(gradients_at_, gradient_floats())};
  }

  /// The sums over the rows of results `begin` to `end`, counted over the batch.
  void sum_rows(const ConvolutionData& data, int64_t begin, int64_t end, const Buffers& to) const {
    std::fill_n(to.sums, sum_floats(), 0.0f);
    std::fill_n(to.bias, blocks_ * lanes_, 0.0);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sample = i / y().out, row = i % y().out;
      copy_inputs(static_cast<const float*>(data.src) + sample * geometry_.channels * y().in * x().in, row, to.inputs);
      for (int64_t block = 0; block < blocks_; block += kMostBlocks) add_row(data, sample, row, block, to);
    }
  }

  /// The rows under the windows of a row of results, zeros around the image.
  void copy_inputs(const float* image, int64_t row, float* to) const {
    for (int64_t channel = 0; channel < geometry_.channels; ++channel) {
      for (int64_t tap = 0; tap < y().kernel; ++tap, to += x().padded_in()) {
        const int64_t from = row * y().stride - y().pad + tap * y().dilation;
        std::fill_n(to, x().padded_in(), 0.0f);
        if (from >= 0 && from < y().in) std::copy_n(image + (channel * y().in + from) * x().in, x().in, to + x().pad);
      }
    }
  }

  void add_row(const ConvolutionData& data, int64_t sample, int64_t row, int64_t first, const Buffers& to) const {
    const int64_t blocks = std::min<int64_t>(kMostBlocks, blocks_ - first);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = ((sample * blocks_ + first + b) * y().out + row) * x().out * lanes_;
      const float *dy = static_cast<const float*>(data.dst) + at, *gate = static_cast<const float*>(data.gate);
      gather_gradients({dy, gate ? gate + at : nullptr, slope_, x().out}, lanes_, blocks * lanes_,
                       to.gradients + b * lanes_, to.bias + (first + b) * lanes_);
    }
    add_row_products({x().out, x().stride, to.inputs, places_.data(), taps_, to.gradients}, lanes_,
                     static_cast<int>(blocks), to.sums + first * lanes_ * taps_);
  }

  void hand_over_weights(bool add, void* scratch, float* weights) const {
    const float* sums = static_cast<const float*>(at_offset(scratch, sums_at_));
    parallel_for(geometry_.num_output, 4, [=, this](int64_t output) {
      const int64_t block = output / lanes_, first = block / kMostBlocks * kMostBlocks;
      const int64_t width = std::min<int64_t>(kMostBlocks, blocks_ - first) * lanes_;
      const float* of_output = sums + first * lanes_ * taps_ + (output - first * lanes_);
      for (int64_t tap = 0; tap < taps_; ++tap) {
        float sum = add ? weights[output * taps_ + tap] : 0.0f;
        for (int64_t w = 0; w < workers_; ++w) sum += of_output[w * sum_floats() + tap * width];
        weights[output * taps_ + tap] = sum;
      }
    });
  }

  void hand_over_bias(bool add, void* scratch, float* bias) const {
    const double* sums = static_cast<const double*>(at_offset(scratch, bias_at_));
    for (int64_t output = 0; output < geometry_.num_output; ++output) {
      double sum = add ? bias[output] : 0.0f;
      for (int64_t w = 0; w < workers_; ++w) sum += sums[w * blocks_ * lanes_ + output];
      bias[output] = static_cast<float>(sum);
    }
  }

  ConvolutionGeometry geometry_;
  float slope_;
  int lanes_;
  int64_t blocks_, taps_, workers_;
  std::vector<int64_t> places_;
  ScratchPlan plan_;
  size_t sums_at_ = 0, bias_at_ = 0, inputs_at_ = 0, gradients_at_ = 0;
};

bool fits(const ConvolutionProblem& problem, int lanes) {
  const ConvolutionGeometry& g = problem.geometry;
  if (lanes == 0 || problem.type != DType::kF32 || g.group != 1 || g.axes.size() != 2) return false;
  if (g.channels > kMostChannels) return false;
  return !onednn::layout_of(problem.src) && onednn::channel_block(onednn::layout_of(problem.dst)) == lanes;
}

}  // namespace

void add_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  const int lanes = vector_lanes();
  if (direction != Direction::kBackwardWeights || !fits(problem, lanes)) return;
  passes.push_back(std::make_unique<WeightsPass>(problem, lanes));
}

}  // namespace robusta::few_channels
