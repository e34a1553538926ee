#include "app/checks/label_checks.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/str.h"
#include "data/datum.h"
#include "data/open_source.h"

namespace robusta {
namespace {

/// A layer that compares scores with the labels of a Data layer.
struct Use {
  const Node* node;
  const Layer* data;
  int64_t classes;
  std::optional<int> ignored;
  std::string scores_from;  ///< the layer whose num_output the classes are; "" if that is not clear
};

struct Seen {
  int64_t labels = 0;
  int least = std::numeric_limits<int>::max(), most = std::numeric_limits<int>::min();
};

const Node* producer(const Graph& graph, VersionId version) {
  const NodeId node = graph.versions[version].producer;
  return node ? &graph.nodes[node] : nullptr;
}

/// The Data layer whose labels this version of a blob are; null: it is something else.
const Layer* data_of_labels(const Graph& graph, VersionId version) {
  const Node* node = producer(graph, version);
  while (node && node->layer->type() == "Split") {
    version = node->bottoms[0];
    node = producer(graph, version);
  }
  const bool labels = node && node->layer->type() == "Data" && graph.versions[version].top == 1;
  return labels && node->source->records() > 0 ? node->layer.get() : nullptr;
}

/// Up through layers with one bottom, which do not change the number of classes as a rule.
std::string maker_of_scores(const Graph& graph, VersionId version, int64_t classes) {
  for (const Node* node = producer(graph, version); node; node = producer(graph, node->bottoms[0])) {
    const caffe::LayerParameter& param = node->layer->param();
    const bool makes = (param.has_inner_product_param() && param.inner_product_param().num_output() == classes) ||
                       (param.has_convolution_param() && param.convolution_param().num_output() == classes);
    if (makes) return node->layer->name();
    if (node->bottoms.size() != 1) break;
  }
  return "";
}

template <typename Settings>
std::optional<int> ignored_by(const Settings& settings) {
  return settings.has_ignore_label() ? std::optional<int>(settings.ignore_label()) : std::nullopt;
}

std::vector<Use> uses_of_labels(const Net& net) {
  const Graph& graph = net.graph();
  std::vector<Use> uses;
  for (const Node& node : graph.nodes) {
    const bool is_loss = node.layer->type() == "SoftmaxWithLoss";
    if (!is_loss && node.layer->type() != "Accuracy") continue;
    const Layer* data = data_of_labels(graph, node.bottoms[1]);
    if (!data) continue;
    const caffe::LayerParameter& param = node.layer->param();
    const int axis = is_loss ? param.softmax_param().axis() : param.accuracy_param().axis();
    const Shape& scores = graph.versions[node.bottoms[0]].shape;
    const int64_t classes = scores[scores.canonical_axis(axis)];
    uses.push_back({&node, data, classes, is_loss ? ignored_by(param.loss_param()) : ignored_by(param.accuracy_param()),
                    maker_of_scores(graph, node.bottoms[0], classes)});
  }
  return uses;
}

[[noreturn]] void refuse(const Use& use, int label, const std::string& record) {
  const std::string fix = use.scores_from.empty()
                              ? str("make scores for ", label + 1, " classes or more")
                              : str("give layer \"", use.scores_from, "\" num_output: ", label + 1, " or more");
  Error error(
      ErrorKind::kData,
      str("label ", label, " of record ", record, " (layer \"", use.data->name(), "\") is out of range 0..",
          use.classes - 1, ": ",
          use.scores_from.empty() ? "the scores have " : str("num_output of layer \"", use.scores_from, "\" is "),
          use.classes),
      label < 0 ? "labels count from 0: correct the data" : fix + " (labels count from 0), or correct the data");
  rethrow_at(std::move(error), use.node->layer->name(), use.node->where);
}

/// This rank's part of records that are spread over the whole set: sorted ones have their largest label at the end.
Seen look_at_labels(const Ranks& ranks, const Use& use) {
  constexpr int64_t kMost = 1000;
  const caffe::DataParameter& param = use.data->param().data_param();
  const auto reader = open_source(param.source(), param.backend());
  const int64_t looks = std::min(kMost, reader->size());
  Seen seen;
  std::string storage;
  std::vector<float> floats;
  for (int64_t i = ranks.rank(); i < looks; i += ranks.count()) {
    const int64_t index = looks > 1 ? i * (reader->size() - 1) / (looks - 1) : 0;
    const int label = parse_datum(reader->record(index, storage), floats).label;
    ++seen.labels;
    seen.least = std::min(seen.least, label);
    seen.most = std::max(seen.most, label);
    if (label == use.ignored || (label >= 0 && label < use.classes)) continue;
    refuse(use, label, record_name(*reader, index));
  }
  return seen;
}

std::string describe(Ranks& ranks, const Use& use, const Seen& mine) {
  Seen all;
  for (const Seen& seen : ranks.gather(mine)) {
    all.labels += seen.labels;
    all.least = std::min(all.least, seen.least);
    all.most = std::max(all.most, seen.most);
  }
  return str(all.least, "..", all.most, " in ", all.labels, " records of ", use.data->param().data_param().source(),
             ", for ", use.classes, " classes");
}

}  // namespace

std::string check_labels_fit(Ranks& ranks, Solver& solver) {
  std::vector<Use> uses = uses_of_labels(solver.train_net());
  for (const auto& net : solver.test_nets()) {
    for (const Use& use : uses_of_labels(*net)) uses.push_back(use);
  }
  std::string text;
  for (const Use& use : uses) {
    Seen seen;
    ranks.together([&] { seen = look_at_labels(ranks, use); });
    const std::string found = describe(ranks, use, seen);
    if (text.find(found) == std::string::npos) text += (text.empty() ? "" : "; ") + found;
  }
  return text.empty() ? "no loss and no accuracy takes them from a Data layer" : text;
}

}  // namespace robusta
