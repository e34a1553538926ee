// MalisLoss: says whether pixels belong together by the weakest edge of the strongest path between them (Turaga, Briggman,
// Helmstaedter, Denk and Seung 2009, "Maximin affinity learning of image segmentation", equations 3 to 6; nets of
// naibaf7/caffe, src/caffe/layers/malis_loss_layer.cpp).
//
// Bottoms, of D spatial axes: affinities that a net predicts, [n, D, ...], where channel 0 is of the edges to the next
// pixel along the last axis, channel 1 along the last but one, and so on; the true affinities, of the same shape; and the
// true components, [n, 1, ...], 0 for pixels that count for nothing. Edges out of the image are not looked at.
//
// Of each image two maximum spanning trees are grown by Kruskal's algorithm. The edge that joins two of its sets is the
// maximin edge of all pairs with one pixel in each: so one pass counts them all. Pairs of one component are looked at in
// the graph of min(predicted, true), where no path leaves it, and cost max(0, 0.5 + margin - a) of their maximin affinity
// a; other pairs in the graph of max(predicted, true), where no true edge is in doubt, and cost max(0, a - 0.5 + margin).
// The loss is half the mean of either kind, and the mean over the images. Its gradient is that of the edges that cost.
//
//     layer { type: "MalisLoss" bottom: "affinity" bottom: "truth" bottom: "components" top: "loss"
//             plugin_param { key: "margin" value: "0.3" } }

#include <robusta/layer.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

namespace {

using robusta::Error;
using robusta::ErrorKind;
using robusta::Shape;

/// Sets of pixels, and how many of each component are in a set. All memory is taken at once.
class Segments {
 public:
  void resize(int64_t pixels) {
    parent_.resize(static_cast<size_t>(pixels));
    first_.resize(parent_.size());
    next_.resize(parent_.size());
    count_.resize(parent_.size());
    labelled_.resize(parent_.size());
    entry_of_.assign(parent_.size() + 1, -1);
  }

  /// Each pixel by itself.
  void reset(const std::vector<int32_t>& components) {
    components_ = components.data();
    for (size_t i = 0; i < parent_.size(); ++i) {
      parent_[i] = static_cast<int32_t>(i);
      labelled_[i] = count_[i] = components[i] != 0;
      first_[i] = components[i] != 0 ? static_cast<int32_t>(i) : -1;
      next_[i] = -1;
    }
  }

  int32_t find(int32_t pixel) {
    while (parent_[at(pixel)] != pixel) pixel = parent_[at(pixel)] = parent_[at(parent_[at(pixel)])];
    return pixel;
  }

  struct Pairs {
    double same = 0, other = 0;
  };
  /// Joins two sets. Returns how many pairs there are with one pixel in each, of one component and of two.
  Pairs join(int32_t to, int32_t from) {
    Pairs pairs{.same = 0, .other = static_cast<double>(labelled_[at(to)]) * static_cast<double>(labelled_[at(from)])};
    for (int32_t e = first_[at(to)]; e >= 0; e = next_[at(e)]) entry_of_[component(e)] = e;
    for (int32_t e = first_[at(from)], next; e >= 0; e = next) {
      next = next_[at(e)];
      int32_t& known = entry_of_[component(e)];
      if (known >= 0) {
        pairs.same += static_cast<double>(count_[at(known)]) * static_cast<double>(count_[at(e)]);
        count_[at(known)] += count_[at(e)];
      } else {
        known = e;
        next_[at(e)] = first_[at(to)];
        first_[at(to)] = e;
      }
    }
    for (int32_t e = first_[at(to)]; e >= 0; e = next_[at(e)]) entry_of_[component(e)] = -1;
    parent_[at(from)] = to;
    labelled_[at(to)] += labelled_[at(from)];
    pairs.other -= pairs.same;
    return pairs;
  }

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  size_t component(int32_t entry) const { return at(components_[entry]); }

  const int32_t* components_ = nullptr;
  std::vector<int32_t> parent_, first_, next_, entry_of_;  ///< entries are named by a pixel of their component
  std::vector<int64_t> count_, labelled_;
};

class MalisLoss : public robusta::Layer {
 public:
  explicit MalisLoss(const robusta::LayerSpec& spec) : margin_(spec.number("margin", 0.3)) {
    if (margin_ >= 0 && margin_ <= 0.5) return;
    throw Error(ErrorKind::kConfig, "margin must be 0 to 0.5").in_field("plugin_param");
  }

  robusta::Arity arity() const override { return {.min_bottoms = 3, .max_bottoms = 3}; }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    const Shape& affinity = bottoms[0];
    if (affinity.size() < 3 || affinity[1] + 2 != static_cast<int64_t>(affinity.size()) || bottoms[1] != affinity) {
      throw Error(ErrorKind::kConfig, "bottoms 0 and 1 are no affinities of one shape",
                  "give both a channel for each spatial axis")
          .in_field("bottom");
    }
    extents_.assign(affinity.begin() + 2, affinity.end());
    images_ = affinity[0];
    pixels_ = product(extents_);
    if (product(bottoms[2]) != images_ * pixels_ || images_ < 1 || pixels_ < 1 || pixels_ >= INT32_MAX) {
      throw Error(ErrorKind::kConfig, "bottom 2 does not hold the component of each pixel").in_field("bottom");
    }
    list_edges();
    segments_.resize(pixels_);
    components_.resize(static_cast<size_t>(pixels_));
    graph_.resize(static_cast<size_t>(pixels_) * extents_.size());
    return {Shape{}};
  }

  /// Forward keeps the gradient.
  robusta::Needs needs() const override {
    return {.backward_reads_bottoms = false,
            .saved_bytes = static_cast<size_t>(images_) * graph_.size() * sizeof(float)};
  }

  void forward(const robusta::KernelCall& call) override {
    auto* gradient = static_cast<float*>(call.saved);
    const auto edges = static_cast<int64_t>(graph_.size());
    double loss = 0;
    std::fill_n(gradient, gradient ? images_ * edges : 0, 0.0f);
    for (int64_t n = 0; n < images_; ++n) {
      const float *predicted = call.bottoms[0].as<float>() + n * edges, *truth = call.bottoms[1].as<float>() + n * edges;
      read_components(call.bottoms[2].as<float>() + n * pixels_, call.first_sample + static_cast<uint64_t>(n));
      float* to = gradient ? gradient + n * edges : nullptr;
      loss += grow(predicted, truth, true, to) + grow(predicted, truth, false, to);
    }
    call.tops[0].as<float>()[0] = static_cast<float>(loss / static_cast<double>(images_));
  }

  void backward(const robusta::KernelCall& call) override {
    if (!call.bottom_gradients[0]) return;
    const float scale = call.top_gradients[0].as<float>()[0] / static_cast<float>(images_);
    const auto* gradient = static_cast<const float*>(call.saved);
    float* dx = call.bottom_gradients[0].as<float>();
    for (int64_t i = 0; i < call.bottom_gradients[0].count(); ++i) dx[i] = scale * gradient[i];
  }

 private:
  static int64_t product(const Shape& extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }

  /// Edges whose two pixels are in the image: channel * pixels + pixel.
  void list_edges() {
    edges_.clear();
    steps_.clear();
    int64_t step = 1;
    for (size_t channel = 0; channel < extents_.size(); ++channel) {
      const int64_t extent = extents_[extents_.size() - 1 - channel];
      steps_.push_back(static_cast<int32_t>(step));
      for (int64_t pixel = 0; pixel < pixels_; ++pixel) {
        if (pixel / step % extent + 1 < extent) edges_.push_back(static_cast<int64_t>(channel) * pixels_ + pixel);
      }
      step *= extent;
    }
    order_ = edges_;
  }

  void read_components(const float* from, uint64_t sample) {
    for (int64_t i = 0; i < pixels_; ++i) {
      if (!(from[i] >= 0 && from[i] <= static_cast<float>(pixels_))) {
        throw Error(ErrorKind::kData, "a component of sample " + std::to_string(sample) + " is " + std::to_string(from[i]),
                    "give 0 for what counts for nothing, and numbers up to that of the pixels");
      }
      components_[static_cast<size_t>(i)] = static_cast<int32_t>(from[i]);
    }
  }

  /// Half the mean cost of the pairs of one kind. Its gradient is added to `gradient`, if not null.
  double grow(const float* predicted, const float* truth, bool same, float* gradient) {
    for (const int64_t e : edges_) {
      graph_[static_cast<size_t>(e)] = same ? std::min(predicted[e], truth[e]) : std::max(predicted[e], truth[e]);
    }
    // Equal edges in the order of the list, so that every run joins alike.
    std::sort(order_.begin(), order_.end(), [this](int64_t a, int64_t b) {
      const float x = graph_[static_cast<size_t>(a)], y = graph_[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    });
    segments_.reset(components_);
    const double all = pairs_of_kind(same);
    double cost = 0;
    for (const int64_t e : order_) {
      const auto pixel = static_cast<int32_t>(e % pixels_), step = steps_[static_cast<size_t>(e / pixels_)];
      const int32_t from = segments_.find(pixel), to = segments_.find(pixel + step);
      if (from == to) continue;
      const Segments::Pairs pairs = segments_.join(to, from);
      const double share = all == 0 ? 0 : 0.5 * (same ? pairs.same : pairs.other) / all;
      const double affinity = graph_[static_cast<size_t>(e)];
      const double too_far = same ? 0.5 + margin_ - affinity : affinity - 0.5 + margin_;
      if (!(too_far > 0) || share == 0) continue;
      cost += share * too_far;
      const bool is_predicted = same ? predicted[e] <= truth[e] : predicted[e] >= truth[e];
      if (gradient && is_predicted) gradient[e] += static_cast<float>(same ? -share : share);
    }
    return cost;
  }

  /// Of all pixels that count.
  double pairs_of_kind(bool same) {
    sizes_.assign(static_cast<size_t>(pixels_) + 1, 0);
    for (const int32_t component : components_) ++sizes_[static_cast<size_t>(component)];
    const auto pairs = [](double n) { return n * (n - 1) / 2; };
    const double counted = static_cast<double>(pixels_ - sizes_[0]);
    double of_one = 0;
    for (size_t component = 1; component < sizes_.size(); ++component) {
      of_one += pairs(static_cast<double>(sizes_[component]));
    }
    return same ? of_one : pairs(counted) - of_one;
  }

  double margin_;
  int64_t images_ = 0, pixels_ = 0;
  std::vector<int64_t> extents_, edges_, order_, sizes_;
  std::vector<int32_t> steps_, components_;
  std::vector<float> graph_;
  Segments segments_;
};

}  // namespace

ROBUSTA_PLUGIN() {
  robusta::register_layer("MalisLoss", [](const robusta::LayerSpec& spec) { return std::make_unique<MalisLoss>(spec); });
}
