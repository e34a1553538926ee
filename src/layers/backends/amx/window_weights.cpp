// Piece by piece of the sums (weight_blocks.h), and within one a chunk of places at a time, whose gradients and inputs
// are packed once and multiplied for all taps while they are in the caches.

#include "layers/backends/amx/window_weights.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "layers/backends/amx/frames.h"
#include "layers/backends/amx/weight_blocks.h"
#include "layers/backends/amx/weights_pass.h"
#include "layers/kit/scratch_plan.h"
#include "ops/amx/plain_factors.h"

namespace robusta::amx {
namespace {

using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;

constexpr int64_t kBlock = kPanelLines * kPanelLines;  // sums

Frames frames_of_group(const ConvolutionGeometry& g, int64_t workers) {
  const SeenAxis y = seen_by_results(g.axes[0]), x = seen_by_results(g.axes[1]);
  const int64_t of_row = x.results + x.gap();
  return {g.batch, g.channels / g.group, g.channels, y, x, kChunk + y.reach() * of_row, workers};
}

/// As many inputs as leave the sums of all taps in a second-level cache; fewer taps where not even one panel does. What
/// is shared out are chunks.
WeightBlocks blocks_of_group(const ConvolutionGeometry& g, int64_t chunks, int64_t threads) {
  const int64_t outputs = g.num_output / g.group, window = taps(g.axes);
  const int64_t out = std::min(panels_of(outputs), kMostPanelsOut);
  return {outputs,
          g.channels / g.group,
          window,
          chunks,
          (threads + g.group - 1) / g.group,
          1,
          std::max<int64_t>(kMostSums / (out * window), 1)};
}

class WindowWeightsPass : public onednn::ConvolutionPass {
 public:
  explicit WindowWeightsPass(const ConvolutionProblem& problem)
      : geometry_(problem.geometry),
        workers_(omp_get_max_threads()),
        frames_(frames_of_group(geometry_, workers_)),
        blocks_(blocks_of_group(geometry_, frames_.chunks(), workers_)),
        steps_(steps_of(frames_.most_places())),
        pairs_((steps_ * kStepTerms + farthest()) / 2 + 1),
        zeros_(static_cast<size_t>(std::max(inputs(), outputs()) + kPanelLines)) {
    gradients_at_ = plan_.add_for_each(workers_, bytes_of(blocks_.most_panels_out() * steps_ * kStepPairs, kBytes));
    inputs_at_ =
        plan_.add_for_each(workers_, bytes_of(blocks_.most_panels_in() * kAlignments * next_alignment(), kBytes));
    places_at_ = plan_.add_for_each(workers_, bytes_of(2 * pairs_ + kAlignments, sizeof(const uint16_t*)));
    results_at_ = plan_.add_for_each(workers_, bytes_of(steps_ * kStepTerms, sizeof(int64_t)));
    sums_at_ = plan_.add(static_cast<size_t>(geometry_.group * blocks_.sum_blocks() * kBlock) * sizeof(float));
    if (problem.bias) {
      bias_at_ = plan_.add(static_cast<size_t>(blocks_.shares * geometry_.num_output) * sizeof(double));
    }
  }

  std::string name() const override { return "amx:window"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  void run(const ConvolutionData& data, void* scratch) override {
    parallel_for(workers_, 1, [&](int64_t worker) {
      const TilesInUse tiles;
      const Range own = part_of(geometry_.group * blocks_.pieces(), workers_, worker);
      for (int64_t i = own.begin; i < own.end; ++i) {
        add_piece(data, i / blocks_.pieces(), blocks_.piece(i % blocks_.pieces()), worker, scratch);
      }
    });
    if (data.weights) hand_over_weights(data.add_weights, scratch, written(data.weights));
    if (data.bias) hand_over_bias(data.add_bias, scratch, written(data.bias));
  }

 private:
  using Piece = WeightBlocks::Piece;
  static constexpr int64_t kAlignments = 2;
  static constexpr size_t kBytes = sizeof(uint32_t);  // of a pair

  static size_t bytes_of(int64_t count, size_t each) { return static_cast<size_t>(count) * each; }

  /// Of a group.
  int64_t outputs() const { return geometry_.num_output / geometry_.group; }
  int64_t inputs() const { return geometry_.channels / geometry_.group; }
  static float* written(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  float* sum_block(void* scratch, int64_t group, int64_t share, int64_t tap, int64_t out, int64_t in) const {
    const int64_t block = group * blocks_.sum_blocks() + blocks_.sum_block(share, tap, out, in);
    return static_cast<float*>(at_offset(scratch, sums_at_)) + block * kBlock;
  }
  double* bias_of(void* scratch, int64_t share) const {
    return static_cast<double*>(at_offset(scratch, bias_at_)) + share * geometry_.num_output;
  }

  /// Places from a result to what its tap sees.
  int64_t places_to(int64_t tap) const { return frames_.taps()[static_cast<size_t>(tap)] / frames_.pitch(); }
  int64_t farthest() const { return places_to(taps(geometry_.axes) - 1); }
  /// Inputs of a panel lie [alignment][tile][pair][line].
  int64_t next_tile() const { return pairs_ * kTile; }
  int64_t next_alignment() const { return 2 * next_tile(); }

  void add_piece(const ConvolutionData& data, int64_t group, const Piece& piece, int64_t worker, void* scratch) const {
    auto* gradients = gradients_at_.of<uint32_t>(worker, scratch);
    auto* inputs = inputs_at_.of<uint32_t>(worker, scratch);
    for (int64_t i = piece.terms.begin; i < piece.terms.end; ++i) {
      const Chunk chunk = frames_.chunk(i);
      const int64_t steps = steps_of(frames_.places(chunk));
      const bool first = i == piece.terms.begin;
      pack_gradients(data, group, piece, chunk, first, worker, scratch, gradients);
      pack_inputs(data, group, piece, chunk, worker, scratch, inputs);
      for (int64_t in = piece.panels_in.begin; in < piece.panels_in.end; ++in) {
        const uint32_t* panel = inputs + (in - piece.panels_in.begin) * kAlignments * next_alignment();
        for (int64_t tap = piece.products.begin; tap < piece.products.end; ++tap) {
          const int64_t place = places_to(tap);
          for (int64_t out = piece.panels_out.begin; out < piece.panels_out.end; ++out) {
            multiply_panels({.steps = steps,
                             .rows = gradients + (out - piece.panels_out.begin) * steps * kStepPairs,
                             .columns = panel + place % 2 * next_alignment() + place / 2 * kTile,
                             .sums = sum_block(scratch, group, piece.share, tap, out, in),
                             .next_row = kPanelLines,
                             .add = !first,
                             .next_step = kTile * kTile,
                             .next_tile = next_tile()},
                            tiles_of(outputs(), out), tiles_of(this->inputs(), in));
          }
        }
      }
    }
  }

  /// And adds up those of the bias.
  void pack_gradients(const ConvolutionData& data, int64_t group, const Piece& piece, const Chunk& chunk, bool first,
                      int64_t worker, void* scratch, uint32_t* to) const {
    const int64_t count = frames_.places(chunk), begin = piece.panels_out.begin * kPanelLines;
    const int64_t lines = std::min(piece.panels_out.end * kPanelLines, outputs()) - begin;
    const int64_t output = group * outputs() + begin;
    auto* results = results_at_.of<int64_t>(worker, scratch);
    auto** places = places_at_.of<const uint16_t*>(worker, scratch);
    frames_.find_results(chunk, results);
    const uint16_t* dy = static_cast<const uint16_t*>(data.dst) + output;
    for (int64_t i = 0; i < count; ++i) {
      places[i] = results[i] < 0 ? zeros_.data() : dy + results[i] * geometry_.num_output;
    }
    pack_terms(places, count, lines, Side::kRows, to);
    if (!data.bias || piece.products.begin > 0 || piece.panels_in.begin > 0) return;
    std::array<float, kMostPanelsOut* kPanelLines> sums = {};
    add_terms(places, count, lines, sums.data());
    double* bias = bias_of(scratch, piece.share) + output;
    if (first) std::fill_n(bias, lines, 0.0);
    for (int64_t o = 0; o < lines; ++o) bias[o] += static_cast<double>(sums[static_cast<size_t>(o)]);
  }

  void pack_inputs(const ConvolutionData& data, int64_t group, const Piece& piece, const Chunk& chunk, int64_t worker,
                   void* scratch, uint32_t* to) const {
    auto** places = places_at_.of<const uint16_t*>(worker, scratch);
    const uint16_t* x = static_cast<const uint16_t*>(data.src) + group * inputs();
    frames_.find_pixels(x, chunk, zeros_.data(), 2 * pairs_ + 1, places);
    const auto move_on = [&](int64_t lines) {
      for (int64_t i = 0; i < 2 * pairs_ + 1; ++i) places[i] += lines;
    };
    move_on(piece.panels_in.begin * kPanelLines);
    for (int64_t in = piece.panels_in.begin; in < piece.panels_in.end; ++in) {
      for (int64_t tile = 0; tile < tiles_of(inputs(), in); ++tile) {
        const int64_t lines = std::min(inputs() - in * kPanelLines - tile * kTile, kTile);
        for (int64_t odd = 0; odd < kAlignments; ++odd) {
          pack_pairs(places + odd, pairs_, lines, to + odd * next_alignment() + tile * next_tile());
        }
        move_on(kTile);
      }
      to += kAlignments * next_alignment();
    }
  }

  /// To Caffe's order, [output][input][tap].
  void hand_over_weights(bool add, void* scratch, float* weights) const {
    const int64_t filter = geometry_.weight_shape().count(1);
    parallel_for(geometry_.num_output, 4, [=, this](int64_t output) {
      for (int64_t panel = 0; panel < blocks_.panels_in; ++panel) {
        hand_over_panel(output, panel, add, scratch,
                        weights + output * filter + panel * kPanelLines * blocks_.products);
      }
    });
  }

  void hand_over_panel(int64_t output, int64_t panel, bool add, void* scratch, float* to) const {
    const int64_t group = output / outputs(), of_group = output % outputs(), window = blocks_.products;
    const int64_t lines = lines_of(inputs(), panel).size();
    for (int64_t tap = 0; tap < window; ++tap) {
      float sums[kPanelLines] = {};
      for (int64_t share = 0; share < blocks_.shares; ++share) {
        const float* row =
            sum_block(scratch, group, share, tap, of_group / kPanelLines, panel) + of_group % kPanelLines * kPanelLines;
#pragma omp simd
        for (int64_t i = 0; i < kPanelLines; ++i) sums[i] += row[i];
      }
      for (int64_t i = 0; i < lines; ++i) to[i * window + tap] = sums[i] + (add ? to[i * window + tap] : 0.0f);
    }
  }

  void hand_over_bias(bool add, void* scratch, float* bias) const {
    for (int64_t output = 0; output < geometry_.num_output; ++output) {
      double sum = add ? bias[output] : 0.0f;
      for (int64_t share = 0; share < blocks_.shares; ++share) sum += bias_of(scratch, share)[output];
      bias[output] = static_cast<float>(sum);
    }
  }

  ConvolutionGeometry geometry_;
  int64_t workers_;
  Frames frames_;
  WeightBlocks blocks_;
  int64_t steps_, pairs_;  // of a chunk, with what its last tap sees
  std::vector<uint16_t> zeros_;
  ScratchPlan plan_;
  WorkerScratch gradients_at_, inputs_at_, places_at_, results_at_;
  size_t sums_at_ = 0, bias_at_ = 0;
};

}  // namespace

void add_window_weights_passes(Direction direction, const ConvolutionProblem& problem,
                               onednn::ConvolutionPasses& passes) {
  const ConvolutionGeometry& g = problem.geometry;
  if (direction != Direction::kBackwardWeights || !fits(problem) || taps(g.axes) == 1) return;
  if (std::min(g.channels, g.num_output) / g.group < kTile) return;
  for (const WindowAxis& axis : g.axes) {
    if (!seen_by_results(axis).fits() || axis.stride != 1) return;
  }
  passes.push_back(std::make_unique<WindowWeightsPass>(problem));
}

}  // namespace robusta::amx
