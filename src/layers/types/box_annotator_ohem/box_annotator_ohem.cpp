// BoxAnnotatorOHEM: fields, shapes, and the reference kernel, which sorts by image and loss.

#include "layers/types/box_annotator_ohem/box_annotator_ohem.h"

#include <algorithm>
#include <numeric>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

void require_positions(const std::vector<Shape>& bottoms, size_t i, int64_t positions, const char* what) {
  if (bottoms[i].count() == positions) return;
  throw Error(ErrorKind::kConfig, str("bottom ", i, " has shape ", bottoms[i].str(), ", but there are ", positions,
                                      " regions, each of which has ", what))
      .in_field("bottom");
}

}  // namespace

BoxAnnotatorOhemLayer::BoxAnnotatorOhemLayer(const caffe::LayerParameter& param) : Layer(param) {
  if (per_image() > 0) return;
  const bool given = param.box_annotator_ohem_param().has_roi_per_img();
  throw Error(ErrorKind::kConfig, given ? "roi_per_img is 0" : "no roi_per_img is given",
              "give the number of regions of each image that stay examples")
      .in_field("box_annotator_ohem_param.roi_per_img");
}

std::vector<Shape> BoxAnnotatorOhemLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &regions = bottoms[0], &weights = bottoms[3];
  if (regions.axes() < 2 || regions[1] != kRegionNumbers) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", regions.str()),
                "it holds five numbers for each region: its item of the batch, x1, y1, x2, y2")
        .in_field("bottom");
  }
  extents_ = {.regions = regions[0], .spatial = regions.count(2)};
  require_positions(bottoms, 1, extents_.positions(), "a loss");
  require_positions(bottoms, 2, extents_.positions(), "a label");
  if (weights.axes() < 2 || weights[0] != extents_.regions || weights.count(2) != extents_.spatial) {
    throw Error(ErrorKind::kConfig, str("bottom 3 has shape ", weights.str(), ", and the regions ", regions.str()),
                "it holds the weights of each region's box: only the second axis differs")
        .in_field("bottom");
  }
  extents_.channels = weights[1];
  std::vector<int64_t> labels = regions.dims();
  labels[1] = 1;
  return {Shape(labels), weights};
}

namespace {

template <typename T>
class BoxAnnotatorOhemReference : public Kernel {
 public:
  explicit BoxAnnotatorOhemReference(const KernelRequest& request)
      : layer_(request.layer<BoxAnnotatorOhemLayer>()), e_(layer_.extents()) {
    book_reads_nothing(4, booking_);
    booking_.repeatable = true;
    booking_.forward_scratch = static_cast<size_t>(e_.positions()) * sizeof(int64_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *regions = run.bottoms[0].as<T>(), *losses = run.bottoms[1].as<T>();
    for (int64_t i = 0; i < e_.positions(); ++i) {
      const T item = regions[e_.item_at(i)];
      if (to_label(item) < 0) throw_bad_region(static_cast<double>(item), i * kRegionNumbers, kMostItems);
    }
    const auto item_of = [&](int64_t i) { return to_label(regions[e_.item_at(i)]); };
    auto* order = static_cast<int64_t*>(run.scratch);
    std::iota(order, order + e_.positions(), int64_t{0});
    std::sort(order, order + e_.positions(), [&](int64_t i, int64_t j) {
      if (item_of(i) != item_of(j)) return item_of(i) < item_of(j);
      return is_harder(losses[i], i, losses[j], j);
    });
    int64_t of_item = 0;
    for (int64_t place = 0; place < e_.positions(); ++place) {
      of_item = place > 0 && item_of(order[place]) == item_of(order[place - 1]) ? of_item + 1 : 0;
      write(run, order[place], of_item < layer_.per_image());
    }
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) fill_zero(gradient);
    }
  }

 private:
  void write(const KernelRun& run, int64_t i, bool stays) const {
    run.tops[0].as<T>()[i] = stays ? run.bottoms[2].as<T>()[i] : static_cast<T>(layer_.ignore_label());
    for (int64_t c = 0; c < e_.channels; ++c) {
      const int64_t at = e_.weight_at(i, c);
      run.tops[1].as<T>()[at] = stays ? run.bottoms[3].as<T>()[at] : T{0};
    }
  }

  const BoxAnnotatorOhemLayer& layer_;
  const ExampleExtents e_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("BoxAnnotatorOHEM", BoxAnnotatorOhemLayer);
ROBUSTA_REGISTER_REFERENCE("BoxAnnotatorOHEM", BoxAnnotatorOhemReference);

}  // namespace robusta
