// BoxAnnotatorOHEM on the GPU: a thread for each region counts the harder ones of its image, of which there are at most
// some thousands. All is f32: 16 bits hold neither all items nor all labels.

#include "device/gpu/copy.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/labels.h"
#include "layers/types/box_annotator_ohem/box_annotator_ohem.h"

namespace robusta {
namespace {

/// For reduce_all: finds the first item that cannot be.
struct FirstBadItem {
  using Sum = int64_t;
  LabelReader items;
  ExampleExtents e;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return items(e.item_at(i)) < 0 ? i : kNoPlace; }
  ROBUSTA_GPU void store(Sum first) const { items.report(first == kNoPlace ? first : e.item_at(first)); }
};

struct KeepHardest {
  LabelReader items;
  ExampleExtents e;
  int64_t positions, per_image;
  float ignore_label;
  const float *losses, *labels, *weights;
  float *kept_labels, *kept_weights;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int item = items(e.item_at(i));
    int64_t harder = 0;
    for (int64_t j = 0; j < positions && harder < per_image; ++j) {
      harder += items(e.item_at(j)) == item && is_harder(losses[j], j, losses[i], i);
    }
    const bool stays = harder < per_image;
    kept_labels[i] = stays ? labels[i] : ignore_label;
    for (int64_t c = 0; c < e.channels; ++c) {
      const int64_t at = e.weight_at(i, c);
      kept_weights[at] = stays ? weights[at] : 0;
    }
  }
};

class BoxAnnotatorOhemGpu : public Kernel {
 public:
  explicit BoxAnnotatorOhemGpu(const KernelRequest& request)
      : layer_(request.layer<BoxAnnotatorOhemLayer>()), e_(layer_.extents()), watch_(request, kMostItems, 1, {}) {
    book_reads_nothing(4, booking_);
    booking_.repeatable = true;
    booking_.bottom_types.assign(4, DType::kF32);
    booking_.top_types.assign(2, DType::kF32);
    booking_.forward_scratch = reduce_all_scratch<FirstBadItem>(e_.positions());
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const LabelReader items = watch_.reader(run.bottoms[0].as<float>());
    reduce_all(run.stream, e_.positions(), run.scratch, FirstBadItem{items, e_});
    for_each(run.stream, e_.positions(),
             KeepHardest{.items = items,
                         .e = e_,
                         .positions = e_.positions(),
                         .per_image = layer_.per_image(),
                         .ignore_label = static_cast<float>(layer_.ignore_label()),
                         .losses = run.bottoms[1].as<float>(),
                         .labels = run.bottoms[2].as<float>(),
                         .weights = run.bottoms[3].as<float>(),
                         .kept_labels = run.tops[0].as<float>(),
                         .kept_weights = run.tops[1].as<float>()});
  }

  void backward(const KernelRun& run) override {
    for (const Tensor& gradient : run.bottom_diffs) {
      if (gradient) gpu_fill_zero(run.stream, gradient.data, gradient.desc.bytes());
    }
  }

  void check(const Pass&) override {
    const auto bad = watch_.take();
    if (!bad) return;
    const int64_t row = e_.spatial * kRegionNumbers;
    const int64_t position = bad->place / row * e_.spatial + bad->place % e_.spatial;
    throw_bad_region(bad->label, position * kRegionNumbers, kMostItems);
  }

 private:
  const BoxAnnotatorOhemLayer& layer_;
  const ExampleExtents e_;
  LabelWatch watch_;
};

std::unique_ptr<Kernel> make_box_annotator_ohem_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<BoxAnnotatorOhemGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("BoxAnnotatorOHEM", "gpu", 10, make_box_annotator_ohem_gpu);

}  // namespace robusta
