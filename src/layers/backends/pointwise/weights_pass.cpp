// Filters are cut into tiles, a block of inputs by a panel of outputs, which threads share. Some pixels are taken at a
// time, so that a panel's gradients stay in the first-level cache while all inputs are multiplied with them. Each sum
// runs over the pixels in order, however many threads there are.

#include "layers/backends/pointwise/weights_pass.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/pointwise/pixel_products.h"
#include "layers/backends/pointwise/pointwise_geometry.h"
#include "layers/kit/scratch_plan.h"

namespace robusta::pointwise {
namespace {

using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;

constexpr int64_t kPixelsAtOnce = 192;  // of a panel: 36 KiB where a vector has 16 lanes

struct Range {
  int64_t begin, end;
};

class WeightsPass : public onednn::ConvolutionPass {
 public:
  WeightsPass(const ConvolutionProblem& problem, int lanes)
      : geometry_(problem.geometry),
        lanes_(lanes),
        blocks_in_((geometry_.channels + lanes - 1) / lanes),
        blocks_out_((geometry_.num_output + lanes - 1) / lanes),
        panels_((blocks_out_ + kMostVectors - 1) / kMostVectors),
        pixels_(elements_out(geometry_.axes)),
        gathers_(pixels_ != elements_in(geometry_.axes)) {
    const auto bytes_of = [](int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); };
    sums_at_ = plan_.add(bytes_of(sums_place(panels_, 0)));
    bias_at_ = plan_.add(static_cast<size_t>(blocks_out_ * lanes_) * sizeof(double));
    gathered_at_ = plan_.add(bytes_of(gathers_ ? geometry_.batch * blocks_in_ * pixels_ * lanes_ : 0));
  }

  std::string name() const override { return "pointwise:native"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  void run(const ConvolutionData& data, void* scratch) override {
    const float* inputs = static_cast<const float*>(data.src);
    if (gathers_) {
      float* gathered = static_cast<float*>(at_offset(scratch, gathered_at_));
      gather(inputs, gathered);
      inputs = gathered;
    }
    const auto* gradients = static_cast<const float*>(data.dst);
    if (data.weights) {
      float* sums = static_cast<float*>(at_offset(scratch, sums_at_));
      parallel_ranges(tiles(), 1, [=, this](int64_t begin, int64_t end) {
        sum_tiles(inputs, gradients, {begin, end}, sums);
      });
      parallel_for(tiles(), 4, [=, this](int64_t tile) { hand_over(data, sums, tile); });
    }
    if (data.bias) {
      double* sums = static_cast<double*>(at_offset(scratch, bias_at_));
      parallel_for(panels_, 1, [=, this](int64_t panel) { sum_bias(data, panel, sums); });
    }
  }

 private:
  int64_t tiles() const { return panels_ * blocks_in_; }
  /// Blocks of outputs are spread evenly over the panels.
  int64_t first_block(int64_t panel) const { return blocks_out_ * panel / panels_; }
  int vectors_of(int64_t panel) const { return static_cast<int>(first_block(panel + 1) - first_block(panel)); }
  /// Where the sums of a panel's tile begin: [block of inputs][input][vector][lane].
  int64_t sums_place(int64_t panel, int64_t block) const {
    const int64_t vectors = panel < panels_ ? vectors_of(panel) : 0;
    return (first_block(panel) * blocks_in_ + block * vectors) * lanes_ * lanes_;
  }
  int64_t next_block() const { return pixels_ * lanes_; }

  /// to[image][block][pixel][lane] = what the pixels of the result see.
  void gather(const float* from, float* to) const {
    parallel_for(geometry_.batch * blocks_in_, 4, [=, this](int64_t i) {
      const WindowAxis &y = geometry_.axes[0], &x = geometry_.axes[1];
      const float* plane = from + i * y.in * x.in * lanes_;
      float* next = to + i * pixels_ * lanes_;
      for (int64_t row = 0; row < y.out; ++row) {
        for (int64_t column = 0; column < x.out; ++column, next += lanes_) {
          std::copy_n(plane + (row * y.stride * x.in + column * x.stride) * lanes_, lanes_, next);
        }
      }
    });
  }

  /// Those of these tiles, which may begin and end within a panel.
  void sum_tiles(const float* inputs, const float* gradients, const Range& tiles, float* sums) const {
    const int64_t first = tiles.begin / blocks_in_, last = (tiles.end - 1) / blocks_in_;
    std::fill(sums + sums_place(first, tiles.begin - first * blocks_in_),
              sums + sums_place(last, tiles.end - last * blocks_in_), 0.0f);
    std::array<PixelRun, kPixelsAtOnce> memory;
    for (int64_t pixel = 0; pixel < geometry_.batch * pixels_; pixel += kPixelsAtOnce) {
      for (int64_t panel = first; panel <= last; ++panel) {
        const Range pixels{pixel, std::min(pixel + kPixelsAtOnce, geometry_.batch * pixels_)};
        const std::span<const PixelRun> runs = runs_of(pixels, inputs, gradients, panel, memory);
        const int64_t end = std::min(tiles.end, (panel + 1) * blocks_in_);
        for (int64_t tile = std::max(tiles.begin, panel * blocks_in_); tile < end; ++tile) {
          const int64_t block = tile - panel * blocks_in_;
          add_pixel_products(runs, block * next_block(), next_block(), lanes_, vectors_of(panel),
                             sums + sums_place(panel, block));
        }
      }
    }
  }

  /// These pixels of the batch, at most kPixelsAtOnce, with a panel's gradients: a run for each image.
  std::span<const PixelRun> runs_of(Range pixels, const float* inputs, const float* gradients, int64_t panel,
                                    std::span<PixelRun> runs) const {
    size_t used = 0;
    while (pixels.begin < pixels.end) {
      const int64_t image = pixels.begin / pixels_, first = pixels.begin % pixels_;
      const int64_t count = std::min(pixels.end - pixels.begin, pixels_ - first);
      runs[used++] = {inputs + (image * blocks_in_ * pixels_ + first) * lanes_,
                      gradients + ((image * blocks_out_ + first_block(panel)) * pixels_ + first) * lanes_, count};
      pixels.begin += count;
    }
    return runs.first(used);
  }

  void hand_over(const ConvolutionData& data, const float* sums, int64_t tile) const {
    const int64_t panel = tile / blocks_in_, block = tile % blocks_in_, width = vectors_of(panel) * lanes_;
    const int64_t output = first_block(panel) * lanes_, input = block * lanes_;
    const int64_t outputs = std::min(width, geometry_.num_output - output);
    const int64_t inputs = std::min<int64_t>(lanes_, geometry_.channels - input);
    float* weights = static_cast<float*>(const_cast<void*>(data.weights)) + output * geometry_.channels + input;
    sums += sums_place(panel, block);
    for (int64_t o = 0; o < outputs; ++o, weights += geometry_.channels) {
      for (int64_t i = 0; i < inputs; ++i) weights[i] = (data.add_weights ? weights[i] : 0.0f) + sums[i * width + o];
    }
  }

  void sum_bias(const ConvolutionData& data, int64_t panel, double* sums) const {
    const int64_t first = first_block(panel) * lanes_;
    const int64_t end = std::min(first_block(panel + 1) * lanes_, geometry_.num_output);
    std::fill_n(sums + first, vectors_of(panel) * lanes_, 0.0);
    for (int64_t image = 0; image < geometry_.batch; ++image) {
      const float* gradients =
          static_cast<const float*>(data.dst) + (image * blocks_out_ + first_block(panel)) * next_block();
      add_gradients(gradients, pixels_, lanes_, vectors_of(panel), sums + first);
    }
    float* bias = static_cast<float*>(const_cast<void*>(data.bias));
    for (int64_t o = first; o < end; ++o) {
      bias[o] = static_cast<float>(sums[o] + (data.add_bias ? static_cast<double>(bias[o]) : 0.0));
    }
  }

  ConvolutionGeometry geometry_;
  int lanes_;
  int64_t blocks_in_, blocks_out_, panels_, pixels_;
  bool gathers_;
  ScratchPlan plan_;
  size_t sums_at_ = 0, bias_at_ = 0, gathered_at_ = 0;
};

/// On a Xeon (AVX-512, 2 threads) this takes 0.71 to 0.8 of oneDNN's time for 1,024 or 2,048 inputs and 7x7 results of
/// 16 images, 0.9 to 1 for 14x14 ones, and as long or longer beyond.
bool has_few_pixels(const ConvolutionGeometry& g) {
  constexpr int64_t kMostPixels = 4096;
  return g.batch * elements_out(g.axes) <= kMostPixels;
}

}  // namespace

void add_weights_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  const int lanes = vector_lanes();
  if (direction != Direction::kBackwardWeights || !is_pointwise_in_blocks(problem, lanes)) return;
  if (has_few_pixels(problem.geometry)) passes.push_back(std::make_unique<WeightsPass>(problem, lanes));
}

}  // namespace robusta::pointwise
