// Threads share the pixels, and each reads all weights. Where the weights are many times the pixels - an image of 7x7 -
// threads share the outputs, so that each weight is read once; then all pixels are gathered first.

#include "layers/backends/pointwise/forward_pass.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/backends/onednn/primitive.h"
#include "layers/backends/pointwise/panel_products.h"
#include "layers/backends/pointwise/pointwise_geometry.h"
#include "layers/kit/weights_stamp.h"

namespace robusta::pointwise {
namespace {

using onednn::at_offset;
using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;
using onednn::ScratchPlan;

/// The pixels of an image in groups of about the same size, each of which registers hold.
struct Groups {
  int64_t pixels, count;

  Groups(int64_t pixels, int64_t most) : pixels(pixels), count((pixels + most - 1) / most) {}
  int64_t begin(int64_t group) const { return pixels * group / count; }
  int64_t size(int64_t group) const { return begin(group + 1) - begin(group); }
};

class ForwardPass : public onednn::ConvolutionPass {
 public:
  ForwardPass(const ConvolutionProblem& problem, int lanes)
      : geometry_(problem.geometry),
        has_bias_(problem.bias),
        adds_(problem.adds),
        slope_(problem.relu ? problem.slope : 1.0f),
        lanes_(lanes),
        blocks_in_((geometry_.channels + lanes - 1) / lanes),
        blocks_out_((geometry_.num_output + lanes - 1) / lanes),
        pixels_(elements_out(geometry_.axes)),
        pixels_in_(elements_in(geometry_.axes)),
        workers_(omp_get_max_threads()),
        by_outputs_(shares_outputs()) {
    const auto floats = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
    const size_t weights = floats(blocks_out_ * lanes_ * inputs());
    if (problem.inference) {
      kept_ = onednn::AlignedMemory(weights);
    } else {
      weights_at_ = plan_.add(weights);
    }
    bias_at_ = plan_.add(floats(blocks_out_ * lanes_));
    gathered_at_ =
        plan_.add(floats(by_outputs_ ? geometry_.batch * pixels_ * inputs() : workers_ * chunk() * inputs()));
  }

  std::string name() const override { return std::string("pointwise:native") + (kept_ ? ",kept" : ""); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  size_t kept_bytes() const override { return kept_.bytes(); }

  void keep_weights(const ConvolutionData& data, void*) override {
    if (kept_ && stamp_.moved(data.weights, data.version))
      pack(static_cast<const float*>(data.weights), kept_.floats());
  }

  void run(const ConvolutionData& data, void* scratch) override {
    float* weights = kept_ ? kept_.floats() : floats_in(scratch, weights_at_);
    if (!kept_) pack(static_cast<const float*>(data.weights), weights);
    keep_weights(data, scratch);
    float* bias = floats_in(scratch, bias_at_);
    std::fill_n(bias, blocks_out_ * lanes_, 0.0f);
    if (has_bias_) std::copy_n(static_cast<const float*>(data.bias), geometry_.num_output, bias);
    const Run run{data, weights, bias, floats_in(scratch, gathered_at_)};
    by_outputs_ ? share_outputs(run) : share_pixels(run);
  }

 private:
  struct Run {
    const ConvolutionData& data;
    const float *weights, *bias;
    float* gathered;
  };

  static float* floats_in(void* scratch, size_t at) { return static_cast<float*>(at_offset(scratch, at)); }
  int64_t inputs() const { return blocks_in_ * lanes_; }
  int64_t panels() const { return (blocks_out_ + kPanelVectors - 1) / kPanelVectors; }

  /// Pixels that are gathered at a time: with a panel of weights they fill the smaller part of a second-level cache.
  int64_t chunk() const {
    constexpr int64_t kFloats = 50 << 10;  // 200 KiB
    const int64_t most = most_pixels(lanes_);
    return std::max(std::min(kFloats / inputs(), pixels_ + most - 1) / most, int64_t{1}) * most;
  }

  bool shares_outputs() const {
    constexpr int64_t kTimes = 8;
    return workers_ > 1 && geometry_.num_output > kTimes * geometry_.batch * pixels_;
  }

  /// [panel][input][vector][lane], zeros for channels that fill up blocks.
  void pack(const float* filters, float* packed) const {
    parallel_for(panels(), 1, [=, this](int64_t panel) {
      const int64_t width = vectors_of(panel) * lanes_, first = panel * kPanelVectors * lanes_;
      float* to = packed + first * inputs();
      std::fill_n(to, width * inputs(), 0.0f);
      for (int64_t o = 0; o < std::min(width, geometry_.num_output - first); ++o) {
        const float* from = filters + (first + o) * geometry_.channels;
        for (int64_t i = 0; i < geometry_.channels; ++i) to[i * width + o] = from[i];
      }
    });
  }

  int64_t vectors_of(int64_t panel) const {
    return std::min<int64_t>(kPanelVectors, blocks_out_ - panel * kPanelVectors);
  }

  Groups groups() const { return {pixels_, most_pixels(lanes_)}; }

  void share_pixels(const Run& run) const {
    const int64_t of_image = groups().count, all = geometry_.batch * of_image, together = chunk() / most_pixels(lanes_);
    parallel_for(workers_, 1, [&](int64_t worker) {
      float* gathered = run.gathered + worker * chunk() * inputs();
      const int64_t last = all * (worker + 1) / workers_;
      for (int64_t g = all * worker / workers_, next = 0; g < last; g = next) {
        const int64_t image = g / of_image;
        next = std::min({g + together, (image + 1) * of_image, last});
        multiply_chunk(run, image, g - image * of_image, next - image * of_image, gathered);
      }
    });
  }

  /// The groups `begin` to `end` of an image.
  void multiply_chunk(const Run& run, int64_t image, int64_t begin, int64_t end, float* gathered) const {
    const Groups groups = this->groups();
    const auto place = [&](int64_t g) { return gathered + (groups.begin(g) - groups.begin(begin)) * inputs(); };
    for (int64_t g = begin; g < end; ++g) gather(run, image, groups.begin(g), groups.size(g), place(g));
    for (int64_t panel = 0; panel < panels(); ++panel) {
      for (int64_t g = begin; g < end; ++g) multiply(run, image, panel, groups.begin(g), groups.size(g), place(g));
    }
  }

  void share_outputs(const Run& run) const {
    const Groups groups = this->groups();
    const int64_t all = geometry_.batch * groups.count;
    const auto of_group = [&](int64_t i, const auto& body) {
      const int64_t image = i / groups.count, g = i % groups.count;
      body(image, groups.begin(g), groups.size(g), run.gathered + (image * pixels_ + groups.begin(g)) * inputs());
    };
    parallel_for(all, 1, [&](int64_t i) {
      of_group(i, [&](int64_t image, int64_t first, int64_t size, float* to) { gather(run, image, first, size, to); });
    });
    parallel_for(panels(), 1, [&](int64_t panel) {
      for (int64_t i = 0; i < all; ++i) {
        of_group(i, [&](int64_t image, int64_t first, int64_t size, const float* from) {
          multiply(run, image, panel, first, size, from);
        });
      }
    });
  }

  /// to[block][pixel][lane] = what the pixels of the result from `first` on are made of.
  void gather(const Run& run, int64_t image, int64_t first, int64_t pixels, float* to) const {
    const float* from = static_cast<const float*>(run.data.src) + image * blocks_in_ * pixels_in_ * lanes_;
    for (int64_t block = 0; block < blocks_in_; ++block, from += pixels_in_ * lanes_) {
      if (pixels_ == pixels_in_) {
        std::memcpy(to, from + first * lanes_, static_cast<size_t>(pixels * lanes_) * sizeof(float));
        to += pixels * lanes_;
        continue;
      }
      for (int64_t p = first; p < first + pixels; ++p, to += lanes_) std::copy_n(from + place(p) * lanes_, lanes_, to);
    }
  }

  /// Which pixel of the input one of the result sees.
  int64_t place(int64_t pixel) const {
    const WindowAxis &y = geometry_.axes[0], &x = geometry_.axes[1];
    return pixel / x.out * y.stride * x.in + pixel % x.out * x.stride;
  }

  void multiply(const Run& run, int64_t image, int64_t panel, int64_t first, int64_t pixels,
                const float* gathered) const {
    const int64_t output = panel * kPanelVectors * lanes_, plane = pixels_ * lanes_;
    const int64_t at = (image * blocks_out_ + panel * kPanelVectors) * plane + first * lanes_;
    multiply_panel({.blocks = blocks_in_,
                    .inputs = gathered,
                    .weights = run.weights + output * inputs(),
                    .bias = run.bias + output,
                    .addend = adds_ ? static_cast<const float*>(run.data.addend) + at : nullptr,
                    .to = static_cast<float*>(const_cast<void*>(run.data.dst)) + at,
                    .next_vector = plane,
                    .slope = slope_},
                   lanes_, pixels, vectors_of(panel));
  }

  ConvolutionGeometry geometry_;
  bool has_bias_, adds_;
  float slope_;
  int lanes_;
  int64_t blocks_in_, blocks_out_, pixels_, pixels_in_, workers_;
  bool by_outputs_;
  onednn::AlignedMemory kept_;  // packed weights; none: they are scratch
  WeightsStamp stamp_;          // of what is kept
  ScratchPlan plan_;
  size_t weights_at_ = 0, bias_at_ = 0, gathered_at_ = 0;
};

bool fits(const ConvolutionProblem& problem, int lanes) {
  return is_pointwise_in_blocks(problem, lanes) && elements_out(problem.geometry.axes) >= least_pixels(lanes);
}

}  // namespace

void add_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  const int lanes = vector_lanes();
  if (direction != Direction::kForward || !fits(problem, lanes)) return;
  passes.push_back(std::make_unique<ForwardPass>(problem, lanes));
}

}  // namespace robusta::pointwise
