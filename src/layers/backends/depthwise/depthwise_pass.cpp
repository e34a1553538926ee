// Threads share the rows of what is computed; those of the filters' gradient share the images, whose sums are added up
// in order, whatever the number of threads. Only sums over results (kit/summed_results.h) depend on it.

#include "layers/backends/depthwise/depthwise_pass.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/parallel.h"
#include "layers/backends/depthwise/axis_runs.h"
#include "layers/backends/depthwise/tap_sums.h"
#include "layers/backends/onednn/generation.h"
#include "layers/kit/scratch_plan.h"
#include "layers/kit/summed_results.h"

namespace robusta::depthwise {
namespace {

using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;

/// What the rows of targets see.
class Rows {
 public:
  Rows(const ConvolutionGeometry& g, bool backward)
      : channels_(g.channels), y_(g.axes[0]), x_(g.axes[1]), backward_(backward), runs_(runs_of(x_, backward)) {}

  int64_t rows() const { return backward_ ? y_.in : y_.out; }

  /// body(run, taps, first target) for the runs of a row; `taps` has the place of each tap in a filter.
  template <typename Body>
  void for_runs(const BFloat16* sources, BFloat16* targets, int64_t image, int64_t row, const Body& body) const {
    const std::vector<SeenTap> above = seen_by(y_, backward_, row);
    const int64_t source_rows = backward_ ? y_.out : y_.in, source_columns = backward_ ? x_.out : x_.in;
    const int64_t columns = backward_ ? x_.in : x_.out;
    for (const TargetRun& along : runs_) {
      Run run{along.count,
              channels_,
              0,
              {},
              along.next_source * channels_,
              along.step * channels_,
              source_columns * channels_};
      std::array<int64_t, kMostTaps> taps;
      for (const SeenTap& y : above) {
        for (const SeenTap& x : along.seen) {
          taps[static_cast<size_t>(run.taps)] = y.tap * x_.kernel + x.tap;
          run.seen[run.taps++] = sources + ((image * source_rows + y.source) * source_columns + x.source) * channels_;
        }
      }
      body(run, taps, targets + ((image * rows() + row) * columns + along.first) * channels_);
    }
  }

 private:
  int64_t channels_;
  WindowAxis y_, x_;
  bool backward_;
  std::vector<TargetRun> runs_;
};

BFloat16* written(const void* data) { return static_cast<BFloat16*>(const_cast<void*>(data)); }

/// Results, or the gradient of images.
class SumPass : public onednn::ConvolutionPass {
 public:
  SumPass(Direction direction, const ConvolutionProblem& problem)
      : geometry_(problem.geometry),
        backward_(direction == Direction::kBackwardData),
        bias_(!backward_ && problem.bias),
        slope_(!backward_ && problem.relu ? problem.slope : 1.0f),
        rows_(problem.geometry, backward_),
        workers_(omp_get_max_threads()) {
    plan_.add(static_cast<size_t>((taps(geometry_.axes) + 1) * geometry_.channels) * sizeof(float));
    if (!problem.moments_follow) return;
    sums_.emplace(geometry_.channels, workers_, plan_);
    added_at_ = plan_.add_for_each(workers_, 2 * static_cast<size_t>(geometry_.channels) * sizeof(float));
  }

  std::string name() const override { return "depthwise:native"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }

  bool sums_results() const override { return bool{sums_}; }

  void run(const ConvolutionData& data, void* scratch) override {
    float *weights = static_cast<float*>(scratch), *bias = weights + taps(geometry_.axes) * geometry_.channels;
    pack(data, weights, bias);
    const int64_t rows = geometry_.batch * rows_.rows();
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t begin = rows * worker / workers_, end = rows * (worker + 1) / workers_;
      if (data.sums) return add_up_rows(data, begin, end, weights, bias, worker, scratch);
      for (int64_t row = begin; row < end; ++row) sum_row(data, row, weights, bias, nullptr);
    });
    if (data.sums) sums_->hand_over(scratch, data.sums);
  }

 private:
  /// Results of some rows, and their sums.
  void add_up_rows(const ConvolutionData& data, int64_t begin, int64_t end, const float* weights, const float* bias,
                   int64_t worker, void* scratch) const {
    constexpr int64_t kPixels = 1024;  // that are summed in f32
    const int64_t together = 1 + kPixels / geometry_.axes[1].out;
    float* const sums = added_at_.of<float>(worker, scratch);
    const PairedSums added{sums, sums + geometry_.channels};
    sums_->clear(worker, scratch);
    for (int64_t first = begin; first < end; first += together) {
      std::fill_n(sums, 2 * geometry_.channels, 0.0f);
      for (int64_t row = first; row < std::min(first + together, end); ++row) {
        sum_row(data, row, weights, bias, &added);
      }
      sums_->add(
          worker, scratch, 0, geometry_.channels, [=](int64_t c) { return added.sums[paired_place(c)]; },
          [=](int64_t c) { return added.squares[paired_place(c)]; });
    }
  }

  void sum_row(const ConvolutionData& data, int64_t i, const float* weights, const float* bias,
               const PairedSums* added) const {
    const BFloat16* sources = written(backward_ ? data.dst : data.src);
    BFloat16* targets = written(backward_ ? data.src : data.dst);
    rows_.for_runs(sources, targets, i / rows_.rows(), i % rows_.rows(),
                   [&](const Run& run, const auto& taps, BFloat16* to) {
                     const float* of_taps[kMostTaps];
                     for (int t = 0; t < run.taps; ++t) {
                       of_taps[t] = weights + taps[static_cast<size_t>(t)] * geometry_.channels;
                     }
                     sum_taps(run, of_taps, bias, slope_, to, added);
                   });
  }

  /// weights: [tap][channel]
  void pack(const ConvolutionData& data, float* weights, float* bias) const {
    const int64_t window = taps(geometry_.axes), channels = geometry_.channels;
    const auto* filters = static_cast<const float*>(data.weights);
    for (int64_t tap = 0; tap < window; ++tap) pair_up(filters + tap, window, channels, weights + tap * channels);
    if (bias_) return pair_up(static_cast<const float*>(data.bias), 1, channels, bias);
    std::fill_n(bias, channels, 0.0f);
  }

  ConvolutionGeometry geometry_;
  bool backward_, bias_;
  float slope_;
  Rows rows_;
  int64_t workers_;
  ScratchPlan plan_;
  std::optional<SummedResults> sums_;  // of results
  WorkerScratch added_at_;
};

class WeightsPass : public onednn::ConvolutionPass {
 public:
  explicit WeightsPass(const ConvolutionProblem& problem)
      : geometry_(problem.geometry), rows_(problem.geometry, false), window_(taps(problem.geometry.axes)) {}

  std::string name() const override { return "depthwise:native"; }
  size_t scratch_bytes() const override { return static_cast<size_t>(geometry_.batch * sums()) * sizeof(float); }

  void run(const ConvolutionData& data, void* scratch) override {
    float* all = static_cast<float*>(scratch);
    const BFloat16* images = written(data.src);
    parallel_for(geometry_.batch, 1,
                 [=, this](int64_t image) { add_image(images, data, image, all + image * sums()); });
    parallel_for(geometry_.channels, 16, [=, this](int64_t c) { hand_over(data, all, c); });
  }

 private:
  /// Of an image: [tap][channel], then those of the bias.
  int64_t sums() const { return (window_ + 1) * geometry_.channels; }

  void add_image(const BFloat16* images, const ConvolutionData& data, int64_t image, float* sums) const {
    std::fill_n(sums, this->sums(), 0.0f);
    float* const bias = sums + window_ * geometry_.channels;
    for (int64_t row = 0; row < rows_.rows(); ++row) {
      rows_.for_runs(images, written(data.dst), image, row, [&](const Run& run, const auto& taps, BFloat16* gradients) {
        float* of_taps[kMostTaps];
        for (int t = 0; t < run.taps; ++t) of_taps[t] = sums + taps[static_cast<size_t>(t)] * geometry_.channels;
        add_gradients(run, gradients, of_taps);
        if (data.bias) add_bias(run, gradients, bias);
      });
    }
  }

  /// These are not paired up.
  static void add_bias(const Run& run, const BFloat16* gradients, float* sums) {
    for (int64_t p = 0; p < run.pixels; ++p, gradients += run.next) {
      for (int64_t c = 0; c < run.channels; ++c) sums[c] += static_cast<float>(gradients[c]);
    }
  }

  float sum_of_images(const float* all, int64_t place) const {
    double sum = 0;
    for (int64_t image = 0; image < geometry_.batch; ++image) sum += static_cast<double>(all[image * sums() + place]);
    return static_cast<float>(sum);
  }

  void hand_over(const ConvolutionData& data, const float* all, int64_t c) const {
    if (data.weights) {
      float* to = static_cast<float*>(const_cast<void*>(data.weights)) + c * window_;
      for (int64_t tap = 0; tap < window_; ++tap) {
        to[tap] = sum_of_images(all, tap * geometry_.channels + paired_place(c)) + (data.add_weights ? to[tap] : 0.0f);
      }
    }
    if (!data.bias) return;
    float* to = static_cast<float*>(const_cast<void*>(data.bias)) + c;
    *to = sum_of_images(all, window_ * geometry_.channels + c) + (data.add_bias ? *to : 0.0f);
  }

  ConvolutionGeometry geometry_;
  Rows rows_;
  int64_t window_;
};

bool fits(const ConvolutionProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  if (problem.type != DType::kBF16 || problem.adds || g.axes.size() != 2) return false;
  if (g.group != g.channels || g.num_output != g.channels || g.channels % kBlock != 0) return false;
  if (taps(g.axes) > kMostTaps) return false;
  const auto has_channels_last = [](const onednn::Desc& desc) {
    return desc == onednn::channels_last_desc(onednn::dims_of(desc), DType::kBF16);
  };
  return has_channels_last(problem.src) && has_channels_last(problem.dst);
}

}  // namespace

void add_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  if (!fits(problem)) return;
  if (direction == Direction::kBackwardWeights) {
    passes.push_back(std::make_unique<WeightsPass>(problem));
  } else {
    passes.push_back(std::make_unique<SumPass>(direction, problem));
  }
}

}  // namespace robusta::depthwise
