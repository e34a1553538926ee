// What ranks exchange is text of a length that each tells before.

#include "inspect/sample_scores.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "data/convert/text_tree.h"
#include "data/image.h"
#include "inspect/small_picture.h"
#include "layers/kit/labels.h"

namespace robusta {
namespace {

/// Where the value of a version comes from, behind the Split layers that were put in between.
const BlobVersion& source_of_values(const Graph& graph, VersionId version) {
  const BlobVersion* now = &graph.versions[version];
  while (graph.nodes[now->producer].layer->repeats_bottom()) {
    now = &graph.versions[graph.nodes[now->producer].bottoms[0]];
  }
  return *now;
}

struct Comparison {
  const Node* node = nullptr;
  LabelUse use{};
};

/// The first loss, else the first layer that compares scores with labels.
Comparison comparison_of(const Graph& graph) {
  Comparison found;
  for (const Node& node : graph.nodes) {
    std::vector<Shape> bottoms;
    for (const VersionId bottom : node.bottoms) bottoms.push_back(graph.versions[bottom].shape);
    const auto use = bottoms.size() < 2 ? std::nullopt : node.layer->label_use(bottoms);
    if (!use) continue;
    const bool better = !found.node || (node.layer->is_loss() && !found.node->layer->is_loss());
    if (better) found = {&node, *use};
  }
  return found;
}

std::vector<std::string> exchange_texts(Ranks& ranks, const std::string& mine) {
  if (ranks.alone()) return {mine};
  const std::vector<uint64_t> sizes = ranks.gather<uint64_t>(mine.size());
  const uint64_t most = std::max<uint64_t>(*std::max_element(sizes.begin(), sizes.end()), 1);
  std::string padded = mine, all(most * sizes.size(), '\0');
  padded.resize(most);
  const Ranks::Waiting waiting(ranks);
  ranks.control().all_gather(padded.data(), most, all.data());
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank) texts.push_back(all.substr(rank * most, sizes[rank]));
  return texts;
}

JsonObject sample_object(const ScoredSample& sample) {
  JsonObject object;
  object.add("sample", sample.position).add("record", sample.record).add("label", sample.label);
  object.add("prediction", sample.prediction).add("loss", sample.loss);
  if (!sample.png.empty()) object.add("png", sample.png);
  return object;
}

std::string samples_as_json(const std::vector<ScoredSample>& samples) {
  std::string text = "[";
  for (const ScoredSample& sample : samples) text += (text.size() > 1 ? ", " : "") + sample_object(sample).text();
  return text + "]";
}

std::vector<ScoredSample> samples_from_json(const std::string& text) {
  std::vector<ScoredSample> samples;
  for (const TextTree& tree : parse_json(text, "samples of another rank").children) {
    const auto field = [&](const char* name) { return tree.find(name) ? tree.find(name)->text : std::string(); };
    const std::string loss = field("loss");
    samples.push_back({.loss = loss == "null" ? HUGE_VAL : std::stod(loss),
                       .position = std::stoull(field("sample")),
                       .record = field("record"),
                       .label = std::stoi(field("label")),
                       .prediction = std::stoi(field("prediction")),
                       .png = field("png")});
  }
  return samples;
}

bool comes_first(const ScoredSample& a, const ScoredSample& b) {
  return a.loss != b.loss ? a.loss > b.loss : a.position < b.position;
}

}  // namespace

SampleScores::SampleScores(const Net& net, int top) : most_(static_cast<size_t>(top)) {
  const Graph& graph = net.graph();
  const Comparison found = comparison_of(graph);
  if (!found.node) {
    throw Error(ErrorKind::kConfig, "no layer of the net compares scores with labels",
                "-confusion and -top_losses want a net with a layer such as SoftmaxWithLoss or Accuracy");
  }
  const BlobVersion& scores = source_of_values(graph, found.node->bottoms[static_cast<size_t>(found.use.scores)]);
  const BlobVersion& labels = source_of_values(graph, found.node->bottoms[static_cast<size_t>(found.use.labels)]);
  scores_ = scores.name;
  labels_ = labels.name;
  classes_ = found.use.classes;
  ignored_ = found.use.ignored;
  samples_ = scores.shape.axes() > 0 ? scores.shape[0] : 0;
  bool fits = samples_ > 0 && classes_ > 0 && scores.shape.count() % (samples_ * classes_) == 0;
  if (fits) inner_ = scores.shape.count() / (samples_ * classes_);
  fits = fits && labels.shape.count() == samples_ * inner_;
  fits = fits && (scores.shape[1] == classes_ || scores.shape.count(1) == classes_);
  if (!fits) {
    throw Error(ErrorKind::kConfig,
                str("layer ", found.node->layer->name(), " compares scores of ", scores.shape.str(), " with labels of ",
                    labels.shape.str()),
                "-confusion and -top_losses want the classes along axis 1 and one label per position");
  }
  find_pictures(graph);
  if (classes_ > kMostClasses) {
    throw Error(ErrorKind::kConfig, str("there are ", classes_, " classes, too many for a confusion matrix"),
                str(kMostClasses, " are the most"));
  }
  probabilities_ = graph.nodes[scores.producer].layer->type() == "Softmax";
  counts_.resize(static_cast<size_t>(classes_ * classes_));
}

/// Those of the first source.
void SampleScores::find_pictures(const Graph& graph) {
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    if (!node.source || source_) continue;
    source_ = id;
    records_ = static_cast<uint64_t>(node.source->records());
    const BlobVersion& data = graph.versions[node.tops[0]];
    if (is_picture(data.shape)) pictures_ = data.name;
  }
}

ScoredSample SampleScores::score(const std::vector<float>& scores, const std::vector<float>& labels, int64_t sample) {
  ScoredSample result;
  int64_t counted = 0;
  for (int64_t at = 0; at < inner_; ++at) {
    const int label = to_label(labels[static_cast<size_t>(sample * inner_ + at)]);
    if (ignored_ && label == *ignored_) continue;
    if (label < 0 || label >= classes_) throw_bad_label(label, static_cast<uint64_t>(sample), classes_);
    const float* x = scores.data() + sample * classes_ * inner_ + at;
    int best = 0;
    bool numbers = true;
    for (int c = 0; c < classes_; ++c) {
      best = x[c * inner_] > x[best * inner_] ? c : best;
      numbers = numbers && !std::isnan(x[c * inner_]);
    }
    double loss = 0;
    if (probabilities_) {
      loss = -std::log(std::max<double>(x[label * inner_], 1e-38));  // as SoftmaxWithLoss bounds it
    } else {
      double sum = 0;
      for (int c = 0; c < classes_; ++c) sum += std::exp(double{x[c * inner_]} - x[best * inner_]);
      loss = std::log(sum) - (double{x[label * inner_]} - x[best * inner_]);
    }
    if (numbers) {
      counts_[static_cast<size_t>(label * classes_ + best)] += 1;
    } else {
      left_out_[kUndecided] += 1;
    }
    result.loss += !numbers || std::isnan(loss) ? HUGE_VAL : loss;
    if (counted++ == 0) {
      result.label = label;
      result.prediction = numbers ? best : -1;
    }
  }
  result.loss = counted > 0 ? result.loss / static_cast<double>(counted) : -1;
  return result;
}

void SampleScores::add(Net& net, const Pass& pass) {
  const std::vector<float> scores = net.blobs().read(scores_), labels = net.blobs().read(labels_);
  if (std::ssize(scores) != samples_ * classes_ * inner_ || std::ssize(labels) != samples_ * inner_) {
    throw Error(ErrorKind::kConfig, "the scores change their size from batch to batch",
                "leave -confusion and -top_losses out");
  }
  std::vector<ScoredSample> samples;
  for (int64_t i = 0; i < samples_; ++i) {
    const uint64_t position = pass.first_sample + static_cast<uint64_t>(i);
    if (records_ > 0 && position >= records_) {
      left_out_[kRepeated] += 1;
      continue;
    }
    ScoredSample sample = score(scores, labels, i);
    sample.position = position;
    const bool kept = sample.loss >= 0 && (top_.size() < most_ || (most_ > 0 && comes_first(sample, top_.back())));
    if (!kept) continue;
    if (source_) sample.record = net.graph().nodes[source_].source->sample_key(sample.position);
    samples.push_back(std::move(sample));
  }
  std::sort(samples.begin(), samples.end(), comes_first);
  if (samples.size() > most_) samples.resize(most_);
  if (!pictures_.empty() && !samples.empty()) {
    const std::vector<float> pictures = net.blobs().read(pictures_);
    const Shape shape = net.blobs().shape(pictures_);
    for (ScoredSample& sample : samples) {
      sample.png = small_picture(pictures, shape, static_cast<int64_t>(sample.position - pass.first_sample));
    }
  }
  keep(std::move(samples));
}

void SampleScores::keep(std::vector<ScoredSample> samples) {
  top_.insert(top_.end(), std::make_move_iterator(samples.begin()), std::make_move_iterator(samples.end()));
  std::sort(top_.begin(), top_.end(), comes_first);
  if (top_.size() > most_) top_.resize(most_);
}

void SampleScores::gather(Ranks& ranks) {
  if (ranks.alone()) return;
  ranks.sum(counts_);
  ranks.sum(left_out_);
  std::vector<ScoredSample> all;
  for (const std::string& text : exchange_texts(ranks, samples_as_json(top_))) {
    std::vector<ScoredSample> theirs = samples_from_json(text);
    std::move(theirs.begin(), theirs.end(), std::back_inserter(all));
  }
  top_.clear();
  keep(std::move(all));
}

void write_confusion(JsonLog& json, const SampleScores& scores) {
  const auto classes = static_cast<size_t>(scores.classes());
  std::string matrix = "[";
  for (size_t label = 0; label < classes; ++label) {
    matrix += label ? ", [" : "[";
    for (size_t found = 0; found < classes; ++found) {
      matrix += str(found ? "," : "", static_cast<int64_t>(scores.counts()[label * classes + found]));
    }
    matrix += "]";
  }
  json.write("confusion", JsonObject().add("scores", scores.scores()).add_raw("matrix", matrix + "]"));
}

void write_top_losses(JsonLog& json, const SampleScores& scores) {
  json.write("top_losses", JsonObject().add_raw("samples", samples_as_json(scores.top())));
}

}  // namespace robusta
