// Each result adds to what its window lies over, a row at a time. Threads share the images.

#include "layers/backends/packed_rows/images_pass.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/packed_rows/packed_image.h"
#include "layers/backends/packed_rows/row_sums.h"
#include "layers/kit/scratch_plan.h"

namespace robusta::packed_rows {
namespace {

using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }
bool has_channels_last(const onednn::Desc& desc) { return onednn::has_channels_last(onednn::layout_of(desc)); }

class ImagesPass : public onednn::ConvolutionPass {
 public:
  ImagesPass(const ConvolutionProblem& problem, int lanes)
      : geometry_(problem.geometry),
        slope_(problem.slope),
        shape_(best_panels(window_row(), lanes)),
        image_{{geometry_.channels, lanes, has_channels_last(problem.src)},
               y().in,
               x().in,
               y().pad,
               x().pad,
               x().padded_in()},
        results_{geometry_.num_output, lanes, has_channels_last(problem.dst)},
        workers_(std::min<int64_t>(omp_get_max_threads(), geometry_.batch)) {
    filters_at_ = plan_.add(bytes_of(filter_floats()));
    images_ = plan_.add_for_each(workers_, bytes_of(image_floats()));
    gradients_ = plan_.add_for_each(workers_, bytes_of(elements_out(geometry_.axes) * gradient_row()));
    // Column after column: rows of neighbours in a row overlap, and what has just been written there is slow to read.
    for (int64_t column = 0; column < x().out; ++column) {
      for (int64_t row = 0; row < y().out; ++row) {
        places_.push_back((row * y().stride * x().padded_in() + column * x().stride) * geometry_.channels);
      }
    }
  }

  std::string name() const override { return "packed_rows:native"; }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  bool gates() const override { return true; }

  void run(const ConvolutionData& data, void* scratch) override {
    float* filters = static_cast<float*>(at_offset(scratch, filters_at_));
    const auto* plain = static_cast<const float*>(data.weights);
    parallel_for(geometry_.num_output, 4, [=, this](int64_t output) { pack_filter(plain, output, filters); });
    parallel_for(workers_, 1, [&](int64_t worker) {
      const int64_t images = geometry_.batch, end = images * (worker + 1) / workers_;
      for (int64_t i = images * worker / workers_; i < end; ++i) fill_image(data, filters, i, worker, scratch);
    });
  }

 private:
  const WindowAxis& y() const { return geometry_.axes[0]; }
  const WindowAxis& x() const { return geometry_.axes[1]; }
  /// The floats of a row of a window.
  int64_t window_row() const { return x().kernel * geometry_.channels; }
  /// Of a pixel's gradients: whole vectors.
  int64_t gradient_row() const { return round_up(geometry_.num_output, shape_.lanes); }
  /// Of a packed image, its borders, and what is read with its last pixel.
  int64_t image_floats() const { return y().padded_in() * x().padded_in() * geometry_.channels + shape_.lanes; }
  /// Of filters, [row of the window][panel][output][width].
  int64_t filter_floats() const { return y().kernel * shape_.row_floats() * geometry_.num_output; }
  int64_t panel_place(int64_t row, int64_t panel) const {
    return (row * shape_.panels + panel) * shape_.width() * geometry_.num_output;
  }

  /// An output's filter, with zeros where it does not fill a row's last panel.
  void pack_filter(const float* plain, int64_t output, float* filters) const {
    const int64_t window = y().kernel * x().kernel, width = shape_.width();
    plain += output * geometry_.channels * window;
    for (int64_t row = 0; row < y().kernel; ++row) {
      int64_t panel = 0, within = 0;
      for (int64_t tap = row * x().kernel; tap < (row + 1) * x().kernel; ++tap) {
        for (int64_t channel = 0; channel < geometry_.channels; ++channel) {
          filters[panel_place(row, panel) + output * width + within] = plain[channel * window + tap];
          if (++within == width) within = 0, ++panel;
        }
      }
      if (within > 0) std::fill_n(filters + panel_place(row, panel) + output * width + within, width - within, 0.0f);
    }
  }

  void fill_image(const ConvolutionData& data, const float* filters, int64_t i, int64_t worker, void* scratch) const {
    float *image = images_.of<float>(worker, scratch), *gradients = gradients_.of<float>(worker, scratch);
    const int64_t pixels = elements_out(geometry_.axes), at = i * results_.floats_of_pixel() * pixels;
    const auto* gate = static_cast<const float*>(data.gate);
    pack_gradients(
        {static_cast<const float*>(data.dst) + at, gate ? gate + at : nullptr, slope_, results_, y().out, x().out},
        gradient_row(), gradients);
    std::fill_n(image, image_floats(), 0.0f);
    const PixelGradients from{gradients, gradient_row(), geometry_.num_output, places_.data(), pixels};
    for (int64_t row = 0; row < y().kernel; ++row) {
      float* seen = image + row * y().dilation * x().padded_in() * geometry_.channels;
      for (int64_t panel = 0; panel < shape_.panels; ++panel) {
        const int64_t first = panel * shape_.width();
        add_rows(shape_, from, filters + panel_place(row, panel), std::min(shape_.width(), window_row() - first),
                 seen + first);
      }
    }
    unpack_image(image_, image, static_cast<float*>(const_cast<void*>(data.src)) + i * image_.floats());
  }

  ConvolutionGeometry geometry_;
  float slope_;
  PanelShape shape_;
  PackedImage image_;
  Channels results_;
  int64_t workers_;
  std::vector<int64_t> places_;
  ScratchPlan plan_;
  size_t filters_at_ = 0;
  WorkerScratch images_, gradients_;
};

/// Where kernels on blocks multiply at least half as much again as there is to multiply. Measured on AVX-512: of their
/// time this takes 0.65 to 0.8 for LeNet's 20 and 50 channels (2.05 times as much in blocks of 16), 0.7 to 0.85 in
/// windows of stride 2 between such layers, and more than all of it at 24 and 48 (1.33).
bool fills_blocks_badly(const ConvolutionGeometry& g, int lanes) {
  const int64_t multiplied = round_up(g.channels, lanes) * round_up(g.num_output, lanes);
  return 2 * multiplied >= 3 * g.channels * g.num_output;
}

/// An image, its gradients and the filters, which are used again and again, fit into a second-level cache together.
bool fits_into_cache(const ConvolutionGeometry& g, int lanes) {
  constexpr int64_t kFloats = int64_t{1} << 19;  // 2 MiB
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  const int64_t image = y.padded_in() * x.padded_in() * g.channels;
  const int64_t gradients = elements_out(g.axes) * round_up(g.num_output, lanes);
  return image + gradients + y.kernel * round_up(x.kernel * g.channels, lanes) * g.num_output <= kFloats;
}

bool fits(const ConvolutionProblem& problem, int lanes) {
  const ConvolutionGeometry& g = problem.geometry;
  if (lanes == 0 || problem.type != DType::kF32 || g.group != 1 || g.axes.size() != 2) return false;
  if (!fills_blocks_badly(g, lanes) || g.axes[1].dilation != 1 || is_too_long(g.axes)) return false;
  const auto is_known = [&](const onednn::Desc& desc) {
    return has_channels_last(desc) || onednn::channel_block(onednn::layout_of(desc)) == lanes;
  };
  const auto is_shorter = [](const WindowAxis& axis) { return axis.pad < 0 || axis.pad_behind() < 0; };
  return is_known(problem.src) && is_known(problem.dst) && !std::ranges::any_of(g.axes, is_shorter) &&
         fits_into_cache(g, lanes);
}

}  // namespace

void add_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  const int lanes = vector_lanes();
  if (direction != Direction::kBackwardData || !fits(problem, lanes)) return;
  passes.push_back(std::make_unique<ImagesPass>(problem, lanes));
}

}  // namespace robusta::packed_rows
