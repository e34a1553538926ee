// The three directions of a convolution as input transform, products per point, and output transform: forward and data
// gradient map images to images, the filter gradient sums products over tiles.

#include "layers/backends/winograd/winograd_pass.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/onednn/primitive.h"
#include "layers/backends/winograd/filters.h"
#include "layers/backends/winograd/tile_products.h"
#include "layers/backends/winograd/tiled_problem.h"
#include "layers/backends/winograd/tiles.h"
#include "layers/kit/weights_stamp.h"

namespace robusta::winograd {
namespace {

using onednn::at_offset;
using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;
using onednn::ScratchPlan;

size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

float* floats_in(void* scratch, size_t at) { return static_cast<float*>(at_offset(scratch, at)); }

std::string name_of(const TiledProblem& problem) {
  return problem.tiling().step == 4 ? "winograd_4x4_3x3:native" : "winograd_2x2_5x5:native";
}

/// Forward, or backward to the data: images in, images out.
class ImagePass : public onednn::ConvolutionPass {
 public:
  ImagePass(Direction direction, const ConvolutionProblem& problem)
      : tiled_(problem, direction),
        back_(direction == Direction::kBackwardData),
        outputs_(back_ ? problem.geometry.channels : problem.geometry.num_output),
        has_bias_(problem.bias && !back_),
        adds_(problem.adds && !back_),
        slope_(back_ || problem.relu ? problem.slope : 1.0f) {
    const size_t weights = bytes_of(tiled_.groups() * tiled_.view().transformed());
    if (problem.inference && tiled_.has_few_tiles()) {
      kept_ = onednn::AlignedMemory(weights);
    } else {
      weights_at_ = plan_.add(weights / static_cast<size_t>(tiled_.groups()));
    }
    bias_at_ = plan_.add(bytes_of(padded_outputs()));
    windows_at_ = plan_.add(bytes_of(tiled_.slots() * window_floats()));
    products_at_ = plan_.add(bytes_of(tiled_.slots() * product_floats()));
  }
  std::string name() const override { return name_of(tiled_) + (kept_ ? ",kept" : ""); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  size_t kept_bytes() const override { return kept_.bytes(); }
  bool gates() const override { return true; }

  void keep_weights(const ConvolutionData& data, void*) override {
    if (!kept_ || !stamp_.moved(data.weights, data.version)) return;
    for (int64_t group = 0; group < tiled_.groups(); ++group) transform(data, group, kept(group));
  }

  void run(const ConvolutionData& data, void* scratch) override {
    const float* bias = has_bias_ ? padded_bias(data.bias, scratch) : nullptr;
    keep_weights(data, scratch);
    for (int64_t group = 0; group < tiled_.groups(); ++group) {
      float* weights = kept_ ? kept(group) : floats_in(scratch, weights_at_);
      if (!kept_) transform(data, group, weights);
      run_group(data, group, weights, bias, scratch);
    }
  }

 private:
  Planes from(int64_t group) const { return back_ ? tiled_.dst(group) : tiled_.src(group); }
  Planes to(int64_t group) const { return back_ ? tiled_.src(group) : tiled_.dst(group); }
  int64_t padded_outputs() const { return round_up(outputs_, tiled_.lanes()); }
  int64_t window_floats() const { return tiled_.buffer(from(0).channels()); }
  int64_t product_floats() const { return tiled_.buffer(to(0).channels()); }
  float* kept(int64_t group) const { return kept_.floats() + group * tiled_.view().transformed(); }

  void transform(const ConvolutionData& data, int64_t group, float* to) const {
    transform_filters(tiled_.view(), static_cast<const float*>(data.weights) + group * tiled_.weight_count(), to);
  }

  /// In whole vectors, as it is read.
  const float* padded_bias(const void* bias, void* scratch) const {
    float* padded = floats_in(scratch, bias_at_);
    std::fill_n(padded, padded_outputs(), 0.0f);
    std::memcpy(padded, bias, bytes_of(outputs_));
    return padded;
  }

  void run_group(const ConvolutionData& data, int64_t group, const float* weights, const float* bias,
                 void* scratch) const {
    const Planes from = this->from(group), to = this->to(group);
    const Source image{static_cast<const float*>(back_ ? data.dst : data.src),
                       back_ ? static_cast<const float*>(data.gate) : nullptr, slope_};
    float* result = static_cast<float*>(const_cast<void*>(back_ ? data.src : data.dst));
    const Finish finish{bias ? bias + to.first * tiled_.lanes() : nullptr,
                        adds_ ? static_cast<const float*>(data.addend) : nullptr, back_ ? 1.0f : slope_};
    const int64_t inputs = from.channels(), outputs = to.channels();
    float *windows = floats_in(scratch, windows_at_), *products = floats_in(scratch, products_at_);
    tiled_.run(
        [&](int64_t, const Piece& piece, int64_t first, int64_t count) {
          transform_inputs(tiled_.tiling(), from,
                           {piece.begin + first, count, tiled_.row(inputs), tiled_.stride(inputs)}, image,
                           windows + piece.slot * window_floats() + first * tiled_.row(inputs));
        },
        [&](const Piece& piece, int64_t point) {
          multiply_tiles({round_up(piece.count, kTileRows), tiled_.view().padded_inputs(), outputs, tiled_.row(inputs),
                          tiled_.row(outputs), tiled_.lanes()},
                         windows + piece.slot * window_floats() + point * tiled_.stride(inputs),
                         weights + point * tiled_.view().stride(),
                         products + piece.slot * product_floats() + point * tiled_.stride(outputs));
        },
        [&](int64_t, const Piece& piece, int64_t first, int64_t count) {
          transform_outputs(tiled_.tiling(), to,
                            {piece.begin + first, count, tiled_.row(outputs), tiled_.stride(outputs)}, finish,
                            products + piece.slot * product_floats() + first * tiled_.row(outputs), result);
        });
  }

  TiledProblem tiled_;
  bool back_;
  int64_t outputs_;
  bool has_bias_, adds_;
  float slope_;
  onednn::AlignedMemory kept_;  // transformed filters; none: they are scratch
  WeightsStamp stamp_;          // of what is kept
  ScratchPlan plan_;
  size_t weights_at_ = 0, bias_at_, windows_at_, products_at_;
};

/// Backward to the weights and the bias.
class WeightsPass : public onednn::ConvolutionPass {
 public:
  explicit WeightsPass(const ConvolutionProblem& problem)
      : tiled_(problem, Direction::kBackwardWeights), outputs_(problem.geometry.num_output), slope_(problem.slope) {
    sums_at_ = plan_.add(bytes_of(tiled_.slots() * tiled_.view().transformed()));
    bias_at_ = plan_.add(static_cast<size_t>(tiled_.workers() * bias_sums()) * sizeof(double));
    windows_at_ = plan_.add(bytes_of(tiled_.slots() * window_floats()));
    gradients_at_ = plan_.add(bytes_of(tiled_.slots() * gradient_floats()));
  }
  std::string name() const override { return name_of(tiled_); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  bool gates() const override { return true; }

  void run(const ConvolutionData& data, void* scratch) override {
    double* bias = static_cast<double*>(at_offset(scratch, bias_at_));
    std::fill_n(bias, tiled_.workers() * bias_sums(), 0.0);
    for (int64_t group = 0; group < tiled_.groups(); ++group) {
      sum_group(data, group, bias, scratch);
      if (!data.weights) continue;
      transform_filter_gradients(tiled_.view(), floats_in(scratch, sums_at_), tiled_.slots(), data.add_weights,
                                 written(data.weights) + group * tiled_.weight_count());
    }
    if (data.bias) hand_over_bias(bias, data.add_bias, written(data.bias));
  }

 private:
  static float* written(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  int64_t bias_sums() const { return round_up(outputs_, tiled_.lanes()); }
  int64_t window_floats() const { return tiled_.buffer(tiled_.src(0).channels()); }
  int64_t gradient_floats() const { return tiled_.buffer(tiled_.dst(0).channels()); }

  void sum_group(const ConvolutionData& data, int64_t group, double* bias, void* scratch) const {
    const Planes src = tiled_.src(group), dst = tiled_.dst(group);
    const int64_t inputs = src.channels(), outputs = dst.channels(), all = tiled_.view().transformed();
    float* sums = floats_in(scratch, sums_at_);
    parallel_ranges(tiled_.slots() * all, 1 << 14,
                    [=](int64_t begin, int64_t end) { std::fill(sums + begin, sums + end, 0.0f); });
    const Source image{static_cast<const float*>(data.src)};
    const Source gradient{static_cast<const float*>(data.dst), static_cast<const float*>(data.gate), slope_};
    float *windows = floats_in(scratch, windows_at_), *gradients = floats_in(scratch, gradients_at_);
    tiled_.run(
        [&](int64_t worker, const Piece& piece, int64_t first, int64_t count) {
          transform_inputs(tiled_.tiling(), src,
                           {piece.begin + first, count, tiled_.row(inputs), tiled_.stride(inputs)}, image,
                           windows + piece.slot * window_floats() + first * tiled_.row(inputs));
          transform_gradients(tiled_.tiling(), dst,
                              {piece.begin + first, count, tiled_.row(outputs), tiled_.stride(outputs)}, gradient,
                              gradients + piece.slot * gradient_floats() + first * tiled_.row(outputs),
                              bias + worker * bias_sums() + dst.first * tiled_.lanes());
        },
        [&](const Piece& piece, int64_t point) {
          add_products({piece.count, tiled_.view().padded_inputs(), outputs, tiled_.row(inputs), tiled_.row(outputs),
                        tiled_.lanes()},
                       windows + piece.slot * window_floats() + point * tiled_.stride(inputs),
                       gradients + piece.slot * gradient_floats() + point * tiled_.stride(outputs),
                       sums + piece.slot * all + point * tiled_.view().stride());
        },
        [](int64_t, const Piece&, int64_t, int64_t) {});
  }

  void hand_over_bias(const double* sums, bool add, float* bias) const {
    for (int64_t o = 0; o < outputs_; ++o) {
      double sum = add ? bias[o] : 0.0f;
      for (int64_t worker = 0; worker < tiled_.workers(); ++worker) sum += sums[worker * bias_sums() + o];
      bias[o] = static_cast<float>(sum);
    }
  }

  TiledProblem tiled_;
  int64_t outputs_;
  float slope_;
  ScratchPlan plan_;
  size_t sums_at_, bias_at_, windows_at_, gradients_at_;
};

bool in_blocks(const onednn::Desc& desc) { return onednn::channel_block(onednn::layout_of(desc)) == vector_lanes(); }

}  // namespace

/// Tiles of F(4x4, 3x3) and F(2x2, 5x5) (Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks")
/// presume a stride of 1 and no dilation. Each group begins on a block of channels.
bool can_run(const ConvolutionGeometry& g) {
  const int lanes = vector_lanes();
  if (lanes == 0 || g.axes.size() != 2 || g.axes[0].kernel != g.axes[1].kernel) return false;
  for (const WindowAxis& axis : g.axes) {
    const bool known = axis.kernel == 3 || axis.kernel == 5;
    if (!known || axis.stride != 1 || axis.dilation != 1) return false;
    if (std::max(axis.pad, axis.pad_behind()) >= axis.kernel) return false;
  }
  return g.group == 1 || (g.channels / g.group % lanes == 0 && g.num_output / g.group % lanes == 0);
}

void add_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  if (!can_run(problem.geometry) || !in_blocks(problem.src) || !in_blocks(problem.dst)) return;
  if (direction == Direction::kBackwardWeights) {
    passes.push_back(std::make_unique<WeightsPass>(problem));
  } else {
    passes.push_back(std::make_unique<ImagePass>(direction, problem));
  }
}

}  // namespace robusta::winograd
