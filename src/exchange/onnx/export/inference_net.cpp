// Names of blobs may be written several times: what is alive is found from the last layer back, as a compiler does.

#include "exchange/onnx/export/inference_net.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/log.h"
#include "base/str.h"
#include "exchange/head_types.h"
#include "layers/kit/stand_in.h"
#include "net/net.h"
#include "schema/splits.h"

namespace robusta {
namespace {

using BlobNames = std::set<std::string>;

/// What is left out of a model, beside all losses and metrics: what swallows blobs, and what suppresses boxes.
std::optional<Head> left_out(const caffe::LayerParameter& layer, bool is_loss, bool nms) {
  if (layer.type() == "Silence") return Head{.scores = 0};
  if (layer.type() == "DetectionOutput" && nms) return std::nullopt;
  if (layer.type() == "DetectionOutput") return Head{.scores = 3};
  return head_of(layer.type(), is_loss);
}

/// What the graph of the whole net knows of a layer.
struct LayerFacts {
  bool is_source = false, is_loss = false;
  std::vector<Shape> tops;
  std::string guess;  ///< of a source whose data are not there
};

/// Built for its shapes alone; data that are not there are guessed. Splits stand between the layers of `net`.
std::vector<LayerFacts> facts_of(const NetDef& net) {
  const QuietLog quiet;
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.plan_only = true;
  options.data.synthesize_missing = true;
  const Net built(insert_splits(net), options);
  std::vector<LayerFacts> facts;
  for (const Node& node : built.graph().nodes) {
    const auto next = static_cast<int>(facts.size());
    if (next == net.param.layer_size() || node.layer->name() != net.param.layer(next).name()) continue;
    LayerFacts& layer = facts.emplace_back();
    layer.is_source = node.source != nullptr;
    layer.is_loss = node.layer->is_loss();
    for (const VersionId top : node.tops) layer.tops.push_back(built.graph().versions[top].shape);
    const auto* source = dynamic_cast<const StandIn*>(node.layer.get());
    if (source && source->stands_in()) layer.guess = source->account();
  }
  return facts;
}

/// Blobs that nobody reads after they were last written.
BlobNames unread(const caffe::NetParameter& net) {
  BlobNames names;
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (const std::string& bottom : layer.bottom()) names.erase(bottom);
    for (const std::string& top : layer.top()) names.insert(top);
  }
  return names;
}

class Inference {
 public:
  Inference(const NetDef& net, int64_t batch, bool nms) : net_(net), batch_(batch), nms_(nms), facts_(facts_of(net)) {}

  NetDef run() {
    BlobNames wanted = unread(net_.param);
    out_ = net_;
    out_.param.clear_layer();
    out_.sources.clear();
    for (int i = 0; i < net_.param.layer_size(); ++i) add(i, wanted);
    BlobNames results;
    for (const std::string& name : unread(out_.param)) {
      if (wanted.contains(name) && !is_input(name)) results.insert(name);
    }
    if (results.empty()) {
      throw Error(ErrorKind::kUnsupported, "the net makes nothing but what it compares with labels",
                  "export a net with scores or features")
          .at(net_.file);
    }
    keep_what_makes(results);
    return std::move(out_);
  }

 private:
  void add(int i, BlobNames& wanted) {
    const caffe::LayerParameter& layer = net_.param.layer(i);
    const LayerFacts& facts = facts_[static_cast<size_t>(i)];
    if (facts.is_source && layer.type() != "DummyData") return add_input(i, facts);
    if (follows_what_is_gone(layer)) return gone_.insert(layer.top().begin(), layer.top().end());
    const std::optional<Head> head = left_out(layer, facts.is_loss, nms_);
    if (!head) return append(layer, i);
    gone_.insert(layer.top().begin(), layer.top().end());
    for (int bottom = 0; bottom < std::min(head->scores, layer.bottom_size()); ++bottom) {
      wanted.insert(layer.bottom(bottom));
    }
    if (layer.type() == "DetectionOutput") {
      LOG_INFO << "layer " << layer.name()
               << ": the model ends before it; its bottoms are outputs (-nms: it is a part)";
    }
    if (head->becomes && !has_inner(layer, head->becomes)) wanted.insert(add_inner(layer, head->becomes, i));
  }

  /// Whether nobody but the caller writes this blob of the net that is left.
  bool is_input(const std::string& blob) const {
    bool input = false;
    for (const caffe::LayerParameter& layer : out_.param.layer()) {
      if (std::find(layer.top().begin(), layer.top().end(), blob) != layer.top().end()) input = layer.type() == "Input";
    }
    return input;
  }

  /// Whether a layer reads what a loss, or such a layer, makes: it goes with them.
  bool follows_what_is_gone(const caffe::LayerParameter& layer) const {
    return std::any_of(layer.bottom().begin(), layer.bottom().end(),
                       [this](const std::string& bottom) { return gone_.contains(bottom); });
  }

  void append(const caffe::LayerParameter& layer, int i) {
    *out_.param.add_layer() = layer;
    out_.sources.push_back(net_.source_of(i));
  }

  /// What a source makes is written by the caller. What it would do to images is the caller's, too.
  void add_input(int i, const LayerFacts& facts) {
    const caffe::LayerParameter& layer = net_.param.layer(i);
    const caffe::TransformationParameter& t = layer.transform_param();
    if (t.has_scale() || t.has_mean_file() || t.mean_value_size() > 0 || t.has_crop_size()) {
      LOG_WARNING << "layer " << layer.name() << ": its transform_param (" << t.ShortDebugString()
                  << ") is no part of the model: give it images that were transformed so";
    }
    if (!facts.guess.empty()) LOG_WARNING << "layer " << layer.name() << ": " << facts.guess << ": inputs are as large";
    caffe::LayerParameter input;
    input.set_name(layer.name());
    input.set_type("Input");
    for (int top = 0; top < layer.top_size(); ++top) {
      input.add_top(layer.top(top));
      caffe::BlobShape& shape = *input.mutable_input_param()->add_shape();
      const Shape extents = with_batch(facts.tops[static_cast<size_t>(top)]);
      for (const int64_t dim : extents.dims()) shape.add_dim(dim);
    }
    append(input, i);
  }

  Shape with_batch(Shape shape) {
    if (shape.axes() == 0) return shape;
    if (first_extent_ == 0) first_extent_ = shape[0];
    if (batch_ > 0 && shape[0] == first_extent_) shape[0] = batch_;
    return shape;
  }

  /// Whether another layer of the net makes the same of the scores, as many nets do for their TEST phase.
  bool has_inner(const caffe::LayerParameter& loss, const std::string& type) const {
    for (const caffe::LayerParameter& other : net_.param.layer()) {
      if (other.type() == type && other.bottom(0) == loss.bottom(0)) return true;
    }
    return false;
  }

  std::string add_inner(const caffe::LayerParameter& loss, const std::string& type, int i) {
    caffe::LayerParameter inner;
    inner.set_name(loss.name());
    inner.set_type(type);
    inner.add_bottom(loss.bottom(0));
    // The loss's own top of probabilities is gone by its name, and stands here again.
    const bool names_it = loss.top_size() > 1 && inner.type() == "Softmax";
    inner.add_top(names_it ? loss.top(1) : new_blob("prob"));
    if (loss.has_softmax_param()) *inner.mutable_softmax_param() = loss.softmax_param();
    if (loss.type() == "InfogainLoss") inner.mutable_softmax_param()->set_axis(loss.infogain_loss_param().axis());
    gone_.erase(inner.top(0));
    append(inner, i);
    return inner.top(0);
  }

  std::string new_blob(const std::string& wish) const {
    BlobNames taken;
    for (const caffe::NetParameter* net : {&net_.param, &out_.param}) {
      for (const caffe::LayerParameter& layer : net->layer()) taken.insert(layer.top().begin(), layer.top().end());
    }
    std::string name = wish;
    for (int number = 2; taken.contains(name); ++number) name = str(wish, number);
    return name;
  }

  /// From the last layer back: who makes something that is wanted, and then what it reads is wanted instead.
  void keep_what_makes(BlobNames wanted) {
    NetDef kept = out_;
    kept.param.clear_layer();
    kept.sources.clear();
    std::vector<int> alive;
    for (int i = out_.param.layer_size() - 1; i >= 0; --i) {
      caffe::LayerParameter& layer = *out_.param.mutable_layer(i);
      if (layer.type() == "Input") keep_tops(layer, wanted);
      bool makes = false;
      for (const std::string& top : layer.top()) makes = wanted.erase(top) > 0 || makes;
      if (!makes) continue;
      wanted.insert(layer.bottom().begin(), layer.bottom().end());
      alive.push_back(i);
    }
    for (auto i = alive.rbegin(); i != alive.rend(); ++i) {
      *kept.param.add_layer() = out_.param.layer(*i);
      kept.sources.push_back(out_.source_of(*i));
    }
    out_ = std::move(kept);
  }

  static void keep_tops(caffe::LayerParameter& input, const BlobNames& wanted) {
    const caffe::LayerParameter whole = input;
    input.clear_top();
    input.mutable_input_param()->clear_shape();
    for (int top = 0; top < whole.top_size(); ++top) {
      if (!wanted.contains(whole.top(top))) continue;
      input.add_top(whole.top(top));
      *input.mutable_input_param()->add_shape() = whole.input_param().shape(top);
    }
  }

  const NetDef& net_;
  int64_t batch_, first_extent_ = 0;
  bool nms_;
  std::vector<LayerFacts> facts_;
  NetDef out_;
  BlobNames gone_;  ///< tops of layers that are left out
};

}  // namespace

NetDef inference_net(const NetDef& net, int64_t batch, bool nms) { return Inference(net, batch, nms).run(); }

}  // namespace robusta
