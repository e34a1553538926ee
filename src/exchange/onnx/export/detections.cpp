// DetectionOutput by TopK and NonMaxSuppression.
//
// NonMaxSuppression bounds what it keeps of a class, DetectionOutput what it looks at (top_k): so the best of each
// class are found first, and each class of each item becomes an item of its own, with boxes of its own. What is kept,
// score by score, lies in an array of all that was looked at, minus infinity for the rest: of that the best of each
// item are kept once more (keep_top_k), and what is left is in the order of DetectionOutput's rows, by item, class and
// score.

#include <algorithm>
#include <cfloat>
#include <limits>
#include <string>
#include <vector>

#include "base/str.h"
#include "exchange/onnx/export/emitter.h"
#include "layers/types/detection_output/detection_output.h"

namespace robusta {
namespace {

constexpr int64_t kInt64 = onnx::TensorProto::INT64, kFloat = onnx::TensorProto::FLOAT;

class DetectionsEmission {
 public:
  explicit DetectionsEmission(LayerEmission& layer)
      : layer_(layer),
        param_(layer.param().detection_output_param()),
        coding_(layer.as<DetectionOutputLayer>().coding()),
        items_(layer.bottom_dims(0)[0]),
        nothing_(layer.number(-std::numeric_limits<float>::infinity())) {
    require_equal_in_onnx();
    const int64_t top_k = param_.nms_param().has_top_k() ? param_.nms_param().top_k() : -1;
    looked_at_ = top_k < 0 ? coding_.priors : std::min<int64_t>(top_k, coding_.priors);
    for (int64_t label = 0; label < coding_.classes; ++label) {
      if (label != param_.background_label_id()) labels_.push_back(label);
    }
    if (labels_.empty()) layer.refuse("all of its classes are background", "detection_output_param.num_classes");
  }

  void emit() {
    const auto classes = static_cast<int64_t>(labels_.size());
    const std::string best = layer_.fresh("scores"), which = layer_.fresh("which");
    layer_.node_to("TopK", {scores_of_classes(), layer_.integers({looked_at_})}, {best, which}, {{"axis", int64_t{2}}});
    const std::string places = layer_.node("Unsqueeze", {which, layer_.integers({3})});
    const std::string boxes = layer_.node("GatherND", {decoded_boxes(), places}, {{"batch_dims", int64_t{1}}});
    const Dim each_class = items_ * Dim{classes}, of_item{classes * looked_at_};
    const std::string kept = layer_.reshape(suppressed(layer_.reshape(boxes, {each_class, {looked_at_}, {4}}),
                                                       layer_.reshape(best, {each_class, {looked_at_}})),
                                            {items_, of_item});
    const std::string rows = rows_of(limited(kept), layer_.reshape(boxes, {items_, of_item, {4}}));
    layer_.node_to("Reshape", {rows, layer_.integers({1, 1, -1, 7})}, {layer_.top_name(0)});
  }

 private:
  void require_equal_in_onnx() const {
    const std::string path = "detection_output_param.";
    if (coding_.code != BoxCode::kCenterSize)
      layer_.refuse("only boxes of code_type CENTER_SIZE are never upside down, which NonMaxSuppression turns over",
                    path + "code_type");
    if (!coding_.shared) layer_.refuse("each class has boxes of its own", path + "share_location");
    if (param_.nms_param().eta() < 1)
      layer_.refuse("the threshold of NonMaxSuppression does not move", path + "nms_param.eta");
    if (param_.nms_param().nms_threshold() > 1)
      layer_.refuse("NonMaxSuppression takes thresholds of 0 to 1", path + "nms_param.nms_threshold");
    if (param_.nms_param().has_top_k() && param_.nms_param().top_k() == 0)
      layer_.refuse("nothing is looked at", path + "nms_param.top_k");
    if (param_.keep_top_k() == 0) layer_.refuse("nothing is kept", path + "keep_top_k");
  }

  std::vector<std::string> halves(const std::string& x, int64_t axis, int64_t extent) {
    const std::string first = layer_.fresh("first"), second = layer_.fresh("second");
    layer_.node_to("Split", {x, layer_.integers({extent, extent})}, {first, second}, {{"axis", axis}});
    return {first, second};
  }

  /// [items, priors, 4]; xmin, ymin, xmax, ymax (ops/boxes.h).
  std::string decoded_boxes() {
    const std::string priors = layer_.reshape(layer_.bottom(2), {{2}, {coding_.priors}, {4}});
    const std::vector<std::string> parts = halves(priors, 0, 1), corners = halves(parts[0], 2, 2);
    std::string codes = layer_.reshape(layer_.bottom(0), {items_, {coding_.priors}, {4}});
    if (coding_.has_variance) codes = layer_.node("Mul", {codes, parts[1]});
    const std::vector<std::string> code = halves(codes, 2, 2);
    const std::string size = layer_.node("Sub", {corners[1], corners[0]}), half = layer_.number(0.5f);
    const std::string middle = layer_.node("Mul", {layer_.node("Add", {corners[0], corners[1]}), half});
    const std::string centre = layer_.node("Add", {middle, layer_.node("Mul", {code[0], size})});
    const std::string reach = layer_.node("Mul", {layer_.node("Mul", {layer_.node("Exp", {code[1]}), size}), half});
    return layer_.node("Concat", {layer_.node("Sub", {centre, reach}), layer_.node("Add", {centre, reach})},
                       {{"axis", int64_t{2}}});
  }

  /// [items, classes without the background, priors]; what is not above the threshold, or no number, is nothing.
  std::string scores_of_classes() {
    const std::string all = layer_.reshape(layer_.bottom(1), {items_, {coding_.priors}, {coding_.classes}});
    const std::string by_class = layer_.node("Transpose", {all}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    const std::string scores = layer_.node("Gather", {by_class, layer_.integers(labels_)}, {{"axis", int64_t{1}}});
    const float least = param_.has_confidence_threshold() ? param_.confidence_threshold() : -FLT_MAX;
    const std::string above = layer_.node("Greater", {scores, layer_.number(least)});
    return layer_.node("Where", {above, scores, nothing_});
  }

  std::string nothing_like(const std::string& x) {
    return layer_.node("Expand", {nothing_, layer_.node("Shape", {x})});
  }

  /// The scores that stay, of boxes [classes of items, looked at, 4].
  std::string suppressed(const std::string& boxes, const std::string& scores) {
    const std::string one_class = layer_.node("Unsqueeze", {scores, layer_.integers({1})});
    const std::string found =
        layer_.node("NonMaxSuppression", {boxes, one_class, layer_.integers({looked_at_}),
                                          layer_.number(param_.nms_param().nms_threshold()), layer_.number(-FLT_MAX)});
    const std::string places = layer_.node("Gather", {found, layer_.integers({0, 2})}, {{"axis", int64_t{1}}});
    const std::string stays = layer_.node("GatherND", {scores, places});
    return layer_.node("ScatterND", {nothing_like(scores), places, stays});
  }

  /// Of each item's scores the keep_top_k best alone.
  std::string limited(const std::string& kept) {
    const int64_t most = param_.keep_top_k();
    if (most < 0 || most >= static_cast<int64_t>(labels_.size()) * looked_at_) return kept;
    const std::string best = layer_.fresh("best"), places = layer_.fresh("best_places");
    layer_.node_to("TopK", {kept, layer_.integers({most})}, {best, places}, {{"axis", int64_t{1}}});
    return layer_.node("ScatterElements", {nothing_like(kept), places, best}, {{"axis", int64_t{1}}});
  }

  std::string column(const std::string& x) { return layer_.node("Unsqueeze", {x, layer_.integers({1})}); }
  std::string cast(const std::string& x, int64_t type) { return layer_.node("Cast", {x}, {{"to", type}}); }

  std::string rows_of(const std::string& kept, const std::string& boxes) {
    const std::string stays = layer_.node("Greater", {kept, layer_.number(-FLT_MAX)});
    const std::string places = layer_.node("Transpose", {layer_.node("NonZero", {stays})});  // rows of item and place
    const std::string item = layer_.fresh("item"), place = layer_.fresh("place");
    layer_.node_to("Split", {places, layer_.integers({1, 1})}, {item, place}, {{"axis", int64_t{1}}});
    const std::string class_index = layer_.node("Div", {place, layer_.integer(looked_at_)});
    const std::string label = layer_.node("Gather", {layer_.integers(labels_), class_index});
    const std::string score = column(layer_.node("GatherND", {kept, places}));
    const std::string rows = layer_.node(
        "Concat", {cast(item, kFloat), cast(label, kFloat), score, layer_.node("GatherND", {boxes, places})},
        {{"axis", int64_t{1}}});
    return layer_.node("Concat", {rows, rows_of_nothing(boxes, places)}, {{"axis", int64_t{0}}});
  }

  /// A row for each item where there are no places at all, else no row.
  std::string rows_of_nothing(const std::string& boxes, const std::string& places) {
    const auto first_extent = [&](const std::string& x) {
      return layer_.node("Gather", {layer_.node("Shape", {x}), layer_.integer(0)});
    };
    const std::string count = first_extent(boxes);
    const std::string item = layer_.node("Range", {layer_.integer(0), count, layer_.integer(1)});
    const std::string whole =
        layer_.node("Pad", {column(cast(item, kFloat)), layer_.integers({0, 0, 0, 6}), layer_.number(-1)});
    const std::string empty = cast(layer_.node("Equal", {first_extent(places), layer_.integer(0)}), kInt64);
    const std::string end = layer_.node("Unsqueeze", {layer_.node("Mul", {count, empty}), layer_.integers({0})});
    return layer_.node("Slice", {whole, layer_.integers({0}), end, layer_.integers({0})});
  }

  LayerEmission& layer_;
  const caffe::DetectionOutputParameter& param_;
  const DetectionCoding& coding_;
  Dim items_;
  std::string nothing_;
  int64_t looked_at_ = 0;
  std::vector<int64_t> labels_;
};

void emit_detection_output(LayerEmission& layer) { DetectionsEmission(layer).emit(); }

[[maybe_unused]] const bool registered_detections =
    register_varying_onnx_emitter("DetectionOutput", emit_detection_output, 2);

}  // namespace
}  // namespace robusta
