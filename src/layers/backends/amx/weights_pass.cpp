// Piece by piece (weight_blocks.h), and within one a chunk of pixels at a time: its gradients are packed once, its
// inputs for each product (window_rows.h), and each panel of the ones is multiplied with each of the others while both
// are in the caches.

#include "layers/backends/amx/weights_pass.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "layers/backends/amx/weight_blocks.h"
#include "layers/backends/amx/window_rows.h"
#include "layers/backends/onednn/generation.h"
#include "layers/backends/onednn/primitive.h"
#include "ops/amx/panels.h"

namespace robusta::amx {
namespace {

using onednn::at_offset;
using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;
using onednn::ScratchPlan;

constexpr int64_t kSums = kPanelLines * kPanelLines;

class WeightsPass : public onednn::ConvolutionPass {
 public:
  explicit WeightsPass(const ConvolutionProblem& problem)
      : geometry_(problem.geometry),
        window_(geometry_),
        blocks_(geometry_.num_output, window_.lines(), window_.products(),
                geometry_.batch * elements_out(geometry_.axes), omp_get_max_threads(), kChunk, kMostPanelsIn),
        workers_(omp_get_max_threads()),
        padded_at_(plan_.add(window_.padded_bytes())) {
    const auto of_each_worker = [&](int64_t panels) {
      return plan_.add(static_cast<size_t>(workers_ * panels * pairs_of(kPanelLines, kChunk)) * sizeof(uint32_t));
    };
    gradients_at_ = of_each_worker(blocks_.most_panels_out());
    inputs_at_ = of_each_worker(blocks_.most_panels_in());
    sums_at_ = plan_.add(static_cast<size_t>(blocks_.sum_blocks() * kSums) * sizeof(float));
    if (problem.bias) bias_at_ = plan_.add(static_cast<size_t>(blocks_.shares * bias_sums()) * sizeof(double));
  }

  std::string name() const override { return "amx:native"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  void run(const ConvolutionData& data, void* scratch) override {
    const auto* images = window_.pad(static_cast<const uint16_t*>(data.src), at_offset(scratch, padded_at_));
    parallel_for(workers_, 1, [&](int64_t worker) {
      const TilesInUse tiles;
      const Range own = part_of(blocks_.pieces(), workers_, worker);
      for (int64_t i = own.begin; i < own.end; ++i) add_piece(data, images, blocks_.piece(i), worker, scratch);
    });
    if (data.weights) hand_over_weights(data.add_weights, scratch, written(data.weights));
    if (data.bias) hand_over_bias(data.add_bias, scratch, written(data.bias));
  }

 private:
  using Piece = WeightBlocks::Piece;
  /// Where the channels of the pixels of a chunk begin.
  using Places = std::array<const uint16_t*, kChunk>;

  int64_t outputs() const { return geometry_.num_output; }
  static float* written(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }
  float* sums_in(void* scratch) const { return static_cast<float*>(at_offset(scratch, sums_at_)); }
  double* bias_in(void* scratch) const { return static_cast<double*>(at_offset(scratch, bias_at_)); }
  int64_t bias_sums() const { return blocks_.panels_out * kPanelLines; }

  static uint32_t* panels_in(void* scratch, size_t at, int64_t worker, int64_t panels) {
    return static_cast<uint32_t*>(at_offset(scratch, at)) + worker * panels * pairs_of(kPanelLines, kChunk);
  }

  void add_piece(const ConvolutionData& data, const uint16_t* images, const Piece& piece, int64_t worker,
                 void* scratch) const {
    uint32_t* gradients = panels_in(scratch, gradients_at_, worker, blocks_.most_panels_out());
    uint32_t* inputs = panels_in(scratch, inputs_at_, worker, blocks_.most_panels_in());
    const int64_t chunks = (piece.terms.size() + kChunk - 1) / kChunk;
    // All of about one size, but in whole steps.
    const int64_t length = steps_of((piece.terms.size() + chunks - 1) / std::max<int64_t>(chunks, 1)) * kStepTerms;
    for (Range pixels = {piece.terms.begin, 0}; pixels.begin < piece.terms.end; pixels.begin = pixels.end) {
      pixels.end = std::min(pixels.begin + length, piece.terms.end);
      pack_gradients(data, piece, pixels, gradients, scratch);
      for (int64_t product = piece.products.begin; product < piece.products.end; ++product) {
        pack_inputs(images, piece, pixels, product, inputs);
        multiply(piece, steps_of(pixels.size()), product, gradients, inputs, pixels.begin > piece.terms.begin,
                 sums_in(scratch));
      }
    }
  }

  /// How many of `lines` lie in these panels.
  static int64_t lines_in(const Range& panels, int64_t lines) {
    return std::min(panels.end * kPanelLines, lines) - panels.begin * kPanelLines;
  }

  void pack_gradients(const ConvolutionData& data, const Piece& piece, const Range& pixels, uint32_t* to,
                      void* scratch) const {
    const int64_t first = piece.panels_out.begin * kPanelLines, outputs = lines_in(piece.panels_out, this->outputs());
    const uint16_t* gradients = static_cast<const uint16_t*>(data.dst) + first;
    Places places;
    for (int64_t p = pixels.begin; p < pixels.end; ++p) {
      places[static_cast<size_t>(p - pixels.begin)] = gradients + p * this->outputs();
    }
    pack_terms(places.data(), pixels.size(), outputs, Side::kRows, to);
    if (!data.bias || piece.products.begin > 0 || piece.panels_in.begin > 0) return;
    std::array<float, kMostPanelsOut* kPanelLines> sums = {};
    add_terms(places.data(), pixels.size(), outputs, sums.data());
    double* bias = bias_in(scratch) + piece.share * bias_sums() + first;
    if (pixels.begin == piece.terms.begin) std::fill_n(bias, outputs, 0.0);
    for (int64_t o = 0; o < outputs; ++o) bias[o] += static_cast<double>(sums[static_cast<size_t>(o)]);
  }

  void pack_inputs(const uint16_t* images, const Piece& piece, const Range& pixels, int64_t product,
                   uint32_t* to) const {
    Places places;
    window_.find(images, product, pixels, places.data());
    const int64_t first = piece.panels_in.begin * kPanelLines;
    for (int64_t p = 0; p < pixels.size(); ++p) places[static_cast<size_t>(p)] += first;
    pack_terms(places.data(), pixels.size(), lines_in(piece.panels_in, window_.lines()), Side::kColumns, to);
  }

  void multiply(const Piece& piece, int64_t steps, int64_t product, const uint32_t* gradients, const uint32_t* inputs,
                bool add, float* sums) const {
    for (int64_t out = piece.panels_out.begin; out < piece.panels_out.end; ++out) {
      for (int64_t in = piece.panels_in.begin; in < piece.panels_in.end; ++in) {
        multiply_panels({.steps = steps,
                         .rows = gradients + (out - piece.panels_out.begin) * steps * kStepPairs,
                         .columns = inputs + (in - piece.panels_in.begin) * steps * kStepPairs,
                         .sums = sums + blocks_.sum_block(piece.share, product, out, in) * kSums,
                         .next_row = kPanelLines,
                         .add = add},
                        tiles_of(outputs(), out), tiles_of(window_.lines(), in));
      }
    }
  }

  /// To Caffe's order, [output][input][tap].
  void hand_over_weights(bool add, void* scratch, float* weights) const {
    const float* sums = sums_in(scratch);
    const int64_t filter = geometry_.weight_shape().count(1);
    parallel_for(outputs(), 4, [=, this](int64_t output) {
      float* to = weights + output * filter;
      if (!add) std::fill_n(to, filter, 0.0f);
      for (int64_t product = 0; product < blocks_.products; ++product) {
        for (int64_t panel = 0; panel < blocks_.panels_in; ++panel) {
          for (int64_t share = 0; share < blocks_.shares; ++share) {
            const float* block = sums + blocks_.sum_block(share, product, output / kPanelLines, panel) * kSums;
            add_lines(block + output % kPanelLines * kPanelLines, panel, to + window_.at_product(product));
          }
        }
      }
    });
  }

  /// The sums of a panel's lines.
  void add_lines(const float* sums, int64_t panel, float* to) const {
    const int64_t first = panel * kPanelLines, count = std::min(kPanelLines, window_.lines() - first);
    if (window_.is_in_order()) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) to[first + i] += sums[i];
    } else {
      for (int64_t i = 0; i < count; ++i) to[window_.at(first + i)] += sums[i];
    }
  }

  void hand_over_bias(bool add, void* scratch, float* bias) const {
    const double* sums = bias_in(scratch);
    for (int64_t output = 0; output < outputs(); ++output) {
      double sum = add ? bias[output] : 0.0f;
      for (int64_t share = 0; share < blocks_.shares; ++share) sum += sums[share * bias_sums() + output];
      bias[output] = static_cast<float>(sum);
    }
  }

  ConvolutionGeometry geometry_;
  WindowRows window_;
  WeightBlocks blocks_;
  int64_t workers_;
  ScratchPlan plan_;
  size_t padded_at_;
  size_t gradients_at_ = 0, inputs_at_ = 0, sums_at_ = 0, bias_at_ = 0;
};

}  // namespace

bool fits(const ConvolutionProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  if (problem.type != DType::kBF16 || g.axes.size() != 2 || !is_there()) return false;
  const auto has_channels_last = [](const onednn::Desc& desc) {
    return desc == onednn::channels_last_desc(onednn::dims_of(desc), DType::kBF16);
  };
  return has_channels_last(problem.src) && has_channels_last(problem.dst);
}

void add_weights_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  if (direction == Direction::kBackwardWeights && problem.geometry.group == 1 && fits(problem)) {
    passes.push_back(std::make_unique<WeightsPass>(problem));
  }
}

}  // namespace robusta::amx
