// Which blobs are labels follows from who reads them: what losses and metrics compare scores with, and what leads to
// that and to no score.

#include "exchange/deploy/heads.h"

#include <algorithm>

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "exchange/head_types.h"

namespace robusta::deploy {
namespace {

using Blobs = std::set<std::string>;

struct LayerFacts {
  std::optional<Head> head;
  bool source = false;  ///< of data, as opposed to what is an input already
  bool input = false;
};

std::vector<LayerFacts> facts_of(const DeployNet& net) {
  const NetDef def = net.definition();
  const std::unique_ptr<Net> built = build_net(def, net.batch, true);
  std::vector<LayerFacts> facts;
  for (const NodeId id : nodes_of(*built, def.param)) {
    const Node& node = built->graph().nodes[id];
    const bool input = node.source && node.source->is_input();
    facts.push_back(
        {.head = head_of(node.layer->type(), node.layer->is_loss()), .source = node.source && !input, .input = input});
  }
  return facts;
}

/// The blobs and all that they are computed from.
Blobs ancestors(const DeployNet& net, Blobs blobs) {
  for (int i = net.size() - 1; i >= 0; --i) {
    const caffe::LayerParameter& layer = net.param(i);
    const auto wanted = [&](const std::string& top) { return blobs.contains(top); };
    if (std::any_of(layer.top().begin(), layer.top().end(), wanted)) {
      blobs.insert(layer.bottom().begin(), layer.bottom().end());
    }
  }
  return blobs;
}

/// Tops of sources that lead to labels and to no score.
Blobs labels(const DeployNet& net, const std::vector<LayerFacts>& facts) {
  Blobs scores, truths, found;
  for (int i = 0; i < net.size(); ++i) {
    const std::optional<Head>& head = facts[static_cast<size_t>(i)].head;
    if (!head) continue;
    for (int b = 0; b < net.param(i).bottom_size(); ++b)
      (b < head->scores ? scores : truths).insert(net.param(i).bottom(b));
  }
  scores = ancestors(net, scores);
  truths = ancestors(net, truths);
  for (int i = 0; i < net.size(); ++i) {
    if (!facts[static_cast<size_t>(i)].source && !facts[static_cast<size_t>(i)].input) continue;
    for (const std::string& top : net.param(i).top()) {
      if (truths.contains(top) && !scores.contains(top)) found.insert(top);
    }
  }
  return found;
}

/// Whether a layer of this type reads the blob already.
bool has_reader_of_type(const DeployNet& net, const std::string& blob, const std::string& type) {
  for (const int reader : net.readers(blob)) {
    if (net.param(reader).type() == type) return true;
  }
  return false;
}

bool has_name(const DeployNet& net, const std::string& name) {
  return net.free_layer_name(name) != name ||
         std::any_of(net.names.begin(), net.names.end(), [&](const auto& entry) { return entry.second == name; });
}

/// The layer that loss `i` has inside.
caffe::LayerParameter probability_layer(DeployNet& net, int i, const Head& head, bool last) {
  const caffe::LayerParameter& loss = net.param(i);
  caffe::LayerParameter layer;
  const std::string own = loss.name() + "_prob";
  layer.set_name(net.free_layer_name(last && !has_name(net, "prob") ? "prob" : own));
  layer.set_type(head.becomes);
  layer.add_bottom(loss.bottom(0));
  // The second top of a loss is its probabilities under a name that the user has chosen.
  const bool named = loss.top_size() > 1 && layer.type() == "Softmax";
  layer.add_top(named ? loss.top(1) : net.new_blob(layer.name()));
  if (loss.softmax_param().has_axis()) layer.mutable_softmax_param()->set_axis(loss.softmax_param().axis());
  return layer;
}

/// Puts the layers that losses have inside before them; the last one is called prob where nothing else is.
void add_probabilities(DeployNet& net, const std::vector<LayerFacts>& facts) {
  bool last = true;
  for (int i = net.size() - 1; i >= 0; --i) {
    const std::optional<Head>& head = facts[static_cast<size_t>(i)].head;
    if (!head || !head->becomes || net.param(i).bottom_size() == 0) continue;
    if (has_reader_of_type(net, net.param(i).bottom(0), head->becomes)) continue;
    caffe::LayerParameter layer = probability_layer(net, i, *head, last);
    LOG_INFO << net.param(i).type() << " " << net.param(i).name() << " becomes " << layer.type() << " " << layer.name();
    const LayerSource source = net.at(i).source;
    if (net.param(i).top_size() > 1 && layer.top(0) == net.param(i).top(1)) {
      net.param(i).mutable_top()->RemoveLast();
    }
    net.insert(i, std::move(layer), source);
    last = false;
  }
}

void remove_readers_of(DeployNet& net, Blobs gone, const std::set<std::string>& heads) {
  for (int i = 0; i < net.size();) {
    const caffe::LayerParameter& layer = net.param(i);
    const auto is_gone = [&](const std::string& blob) { return gone.contains(blob); };
    if (!heads.contains(layer.name()) && std::none_of(layer.bottom().begin(), layer.bottom().end(), is_gone)) {
      ++i;
      continue;
    }
    gone.insert(layer.top().begin(), layer.top().end());
    net.remove(i);
  }
}

void find_outputs(DeployNet& net, const std::vector<std::string>& sources) {
  net.outputs.clear();
  for (const DeployLayer& layer : net.layers) {
    if (std::find(sources.begin(), sources.end(), layer.param.name()) != sources.end()) continue;
    for (const std::string& top : layer.param.top()) {
      if (net.readers(top).empty()) net.outputs.insert(top);
    }
  }
}

/// Takes away layers that lead to no output, sources among them.
void prune(DeployNet& net) {
  const Blobs needed = ancestors(net, net.outputs);
  for (int i = net.size() - 1; i >= 0; --i) {
    const auto is_needed = [&](const std::string& top) { return needed.contains(top); };
    const auto& tops = net.param(i).top();
    if (std::none_of(tops.begin(), tops.end(), is_needed)) net.remove(i);
  }
}

}  // namespace

void remove_heads(DeployNet& net, bool scores) {
  const std::vector<LayerFacts> facts = facts_of(net);
  const Blobs truths = labels(net, facts);
  std::set<std::string> heads;
  std::vector<std::string> sources;
  for (int i = 0; i < net.size(); ++i) {
    const LayerFacts& layer = facts[static_cast<size_t>(i)];
    if (layer.head || net.param(i).type() == "Silence") heads.insert(net.param(i).name());
    if (layer.source || layer.input) sources.push_back(net.param(i).name());
  }
  if (!scores) add_probabilities(net, facts);
  remove_readers_of(net, truths, heads);
  find_outputs(net, sources);
  if (net.outputs.empty()) {
    throw Error(ErrorKind::kConfig, "without its sources, labels, losses and metrics the net has no layer left",
                "give a net that computes something of its data in phase TEST")
        .at(net.file);
  }
}

std::vector<bool> training_layers(const DeployNet& net) {
  std::vector<bool> found;
  for (const LayerFacts& layer : facts_of(net)) found.push_back(layer.source || layer.head.has_value());
  return found;
}

void keep_outputs(DeployNet& net, const std::vector<std::string>& names) {
  Blobs kept;
  std::vector<std::string> known;
  for (const auto& [blob, name] : net.names) {
    if (net.producer(blob) >= 0) known.push_back(name);
  }
  for (const std::string& name : names) {
    std::string found;
    for (const DeployLayer& layer : net.layers) {  // the last that was written under the name, as Caffe sees it
      for (const std::string& top : layer.param.top()) {
        if (net.names.at(top) == name) found = top;
      }
    }
    if (found.empty()) {
      throw Error(ErrorKind::kUsage, str("-blobs: the net has no blob \"", name, '"', did_you_mean(name, known)),
                  "name blobs of the net without its labels and losses");
    }
    kept.insert(found);
  }
  if (!names.empty()) net.outputs = kept;
  prune(net);
  for (const std::string& output : net.outputs) {
    if (names.empty() || net.readers(output).empty()) continue;
    throw Error(ErrorKind::kUsage, str("-blobs: \"", net.names.at(output), "\" is read on the way to another of them"),
                "an output of a Caffe net is a blob that nobody reads: write two pairs of files");
  }
}

}  // namespace robusta::deploy
