// Labels are traced back from losses and accuracies to the Data layers they come from, through Split layers.

#include "app/checks/label_checks.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/str.h"

namespace robusta {
namespace {

/// A layer that compares scores with the labels of a source's records.
struct Use {
  const Node* node;
  const SourceLayer* data;
  LabelUse labels;
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

/// The source whose records' labels this version of a blob are; null: it is something else.
const SourceLayer* source_of_labels(const Graph& graph, VersionId version) {
  const Node* node = producer(graph, version);
  while (node && node->layer->repeats_bottom()) {
    version = node->bottoms[0];
    node = producer(graph, version);
  }
  const LabelledRecords* records = node && node->source ? node->source->labelled() : nullptr;
  return records && graph.versions[version].top == records->top() ? node->source : nullptr;
}

/// Up through layers with one bottom, which do not change the number of classes as a rule.
std::string maker_of_scores(const Graph& graph, VersionId version, int64_t classes) {
  for (const Node* node = producer(graph, version); node; node = producer(graph, node->bottoms[0])) {
    if (node->layer->num_output() == classes) return node->layer->name();
    if (node->bottoms.size() != 1) break;
  }
  return "";
}

std::vector<Use> uses_of_labels(const Net& net) {
  const Graph& graph = net.graph();
  std::vector<Use> uses;
  for (const Node& node : graph.nodes) {
    std::vector<Shape> bottoms;
    for (const VersionId v : node.bottoms) bottoms.push_back(graph.versions[v].shape);
    const std::optional<LabelUse> labels = node.layer->label_use(bottoms);
    if (!labels) continue;
    const SourceLayer* data = source_of_labels(graph, node.bottoms[static_cast<size_t>(labels->labels)]);
    if (!data) continue;
    const VersionId scores = node.bottoms[static_cast<size_t>(labels->scores)];
    uses.push_back({&node, data, *labels, maker_of_scores(graph, scores, labels->classes)});
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
          use.labels.classes - 1, ": ",
          use.scores_from.empty() ? "the scores have " : str("num_output of layer \"", use.scores_from, "\" is "),
          use.labels.classes),
      label < 0 ? "labels count from 0: correct the data" : fix + " (labels count from 0), or correct the data");
  rethrow_at(std::move(error), use.node->layer->name(), use.node->where);
}

/// This rank's part of records that are spread over the whole set: sorted ones have their largest label at the end.
Seen look_at_labels(const Ranks& ranks, const Use& use) {
  constexpr int64_t kMost = 1000;
  const LabelledRecords& records = *use.data->labelled();
  const int64_t looks = std::min(kMost, records.size());
  Seen seen;
  for (int64_t i = ranks.rank(); i < looks; i += ranks.count()) {
    const int64_t index = looks > 1 ? i * (records.size() - 1) / (looks - 1) : 0;
    const int label = records.label(index);
    ++seen.labels;
    seen.least = std::min(seen.least, label);
    seen.most = std::max(seen.most, label);
    if (label == use.labels.ignored || (label >= 0 && label < use.labels.classes)) continue;
    refuse(use, label, records.name(index));
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
  return str(all.least, "..", all.most, " in ", all.labels, " records of ", use.data->labelled()->source(), ", for ",
             use.labels.classes, " classes");
}

}  // namespace

std::string check_labels_fit(Ranks& ranks, Solver& solver) {
  std::vector<Use> uses = uses_of_labels(solver.whole_net());
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
