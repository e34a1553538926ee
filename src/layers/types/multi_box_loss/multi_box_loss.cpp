// MultiBoxLoss: fields, shapes, and the kernel of the CPU.

#include "layers/types/multi_box_loss/multi_box_loss.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/log.h"
#include "base/parallel.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/math.h"

namespace robusta {
namespace {

using Loss = caffe::MultiBoxLossParameter;

void check_classes(const Loss& p) {
  if (p.num_classes() == 0) {
    throw wrong_setting("multibox_loss_param.num_classes",
                        p.has_num_classes() ? "num_classes is 0" : "no num_classes is given",
                        "give the number of classes, the background among them");
  }
  const bool has_background = p.background_label_id() < p.num_classes();
  if (p.conf_loss_type() == Loss::SOFTMAX && !has_background) {
    throw wrong_setting("multibox_loss_param.background_label_id",
                        str("background_label_id is ", p.background_label_id(), " of ", p.num_classes(), " classes"),
                        "a softmax needs a class for what is no object: give one of 0 .. num_classes - 1");
  }
  if (p.map_object_to_agnostic() && p.num_classes() != (has_background ? 2 : 1)) {
    throw wrong_setting("multibox_loss_param.num_classes",
                        str("num_classes is ", p.num_classes(), " with map_object_to_agnostic"),
                        "objects are one class then, beside the background: give 2");
  }
}

void check_mining(const Loss& p, const std::string& layer) {
  const bool mines = p.mining_type() != Loss::NONE;
  if (p.has_do_neg_mining()) {
    LOG_WARNING << "layer " << layer << ": do_neg_mining is deprecated; mining_type decides";
    if (p.do_neg_mining() != mines) {
      throw wrong_setting("multibox_loss_param.do_neg_mining",
                          str("do_neg_mining is ", p.do_neg_mining() ? "true" : "false", ", but mining_type is ",
                              Loss::MiningType_Name(p.mining_type())),
                          "leave it out: mining_type decides");
    }
  }
  if (mines && !p.share_location()) {
    throw wrong_setting(
        "multibox_loss_param.mining_type", str(Loss::MiningType_Name(p.mining_type()), " without share_location"),
        "examples are mined where all classes share a box: give mining_type: NONE, or share_location: true");
  }
  if (!(p.neg_pos_ratio() >= 0)) {
    throw wrong_setting("multibox_loss_param.neg_pos_ratio", str("neg_pos_ratio is ", p.neg_pos_ratio()),
                        "give 0 or more, such as 3");
  }
  if (p.mining_type() == Loss::HARD_EXAMPLE && p.sample_size() <= 0) {
    throw wrong_setting("multibox_loss_param.sample_size", str("sample_size is ", p.sample_size()),
                        "give the examples of each item, such as 64");
  }
}

}  // namespace

MultiBoxLossLayer::MultiBoxLossLayer(const caffe::LayerParameter& param)
    : Layer(param), normalizer_(LossNormalizer::of_findings(param.loss_param(), caffe::LossParameter::VALID)) {
  const Loss& p = fields();
  check_classes(p);
  check_mining(p, name());
  require_finite(p.loc_weight(), "multibox_loss_param.loc_weight");
  require_finite(p.overlap_threshold(), "multibox_loss_param.overlap_threshold");
  require_finite(p.neg_overlap(), "multibox_loss_param.neg_overlap");
  require_finite(p.nms_param().nms_threshold(), "multibox_loss_param.nms_param.nms_threshold");
}

void MultiBoxLossLayer::require_count(const Shape& shape, int bottom, int64_t wanted, const std::string& what) const {
  if (shape.count() == wanted) return;
  throw Error(ErrorKind::kConfig,
              str("bottom ", bottom, " has shape ", shape.str(), ", but ", wanted, " numbers are wanted: ", what))
      .in_field("bottom");
}

std::vector<Shape> MultiBoxLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape &codes = bottoms[0], &scores = bottoms[1], &priors = bottoms[2];
  if (codes.axes() < 2 || scores.axes() < 2 || priors.axes() < 3) {
    throw Error(ErrorKind::kConfig,
                str("the bottoms have shapes ", codes.str(), ", ", scores.str(), " and ", priors.str()),
                "wanted are codes of boxes and scores, with a first axis of items, and the top of PriorBox, 1 x 2 x n")
        .in_field("bottom");
  }
  MultiBoxExtents e;
  e.items = codes[0];
  e.priors = priors[2] / 4;
  e.classes = fields().num_classes();
  e.shared = fields().share_location();
  e.rows = true_box_rows(bottoms[3], 3);
  const int64_t places = product_or_most(e.items, e.priors), all_scores = product_or_most(places, e.classes);
  const int64_t boxes = e.shared ? places : all_scores;
  require_count(priors, 2, product_or_most(e.priors, 8), "4 of each prior box, and as many variances");
  require_count(codes, 0, product_or_most(boxes, 4),
                str(e.items, " items x ", e.priors, " prior boxes", e.shared ? "" : " x classes", " x 4"));
  require_count(scores, 1, all_scores, str(e.items, " items x ", e.priors, " prior boxes x ", e.classes, " classes"));
  if (boxes > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorKind::kConfig, str("there are ", boxes, " boxes"), "give fewer than 2^31").in_field("bottom");
  }
  extents_ = e;
  return {Shape{}};
}

MultiBoxLocations MultiBoxLossLayer::locations() const {
  const Loss& p = fields();
  return {.e = extents_,
          .code = box_code(p.code_type()),
          .divides = p.encode_variance_in_target(),
          .inside_alone = p.bp_inside(),
          .by_priors = p.use_prior_for_matching(),
          .smooth = p.loc_loss_type() == Loss::SMOOTH_L1};
}

MultiBoxScores MultiBoxLossLayer::scores() const {
  return {.e = extents_, .softmax = fields().conf_loss_type() == Loss::SOFTMAX};
}

double MultiBoxLossLayer::weight(int bottom) const {
  if (param().propagate_down_size() > bottom && !param().propagate_down(bottom)) return 0;
  return bottom == 0 ? static_cast<double>(fields().loc_weight()) : 1;
}

namespace {

template <typename T>
class MultiBoxLossReference : public Kernel {
 public:
  explicit MultiBoxLossReference(const KernelRequest& request)
      : layer_(request.layer<MultiBoxLossLayer>()),
        e_(layer_.extents()),
        matching_(layer_.fields(), e_),
        locations_(layer_.locations()),
        scores_(layer_.scores()) {
    const auto places = static_cast<size_t>(e_.places()), boxes = static_cast<size_t>(e_.boxes());
    booking_.reads_bottoms = {true, true, true, true};
    booking_.saved_bytes = sizeof(double) + (boxes + places) * sizeof(int32_t);
    booking_.forward_scratch = places * (sizeof(double) + sizeof(float));
    if constexpr (!std::is_same_v<T, float>) {
      const auto rows = static_cast<size_t>(e_.rows), priors = static_cast<size_t>(e_.priors);
      booking_.forward_scratch += (rows * 8 + priors * 8 + boxes * 4) * sizeof(float);
    }
    booking_.asks_ranks = layer_.normalizer().counts_labels();
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const MultiBoxDecisions decisions = decide(run);
    auto* losses = static_cast<double*>(run.scratch);
    parallel_for(e_.places(), kPlaces, [&](int64_t place) {
      losses[place] = layer_.weight(0) * location_loss(run, decisions, place) +
                      layer_.weight(1) * static_cast<double>(score_loss(run, decisions, place));
    });
    double sum = 0;
    for (int64_t place = 0; place < e_.places(); ++place) sum += losses[place];
    const double divisor = layer_.divisor(matching_.matches(decisions), *run.pass);
    *static_cast<double*>(run.saved) = divisor;
    run.tops[0].as<T>()[0] = static_cast<T>(sum / divisor);
  }

  void backward(const KernelRun& run) override {
    const MultiBoxDecisions decisions = saved(run);
    const double scale = static_cast<double>(run.top_diffs[0].as<T>()[0]) / *static_cast<double*>(run.saved);
    if (run.bottom_diffs[0]) {
      parallel_for(e_.boxes(), kPlaces, [&](int64_t box) {
        locations_.template write_slopes<Math>(run.bottoms[0].as<T>(), run.bottoms[2].as<T>(), run.bottoms[3].as<T>(),
                                               box, decisions.rows[box], static_cast<T>(scale * layer_.weight(0)),
                                               run.bottom_diffs[0].as<T>() + box * 4);
      });
    }
    if (!run.bottom_diffs[1]) return;
    parallel_for(e_.places(), kPlaces, [&](int64_t place) {
      scores_.template write_slopes<Math>(run.bottoms[1].as<T>() + place * e_.classes, decisions.labels[place],
                                          decisions.rows + place * e_.box_classes(),
                                          static_cast<T>(scale * layer_.weight(1)),
                                          run.bottom_diffs[1].as<T>() + place * e_.classes);
    });
  }

 private:
  using Math = ExactMath<T>;
  static constexpr int64_t kPlaces = 64;

  MultiBoxDecisions saved(const KernelRun& run) const {
    auto* rows = reinterpret_cast<int32_t*>(static_cast<double*>(run.saved) + 1);
    return {rows, rows + e_.boxes()};
  }

  /// The numbers of a bottom as matching takes them; `scratch` moves on behind them.
  static const float* floats(const Tensor& bottom, float*& scratch) {
    if constexpr (std::is_same_v<T, float>) {
      return bottom.as<float>();
    } else {
      const float* begin = scratch;
      std::transform(bottom.as<T>(), bottom.as<T>() + bottom.count(), scratch,
                     [](T number) { return static_cast<float>(number); });
      scratch += bottom.count();
      return begin;
    }
  }

  MultiBoxDecisions decide(const KernelRun& run) {
    auto* losses = reinterpret_cast<float*>(static_cast<double*>(run.scratch) + e_.places());
    float* scratch = losses + e_.places();
    const MultiBoxDecisions decisions = saved(run);
    const float* truth = floats(run.bottoms[3], scratch);
    matching_.read({truth, static_cast<size_t>(run.bottoms[3].count())}, floats(run.bottoms[2], scratch));
    const float* codes = matching_.reads_codes() ? floats(run.bottoms[0], scratch) : nullptr;
    matching_.match(codes, decisions);
    if (!matching_.mines()) return decisions;
    parallel_for(e_.places(), kPlaces, [&](int64_t place) {
      const double location = matching_.mines_by_location() ? location_loss(run, decisions, place) : 0;
      losses[place] = static_cast<float>(location + static_cast<double>(score_loss(run, decisions, place)));
    });
    matching_.mine(codes, losses, decisions);
    return decisions;
  }

  T score_loss(const KernelRun& run, const MultiBoxDecisions& decisions, int64_t place) const {
    return scores_.template value<Math>(run.bottoms[1].as<T>() + place * e_.classes, decisions.labels[place],
                                        decisions.rows + place * e_.box_classes());
  }

  /// Of all boxes of the place.
  double location_loss(const KernelRun& run, const MultiBoxDecisions& decisions, int64_t place) const {
    double sum = 0;
    for (int64_t box = place * e_.box_classes(); box < (place + 1) * e_.box_classes(); ++box) {
      if (decisions.rows[box] < 0) continue;
      sum += static_cast<double>(locations_.template value<Math>(run.bottoms[0].as<T>(), run.bottoms[2].as<T>(),
                                                                 run.bottoms[3].as<T>(), box, decisions.rows[box]));
    }
    return sum;
  }

  const MultiBoxLossLayer& layer_;
  const MultiBoxExtents e_;
  MultiBoxMatching matching_;
  const MultiBoxLocations locations_;
  const MultiBoxScores scores_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("MultiBoxLoss", MultiBoxLossLayer);
ROBUSTA_REGISTER_REFERENCE("MultiBoxLoss", MultiBoxLossReference);

}  // namespace robusta
