#include "layers/winograd/winograd_pass.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "layers/winograd/tile_products.h"
#include "layers/winograd/tiles.h"
#include "layers/winograd/weights.h"

namespace robusta::winograd {
namespace {

using onednn::at_offset;
using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;
using onednn::ScratchPlan;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

float* floats_in(void* scratch, size_t at) { return static_cast<float*>(at_offset(scratch, at)); }

/// Some tiles that are worked on at a time, and the buffers that they use: those of one worker, or of all.
struct Piece {
  int64_t slot, begin, count;
};

/// What all directions share: one group's view of tensors and weights, and how the tiles go to the threads.
///
/// With few channels each worker takes pieces of its own through all stages, in its own cache. With many, transformed
/// weights are far larger than that; then all workers take each piece together, split by tiles to transform and by
/// points to multiply, so that weights are read once per piece.
class TiledProblem {
 public:
  TiledProblem(const ConvolutionProblem& problem, Direction direction)
      : geometry_(problem.geometry), direction_(direction), workers_(omp_get_max_threads()) {
    const WindowAxis &y = geometry_.axes[0], &x = geometry_.axes[1];
    const int64_t taps = y.kernel, step = kPoints + 1 - taps;
    const bool back = direction == Direction::kBackwardData;
    const int64_t height = back ? y.in : y.out, width = back ? x.in : x.out;
    tiling_ = {(height + step - 1) / step, (width + step - 1) / step, step, back ? taps - 1 - y.pad : y.pad,
               back ? taps - 1 - x.pad : x.pad};
    src_ = planes(y.in, x.in, geometry_.channels);
    dst_ = planes(y.out, x.out, geometry_.num_output);
    tiles_ = geometry_.batch * tiling_.per_sample();
    plan_pieces();
  }

  const Tiling& tiling() const { return tiling_; }
  Planes src(int64_t group) const { return of_group(src_, group); }
  Planes dst(int64_t group) const { return of_group(dst_, group); }
  int64_t groups() const { return geometry_.group; }
  int64_t workers() const { return workers_; }
  /// How many pieces are worked on at the same time.
  int64_t slots() const { return together_ ? 1 : workers_; }

  WeightView view() const {
    const int taps = static_cast<int>(geometry_.axes[0].kernel);
    const int64_t outputs = geometry_.num_output / geometry_.group, inputs = geometry_.channels / geometry_.group;
    const int64_t square = taps * taps;
    if (direction_ == Direction::kBackwardData) return {inputs, outputs, square, inputs * square, taps, true};
    return {outputs, inputs, inputs * square, square, taps, false};
  }
  /// Floats of one group's plain weights.
  int64_t weight_count() const { return geometry_.weight_shape().count() / geometry_.group; }

  /// Floats from tile to tile and from point to point of a piece: a cache line more than needed where neighbours would
  /// meet in the same sets of the cache.
  int64_t row(int64_t channels) const { return channels % 128 == 0 ? channels + kLanes : channels; }
  int64_t stride(int64_t channels) const { return piece_ * row(channels) + kLanes; }
  /// Floats of a piece.
  int64_t buffer(int64_t channels) const { return kProducts * stride(channels); }

  /// Takes all tiles through three stages: enter(worker, piece, first, count) and leave(the same) for tiles first to
  /// first + count of the piece, multiply(piece, point) for each point in between.
  template <typename Enter, typename Multiply, typename Leave>
  void run(const Enter& enter, const Multiply& multiply, const Leave& leave) const {
    if (together_) {
      for (int64_t at = 0; at < tiles_; at += piece_) {
        const Piece piece{0, at, std::min(piece_, tiles_ - at)};
        for_shares(piece, enter);
        parallel_for(kProducts, 1, [&](int64_t point) { multiply(piece, point); });
        for_shares(piece, leave);
      }
      return;
    }
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t end = tiles_ * (worker + 1) / workers_;
      for (int64_t at = tiles_ * worker / workers_; at < end; at += piece_) {
        const Piece piece{worker, at, std::min(piece_, end - at)};
        enter(worker, piece, 0, piece.count);
        for (int64_t point = 0; point < kProducts; ++point) multiply(piece, point);
        leave(worker, piece, 0, piece.count);
      }
    });
  }

 private:
  void plan_pieces() {
    constexpr int64_t kSecondLevel = 600 << 10, kThirdLevel = 8 << 20;  // bytes of these caches to fill
    const int64_t weight_bytes = view().transformed() * 4;
    const int64_t tile_bytes = kProducts * 4 * (src_.channels() + dst_.channels());
    together_ = weight_bytes > 6 << 20;
    // Long enough that the weights, or sums of their size that backward reads and writes, count little beside.
    const bool sums = direction_ == Direction::kBackwardWeights;
    const int64_t apart = std::max(kSecondLevel, weight_bytes / 2);
    const int64_t wanted = !together_ ? apart : sums ? 2 * weight_bytes : kThirdLevel;
    const int64_t all = together_ ? tiles_ : (tiles_ + workers_ - 1) / workers_;
    piece_ = round_up(std::clamp<int64_t>(wanted / tile_bytes, 1, all), kTileRows);
  }

  template <typename Stage>
  void for_shares(const Piece& piece, const Stage& stage) const {
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t first = piece.count * worker / workers_, end = piece.count * (worker + 1) / workers_;
      if (first < end) stage(worker, piece, first, end - first);
    });
  }

  Planes planes(int64_t height, int64_t width, int64_t channels) const {
    const int64_t blocks = (channels + kLanes - 1) / kLanes;
    return {height, width, blocks, 0, blocks / geometry_.group};
  }
  static Planes of_group(Planes planes, int64_t group) {
    planes.first = group * planes.count;
    return planes;
  }

  ConvolutionGeometry geometry_;
  Direction direction_;
  int64_t workers_, tiles_, piece_;
  bool together_;
  Tiling tiling_;
  Planes src_, dst_;
};

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
        slope_(back_ || problem.relu ? problem.slope : 1.0f) {
    weights_at_ = plan_.add(bytes_of(tiled_.view().transformed()));
    bias_at_ = plan_.add(bytes_of(round_up(outputs_, kLanes)));
    windows_at_ = plan_.add(bytes_of(tiled_.slots() * window_floats()));
    products_at_ = plan_.add(bytes_of(tiled_.slots() * product_floats()));
  }
  std::string name() const override { return name_of(tiled_); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  bool gates() const override { return true; }

  void run(const ConvolutionData& data, void* scratch) override {
    const float* bias = has_bias_ ? padded_bias(data.bias, scratch) : nullptr;
    for (int64_t group = 0; group < tiled_.groups(); ++group) {
      transform_weights(tiled_.view(), static_cast<const float*>(data.weights) + group * tiled_.weight_count(),
                        floats_in(scratch, weights_at_));
      run_group(data, group, bias, scratch);
    }
  }

 private:
  Planes from(int64_t group) const { return back_ ? tiled_.dst(group) : tiled_.src(group); }
  Planes to(int64_t group) const { return back_ ? tiled_.src(group) : tiled_.dst(group); }
  int64_t window_floats() const { return tiled_.buffer(from(0).channels()); }
  int64_t product_floats() const { return tiled_.buffer(to(0).channels()); }

  const float* padded_bias(const void* bias, void* scratch) const {
    float* padded = floats_in(scratch, bias_at_);
    std::fill_n(padded, round_up(outputs_, kLanes), 0.0f);
    std::memcpy(padded, bias, bytes_of(outputs_));
    return padded;
  }

  void run_group(const ConvolutionData& data, int64_t group, const float* bias, void* scratch) const {
    const Planes from = this->from(group), to = this->to(group);
    const Source image{static_cast<const float*>(back_ ? data.dst : data.src),
                       back_ ? static_cast<const float*>(data.gate) : nullptr, slope_};
    float* result = static_cast<float*>(const_cast<void*>(back_ ? data.src : data.dst));
    const float* weights = floats_in(scratch, weights_at_);
    const Finish finish{bias ? bias + to.first * kLanes : nullptr, back_ ? 1.0f : slope_};
    const int64_t inputs = from.channels(), outputs = to.channels();
    float *windows = floats_in(scratch, windows_at_), *products = floats_in(scratch, products_at_);
    tiled_.run(
        [&](int64_t, const Piece& piece, int64_t first, int64_t count) {
          spread_windows(tiled_.tiling(), from, {piece.begin + first, count, tiled_.row(inputs), tiled_.stride(inputs)},
                         image, windows + piece.slot * window_floats() + first * tiled_.row(inputs));
        },
        [&](const Piece& piece, int64_t point) {
          multiply_tiles({round_up(piece.count, kTileRows), inputs, outputs, tiled_.row(inputs), tiled_.row(outputs)},
                         windows + piece.slot * window_floats() + point * tiled_.stride(inputs),
                         weights + point * tiled_.view().stride(),
                         products + piece.slot * product_floats() + point * tiled_.stride(outputs));
        },
        [&](int64_t, const Piece& piece, int64_t first, int64_t count) {
          combine_tiles(tiled_.tiling(), to, {piece.begin + first, count, tiled_.row(outputs), tiled_.stride(outputs)},
                        finish, products + piece.slot * product_floats() + first * tiled_.row(outputs), result);
        });
  }

  TiledProblem tiled_;
  bool back_;
  int64_t outputs_;
  bool has_bias_;
  float slope_;
  ScratchPlan plan_;
  size_t weights_at_, bias_at_, windows_at_, products_at_;
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
      combine_weights(tiled_.view(), floats_in(scratch, sums_at_), tiled_.slots(), data.add_weights,
                      written(data.weights) + group * tiled_.weight_count());
    }
    if (data.bias) hand_over_bias(bias, data.add_bias, written(data.bias));
  }

 private:
  static float* written(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  int64_t bias_sums() const { return round_up(outputs_, kLanes); }
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
          spread_windows(tiled_.tiling(), src, {piece.begin + first, count, tiled_.row(inputs), tiled_.stride(inputs)},
                         image, windows + piece.slot * window_floats() + first * tiled_.row(inputs));
          evaluate_tiles(tiled_.tiling(), dst,
                         {piece.begin + first, count, tiled_.row(outputs), tiled_.stride(outputs)}, gradient,
                         gradients + piece.slot * gradient_floats() + first * tiled_.row(outputs),
                         bias + worker * bias_sums() + dst.first * kLanes);
        },
        [&](const Piece& piece, int64_t point) {
          add_products({piece.count, inputs, outputs, tiled_.row(inputs), tiled_.row(outputs)},
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

bool in_blocks(const onednn::Desc& desc) { return onednn::channel_block(onednn::layout_of(desc)) == kLanes; }

}  // namespace

bool has_wide_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

bool can_run(const ConvolutionGeometry& g) {
  if (!has_wide_vectors() || g.axes.size() != 2 || g.axes[0].kernel != g.axes[1].kernel) return false;
  for (const WindowAxis& axis : g.axes) {
    const bool known = axis.kernel == 3 || axis.kernel == 5;
    if (!known || axis.stride != 1 || axis.dilation != 1 || axis.pad >= axis.kernel) return false;
  }
  return g.group == 1 || (g.channels / g.group % kLanes == 0 && g.num_output / g.group % kLanes == 0);
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
