// Threads share the chunks of pixels; each multiplies its chunk by all filters. While these fit into a second-level
// cache, 32 pixels at a time meet all of them; larger ones are read once for all pixels of a chunk.

#include "layers/backends/amx/products_pass.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "layers/backends/amx/filter_panels.h"
#include "layers/backends/amx/frames.h"
#include "layers/backends/amx/weights_pass.h"
#include "layers/backends/onednn/aligned_memory.h"
#include "layers/kit/scratch_plan.h"
#include "layers/kit/summed_results.h"
#include "layers/kit/weights_stamp.h"
#include "ops/amx/row_products.h"

namespace robusta::amx {
namespace {

using onednn::ConvolutionData;
using onednn::ConvolutionProblem;
using onednn::Direction;

constexpr size_t kManyFilters = 1 << 20;                       // bytes
constexpr int64_t kFrame = 128 << 10, kLongFrame = 512 << 10;  // bytes of a chunk, beside few filters or many

/// What results see along an axis, or the gradient of images.
SeenAxis seen_axis(const WindowAxis& axis, bool backward) {
  if (!backward) return seen_by_results(axis);
  // Where windows have one tap, the gradients of the pixels that are seen are computed as if there were no others, and
  // spread over the image afterwards.
  if (axis.kernel == 1) return {axis.out, axis.out};
  return {axis.out, axis.in, axis.kernel, axis.stride, axis.extent() - 1 - axis.pad, axis.dilation};
}

/// Of a group.
FilterPanels filter_panels(const ConvolutionGeometry& g, bool backward) {
  return {g.num_output / g.group, g.channels / g.group, taps(g.axes), backward};
}

Frames frames_of(const ConvolutionGeometry& g, bool backward, int64_t terms, int64_t bytes, int64_t workers) {
  const auto of_place = steps_of(terms) * kStepTerms * static_cast<int64_t>(sizeof(uint16_t));
  return {g.batch,          terms,  terms * g.group, seen_axis(g.axes[0], backward), seen_axis(g.axes[1], backward),
          bytes / of_place, workers};
}

class ProductsPass : public onednn::ConvolutionPass {
 public:
  ProductsPass(Direction direction, const ConvolutionProblem& problem)
      : backward_(direction == Direction::kBackwardData),
        adds_(!backward_ && problem.adds),
        bias_(!backward_ && problem.bias),
        slope_(!backward_ && problem.relu ? problem.slope : 1.0f),
        geometry_(problem.geometry),
        filters_(filter_panels(problem.geometry, backward_)),
        workers_(omp_get_max_threads()),
        many_filters_(filters_.bytes() > kManyFilters),
        frames_(frames_of(geometry_, backward_, filters_.terms(), many_filters_ ? kLongFrame : kFrame, workers_)) {
    const size_t packed = static_cast<size_t>(geometry_.group) * filters_.bytes();
    if (problem.inference) {
      kept_ = onednn::AlignedMemory(packed);
    } else {
      filters_at_ = plan_.add(packed);
    }
    sorted_at_ = plan_.add_for_each(workers_, filters_.scratch_bytes());
    frames_at_ = plan_.add_for_each(workers_, frames_.frame_bytes());
    places_at_ =
        plan_.add_for_each(workers_, static_cast<size_t>(frames_.most_places() + kPanelLines) * sizeof(int64_t));
    if (!problem.moments_follow) return;
    sums_.emplace(geometry_.num_output, workers_, plan_);
    added_at_ = plan_.add_for_each(workers_, static_cast<size_t>(filters_.panels()) * sizeof(ColumnSums));
  }

  std::string name() const override { return std::string("amx:products") + (kept_ ? ",kept" : ""); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  size_t kept_bytes() const override { return kept_.bytes(); }

  bool sums_results() const override { return bool{sums_}; }

  void keep_weights(const ConvolutionData& data, void* scratch) override {
    if (kept_ && stamp_.moved(data.weights, data.version)) pack(data, static_cast<uint32_t*>(kept_.data()), scratch);
  }

  void run(const ConvolutionData& data, void* scratch) override {
    keep_weights(data, scratch);
    auto* filters = static_cast<uint32_t*>(kept_ ? kept_.data() : at_offset(scratch, filters_at_));
    if (!kept_) pack(data, filters, scratch);
    parallel_for(workers_, 1, [&](int64_t worker) {
      const TilesInUse tiles;
      if (data.sums) sums_->clear(worker, scratch);
      const Range own = part_of(geometry_.group * frames_.chunks(), workers_, worker);
      for (int64_t i = own.begin; i < own.end; ++i) {
        const int64_t group = i / frames_.chunks();
        multiply_chunk(data, group, frames_.chunk(i % frames_.chunks()), filters, worker, scratch);
      }
    });
    if (data.sums) sums_->hand_over(scratch, data.sums);
  }

 private:
  /// [group][panel]
  void pack(const ConvolutionData& data, uint32_t* to, void* scratch) const {
    const int64_t all = geometry_.group * filters_.panels(),
                  of_group = geometry_.weight_shape().count() / geometry_.group;
    parallel_for(workers_, 1, [&](int64_t worker) {
      const Range panels = part_of(all, workers_, worker);
      for (int64_t i = panels.begin; i < panels.end; ++i) {
        const float* filters = static_cast<const float*>(data.weights) + i / filters_.panels() * of_group;
        filters_.pack(filters, i % filters_.panels(), sorted_at_.of<float>(worker, scratch),
                      to + i * filters_.pairs_of_panel());
      }
    });
  }

  const uint16_t* source(const ConvolutionData& data) const {
    return static_cast<const uint16_t*>(backward_ ? data.dst : data.src);
  }
  uint16_t* target(const ConvolutionData& data) const {
    return static_cast<uint16_t*>(const_cast<void*>(backward_ ? data.src : data.dst));
  }

  void multiply_chunk(const ConvolutionData& data, int64_t group, const Chunk& chunk, const uint32_t* filters,
                      int64_t worker, void* scratch) const {
    const uint16_t* images = source(data) + group * filters_.terms();
    const uint16_t* frame = frames_.show(images, chunk, frames_at_.of<uint16_t>(worker, scratch));
    auto* places = places_at_.of<int64_t>(worker, scratch);
    frames_.find_results(chunk, places);
    std::fill_n(places + frames_.places(chunk), kPanelLines, int64_t{-1});
    if (backward_ && elements_in(geometry_.axes) != elements_out(geometry_.axes) && filters_.taps == 1) {
      spread(chunk, group == 0 ? target(data) : nullptr, places);
    }
    ColumnSums* const added = data.sums ? added_at_.of<ColumnSums>(worker, scratch) : nullptr;
    if (added) std::fill_n(added, filters_.panels(), ColumnSums{});
    const int64_t count = frames_.places(chunk), together = many_filters_ ? count : kPanelLines;
    in_pieces(count, together, [&](Range some) {
      for (int64_t panel = 0; panel < filters_.panels(); ++panel) {
        in_pieces(some.size(), kPanelLines, [&](Range of_some) {
          const Range rows{some.begin + of_some.begin, some.begin + of_some.end};
          multiply(data, frame, places, rows, group, panel, filters, added);
        });
      }
    });
    if (added) add_chunk(added, group, worker, scratch);
  }

  void add_chunk(const ColumnSums* added, int64_t group, int64_t worker, void* scratch) const {
    sums_->add(
        worker, scratch, group * filters_.columns(), filters_.columns(),
        [=](int64_t column) { return added[column / kPanelLines].sum(column % kPanelLines); },
        [=](int64_t column) { return added[column / kPanelLines].square(column % kPanelLines); });
  }

  void multiply(const ConvolutionData& data, const uint16_t* frame, const int64_t* places, Range rows, int64_t group,
                int64_t panel, const uint32_t* filters, ColumnSums* added) const {
    alignas(64) float sums[kPanelLines * kPanelLines];
    multiply_rows({.rows = frame + rows.begin * frames_.pitch(),
                   .next_row = frames_.pitch(),
                   .taps = frames_.taps().data(),
                   .tap_count = filters_.taps,
                   .steps = frames_.steps(),
                   .columns = filters + (group * filters_.panels() + panel) * filters_.pairs_of_panel(),
                   .sums = sums},
                  tiles_of(rows.size(), 0), tiles_of(filters_.columns(), panel));
    const int64_t column = panel * kPanelLines, place = group * filters_.columns() + column;
    round_rows({.sums = sums,
                .places = places + rows.begin,
                .rows = rows.size(),
                .columns = std::min(kPanelLines, filters_.columns() - column),
                .bias = bias_ ? static_cast<const float*>(data.bias) + place : nullptr,
                .addend = adds_ ? static_cast<const uint16_t*>(data.addend) + place : nullptr,
                .slope = slope_,
                .to = target(data) + place,
                .next = geometry_.group * filters_.columns(),
                .ahead = many_filters_ ? 0 : kPanelLines,
                .added = added ? added + panel : nullptr});
  }

  /// Of one tap with a stride: results are spread over the image, with zeros between them, which are written here.
  /// `places` says which pixel of dy each is, and afterwards which one of dx. Null for dx: zeros are written elsewhere.
  void spread(const Chunk& chunk, uint16_t* dx, int64_t* places) const {
    const WindowAxis &y = geometry_.axes[0], &x = geometry_.axes[1];
    const auto clear = [&](int64_t pixel, int64_t pixels) {
      if (dx) std::fill_n(dx + pixel * geometry_.channels, pixels * geometry_.channels, uint16_t{0});
    };
    for (int64_t i = 0; i < frames_.places(chunk); ++i) {
      const int64_t image = places[i] / (y.out * x.out), row = places[i] / x.out % y.out, column = places[i] % x.out;
      const int64_t first = image * y.in + row * y.stride, behind = row + 1 < y.out ? y.stride : y.in - row * y.stride;
      const int64_t at = column * x.stride, width = (column + 1 < x.out ? x.stride : x.in - at);
      places[i] = first * x.in + at;
      clear(places[i] + 1, width - 1);
      for (int64_t more = 1; more < behind; ++more) clear((first + more) * x.in + at, width);
    }
  }

  bool backward_, adds_, bias_;
  float slope_;
  ConvolutionGeometry geometry_;
  FilterPanels filters_;
  int64_t workers_;
  bool many_filters_;
  Frames frames_;
  onednn::AlignedMemory kept_;  // filters; none: they are scratch
  WeightsStamp stamp_;          // of what is kept
  ScratchPlan plan_;
  std::optional<SummedResults> sums_;  // of results
  size_t filters_at_ = 0;
  WorkerScratch sorted_at_, frames_at_, places_at_, added_at_;
};

}  // namespace

void add_products_passes(Direction direction, const ConvolutionProblem& problem, onednn::ConvolutionPasses& passes) {
  if (direction == Direction::kBackwardWeights || !fits(problem)) return;
  const ConvolutionGeometry& g = problem.geometry;
  const auto& axes = g.axes;
  // Of fewer channels most of a tile would be empty.
  if (g.group > 1 && std::min(g.channels, g.num_output) / g.group < kTile) return;
  const auto can_be_seen = [&](const WindowAxis& axis) {
    if (!seen_axis(axis, false).fits()) return false;
    // Gradients are spread where windows have one tap on both axes.
    const bool spreads = axis.kernel == 1 && axis.in != axis.out;
    return direction == Direction::kForward || (seen_axis(axis, true).fits() && (!spreads || taps(axes) == 1));
  };
  if (!std::ranges::all_of(axes, can_be_seen)) return;
  passes.push_back(std::make_unique<ProductsPass>(direction, problem));
}

}  // namespace robusta::amx
