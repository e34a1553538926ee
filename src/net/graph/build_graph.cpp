// From a filtered definition to a graph: one pass over the layers in their order, each of which reads what was written
// before it. Every write of a name makes a new version, as in static single assignment (Cytron et al. 1991,
// "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph"); straight-line code needs no
// phi functions.
#include "net/graph/build_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/model_group.h"
#include "layers/kit/reads_files.h"
#include "net/graph/alignment.h"
#include "net/graph/gradient_flow.h"
#include "net/graph/guesses.h"
#include "net/graph/missing.h"
#include "net/graph/overwritten.h"
#include "net/graph/param_table.h"
#include "net/graph/shapes.h"
#include "net/graph/unread_pixels.h"

namespace robusta {
namespace {

[[noreturn]] void wrong_count(const char* what, int found, int least, int most) {
  std::string wanted = least == most ? str(least) : most < 0 ? str("at least ", least) : str(least, " to ", most);
  throw Error(ErrorKind::kConfig, str("takes ", wanted, " ", what, "(s), but ", found, " given"),
              str("add or remove `", what, ":` lines"))
      .in_field(what);
}

void check_arity(const Layer& layer) {
  const Arity arity = layer.arity();
  const int bottoms = layer.param().bottom_size(), tops = layer.param().top_size();
  if (bottoms < arity.min_bottoms || (arity.max_bottoms >= 0 && bottoms > arity.max_bottoms)) {
    wrong_count("bottom", bottoms, arity.min_bottoms, arity.max_bottoms);
  }
  if (tops < arity.min_tops || (arity.max_tops >= 0 && tops > arity.max_tops)) {
    wrong_count("top", tops, arity.min_tops, arity.max_tops);
  }
  if (arity.same_count && bottoms != tops) wrong_count("top", tops, bottoms, bottoms);
}

SourceOptions source_options(const NetOptions& options) {
  return {options.data, options.rank, options.ranks, options.device};
}

class Builder {
 public:
  /// `asking`: a layer that wants other bottoms than were guessed throws WantedItem.
  Builder(Graph& graph, const NetOptions& options, const Graph* lender, const Guesses& guesses, bool asking)
      : graph_(graph), options_(options), guesses_(guesses), asking_(asking), params_(graph, options, lender) {}

  void add_layer(int index) {
    const NodeId id(index);
    caffe::LayerParameter& param = *graph_.def.param.mutable_layer(index);
    if (!param.has_phase()) param.set_phase(graph_.def.param.state().phase());
    LOG_INFO << "Creating Layer " << param.name();
    Node& node = graph_.nodes.emplace_back();
    node.where = graph_.def.source_of(index);
    node.layer = make_layer(param);
    node.layer->name_automatic_tops();
    *param.mutable_top() = node.layer->param().top();
    cut(*node.layer);
    node.source = dynamic_cast<SourceLayer*>(node.layer.get());
    check_arity(*node.layer);
    if (node.source) open_source(node);
    if (auto* reader = dynamic_cast<ReadsFiles*>(node.layer.get())) {
      reader->read_files(options_.data.synthesize_missing);
    }
    connect_bottoms(node, id);
    infer(node);
    if (node.layer->sizing_bottom() >= 0) graph_.sizers.push_back(id);
    connect_tops(node, id);
    params_.add(node);
    for (const VersionId v : node.tops) {
      LOG_INFO << "Top shape: " << graph_.versions[v].shape.str();
    }
  }

 private:
  void cut(Layer& layer) const {
    const auto group = options_.model_groups.find(layer.name());
    if (group != options_.model_groups.end()) dynamic_cast<CutByOutputs&>(layer).cut(*group->second);
  }

  void open_source(const Node& node) const {
    tell_guesses(node);
    node.source->open(source_options(options_));
    if (std::ranges::count(options_.fixed_sources, node.layer->name()) > 0) return;
    if (options_.batch > 0) node.source->set_batch(options_.batch);
    if (options_.divide_batch) divide_batch(node);
    if (options_.micro_batches > 1) cut_batch(node);
  }

  void tell_guesses(const Node& node) const {
    auto* source = dynamic_cast<StandIn*>(node.source);
    if (!source) return;
    for (int top = 0; top < node.layer->param().top_size(); ++top) {
      const auto guess = guesses_.find({node.layer->name(), top});
      if (guess != guesses_.end()) source->assume(top, guess->second);
    }
  }

  /// `-batch global`: this rank's part of the batch.
  void divide_batch(const Node& node) const {
    const int64_t batch = batch_of(node), parts = options_.ranks;
    if (batch % parts != 0) {
      throw Error(ErrorKind::kConfig, str("a global batch of ", batch, " cannot be divided among ", parts, " ranks"),
                  str("make it a multiple, such as ", next_multiple(batch, parts),
                      ", or leave -batch global out: batch_size is then that of each rank"));
    }
    if (batch > 0) node.source->set_batch(batch / parts);
  }

  /// `-micro_batches`: what one pass takes.
  void cut_batch(const Node& node) const {
    const int64_t batch = batch_of(node), parts = options_.micro_batches;
    if (batch % parts != 0) {
      throw Error(ErrorKind::kConfig, str("a batch of ", batch, " cannot be cut into ", parts, " micro-batches"),
                  str("make it a multiple, such as ", next_multiple(batch, parts),
                      ", or give a divisor of it to -micro_batches"));
    }
    if (batch > 0) node.source->set_batch(batch / parts);
  }

  /// 0: its tops have no samples.
  static int64_t batch_of(const Node& node) {
    const std::vector<Shape> tops = node.source->infer_tops({});
    return tops.empty() || tops[0].axes() == 0 ? 0 : tops[0][0];
  }

  static int64_t next_multiple(int64_t batch, int64_t of) { return (batch + of - 1) / of * of; }

  void connect_bottoms(Node& node, NodeId id) {
    const auto& param = node.layer->param();
    for (int i = 0; i < param.bottom_size(); ++i) {
      const auto found = latest_.find(param.bottom(i));
      if (found == latest_.end()) {
        throw Error(ErrorKind::kConfig, "unknown bottom blob \"" + param.bottom(i) + "\"",
                    "name the top of an earlier layer")
            .in_field("bottom");
      }
      BlobVersion& version = graph_.versions[found->second];
      version.consumer = id;
      version.bottom = i;
      node.bottoms.push_back(found->second);
      LOG_INFO << param.name() << " <- " << param.bottom(i);
    }
  }

  void infer(const Node& node) {
    if (asking_) {
      if (auto wanted = wanted_item(graph_, node, bottom_shapes(graph_, node))) throw WantedItem(*wanted);
    }
    if (node.layer->aligns_bottoms()) node.layer->align(offsets_between(graph_, node.bottoms[0], node.bottoms[1]));
    tops_ = node.layer->infer_tops(bottom_shapes(graph_, node));
    for (const Shape& shape : tops_) check_extents(shape);
  }

  bool varies(const Node& node) const {
    const auto& versions = graph_.versions;
    return node.layer->sizing_bottom() >= 0 ||
           std::any_of(node.bottoms.begin(), node.bottoms.end(), [&](VersionId v) { return versions[v].varies; });
  }

  void connect_tops(Node& node, NodeId id) {
    const auto& param = node.layer->param();
    const int weights = param.loss_weight_size();
    if (weights != 0 && weights != param.top_size()) {
      throw Error(ErrorKind::kConfig, str(weights, " loss_weight values for ", param.top_size(), " tops"),
                  "give one per top or none")
          .in_field("loss_weight");
    }
    for (int i = 0; i < param.top_size(); ++i) {
      const std::string& name = param.top(i);
      const bool in_place = i < param.bottom_size() && param.bottom(i) == name;
      if (const auto old = latest_.find(name); old != latest_.end() && name != kAutomaticTop) {
        if (!in_place) {
          throw Error(ErrorKind::kConfig, "top blob \"" + name + "\" is already produced by an earlier layer",
                      "rename it (only an in-place layer may reuse the name of its own bottom)")
              .in_field("top");
        }
        graph_.versions[old->second].hidden_by_later = true;
      }
      LOG_INFO << param.name() << " -> " << name << (in_place ? " (in-place)" : "");
      BlobVersion version{.name = name, .shape = tops_[static_cast<size_t>(i)], .producer = id, .top = i};
      version.loss_weight = weights > 0 ? param.loss_weight(i) : (node.layer->is_loss() && i == 0 ? 1.0f : 0.0f);
      version.varies = varies(node) && version.shape.axes() > 0;
      if (version.loss_weight != 0) LOG_INFO << "    with loss weight " << version.loss_weight;
      latest_[name] = graph_.versions.push_back(std::move(version));
      node.tops.push_back(latest_[name]);
    }
  }

  Graph& graph_;
  const NetOptions& options_;
  const Guesses& guesses_;
  const bool asking_;
  ParamTable params_;
  std::map<std::string, VersionId> latest_;  ///< blob name -> its newest version
  std::vector<Shape> tops_;
};

/// The layers and what connects them.
Graph with_layers(NetDef def, const NetOptions& options, const Graph* lender, const Guesses& guesses, bool asking) {
  Graph graph;
  graph.def = std::move(def);
  Builder builder(graph, options, lender, guesses, asking);
  for (int i = 0; i < graph.def.param.layer_size(); ++i) {
    try {
      builder.add_layer(i);
    } catch (Error& error) {
      rethrow_at(with_guesses(error, graph), graph.def.param.layer(i).name(), graph.def.source_of(i));
    }
  }
  return graph;
}

/// Of data that are absent; nothing where they are there, or have to be.
Guesses guesses_for(const NetDef& def, const NetOptions& options, const Graph* lender) {
  if (!options.data.synthesize_missing) return {};
  const Guesses own = guesses_of_sources(def, source_options(options));
  if (own.empty()) return {};
  return guess_items(
      own, [&](const Guesses& guesses, bool asking) { return with_layers(def, options, lender, guesses, asking); });
}

/// On a GPU the launch of a Pooling costs more than what it saves of an image or two.
bool may_skip_pixels(const NetOptions& options, int64_t batch) {
  constexpr int64_t kLeastOnGpu = 4;
  const bool gains = options.device->is_host() || batch >= kLeastOnGpu;
  return options.skip_unread && gains && !options.backward && !options.keep_blobs && !options.stage &&
         options.model_groups.empty();
}

}  // namespace

Graph build_graph(NetDef def, const NetOptions& options, const Graph* lender) {
  def.param.mutable_state()->set_phase(options.phase);
  def.sources.resize(static_cast<size_t>(def.param.layer_size()));
  if (def.param.layer_size() == 0) {
    throw Error(ErrorKind::kConfig, "the net has no layers in this phase", "check the include and exclude rules")
        .at(def.file);
  }
  refuse_missing(def);
  const Guesses guesses = guesses_for(def, options, lender);
  Graph graph = with_layers(std::move(def), options, lender, guesses, false);
  if (may_skip_pixels(options, graph.batch())) skip_unread_pixels(graph);
  mark_gradients(graph, options);
  if (options.backward) mark_overwritten(graph);
  for (const BlobVersion& version : graph.versions) {
    if (!version.consumer && version.name != kAutomaticTop) {
      LOG_INFO << "This network produces output " << version.name;
    }
  }
  LOG_INFO << "Network initialization done.";
  return graph;
}

}  // namespace robusta
