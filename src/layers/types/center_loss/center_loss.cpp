// CenterLoss: fields, shapes, parameters and the reference kernel.

#include "layers/types/center_loss/center_loss.h"

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/kernel.h"
#include "layers/kit/labels.h"

namespace robusta {

CenterLossLayer::CenterLossLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.center_loss_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of classes")
        .in_field("center_loss_param.num_output");
  }
  if (p.distance_type() != "L1" && p.distance_type() != "L2") {
    throw Error(ErrorKind::kConfig, str("distance_type is \"", p.distance_type(), "\""), "give \"L1\" or \"L2\"")
        .in_field("center_loss_param.distance_type");
  }
}

std::vector<Shape> CenterLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const int axis = canonical_axis(bottoms[0], param().center_loss_param().axis(), "center_loss_param.axis");
  size_ = {.samples = bottoms[0].count(0, axis), .features = bottoms[0].count(axis), .classes = num_output()};
  if (bottoms[1].count() != size_.samples) {
    throw Error(ErrorKind::kConfig,
                str("there are ", size_.samples, " samples, but bottom 1 (", bottoms[1].str(), ") has other labels"),
                "give one label for each; center_loss_param.axis says where the features of a sample begin")
        .in_field("bottom");
  }
  const Shape centres{size_.classes, size_.features};
  check_extents(centres);
  centres_.fix(centres, "centres");
  return {Shape{}};
}

std::vector<ParamDecl> CenterLossLayer::params() const {
  const auto& filler = param().center_loss_param().center_filler();
  check_filler(filler, centres_.get(), "center_loss_param.center_filler");
  return {{centres_.get(), &filler}};
}

namespace {

template <typename T>
class CenterLossReference : public Kernel {
 public:
  explicit CenterLossReference(const KernelRequest& request)
      : layer_(request.layer<CenterLossLayer>()), size_(layer_.size()), f_{layer_.takes_absolutes()} {
    booking_.reads_bottoms = {true, true};
    booking_.backward_scratch = static_cast<size_t>(size_.classes) * sizeof(int64_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    check_labels(run.bottoms[1].as<T>(), size_.samples, 1, size_.classes, std::nullopt, *run.pass);
    double sum = 0;
    for (int64_t n = 0; n < size_.samples; ++n) {
      for_features(run, n, [&](int64_t, int64_t, double distance) { sum += f_.value(distance); });
    }
    run.tops[0].as<T>()[0] = static_cast<T>(sum / layer_.divisor(run.pass->ranks));
  }

  void backward(const KernelRun& run) override {
    // Once more, as a program may have written others since forward.
    check_labels(run.bottoms[1].as<T>(), size_.samples, 1, size_.classes, std::nullopt, *run.pass);
    if (run.params[0]->learns) move_centres(run);
    if (!run.bottom_diffs[0]) return;
    T* dx = run.bottom_diffs[0].as<T>();
    const double scale = run.top_diffs[0].as<T>()[0] / layer_.divisor(run.pass->ranks);
    parallel_for(size_.samples, 1 + (1 << 13) / size_.features, [&](int64_t n) {
      for_features(run, n,
                   [&](int64_t i, int64_t, double distance) { dx[i] = static_cast<T>(scale * f_.slope(distance)); });
    });
  }

 private:
  /// body(place in the bottom, place among the centres, x - c) for each feature of a sample.
  template <typename Body>
  void for_features(const KernelRun& run, int64_t n, const Body& body) const {
    const T *x = run.bottoms[0].as<T>(), *centres = run.params[0]->tensor().template as<T>();
    const int64_t first = to_label(run.bottoms[1].as<T>()[n]) * size_.features;
    for (int64_t k = 0; k < size_.features; ++k) {
      const int64_t i = n * size_.features + k;
      body(i, first + k, static_cast<double>(x[i]) - centres[first + k]);
    }
  }

  void move_centres(const KernelRun& run) const {
    const T* labels = run.bottoms[1].as<T>();
    T* gradient = run.params[0]->gradient().template as<T>();
    auto* counts = static_cast<int64_t*>(run.scratch);
    std::fill_n(counts, size_.classes, 0);
    for (int64_t n = 0; n < size_.samples; ++n) ++counts[to_label(labels[n])];
    if (!run.accumulate[0]) std::fill_n(gradient, size_.classes * size_.features, T{0});
    // The mean over ranks is taken of all gradients, and this one is a sum.
    const int ranks = run.pass->ranks ? run.pass->ranks->ranks() : 1;
    const double scale = static_cast<double>(run.top_diffs[0].as<T>()[0]) * layer_.centre_weight() * ranks;
    for (int64_t n = 0; n < size_.samples; ++n) {
      const double share = scale / (1.0 + static_cast<double>(counts[to_label(labels[n])]));
      for_features(run, n, [&](int64_t, int64_t at, double distance) {
        gradient[at] = static_cast<T>(gradient[at] - share * f_.slope(distance));
      });
    }
  }

  const CenterLossLayer& layer_;
  const CenterLossSize size_;
  CenterDistance<double> f_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("CenterLoss", CenterLossLayer);
ROBUSTA_REGISTER_REFERENCE("CenterLoss", CenterLossReference);

}  // namespace robusta
