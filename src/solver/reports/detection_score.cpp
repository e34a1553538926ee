// Rows keep their batch: ranks bring them together in its order, on which equal scores depend.
#include "solver/reports/detection_score.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/labels.h"

namespace robusta {
namespace {

constexpr int64_t kJudgedNumbers = 5;

/// The layer whose top the blob is, in its last version.
const Node* maker_of(const Net& net, const std::string& blob) {
  const VersionId version = net.graph().find(blob);
  for (const Node& node : net.graph().nodes) {
    if (std::ranges::find(node.tops, version) != node.tops.end()) return &node;
  }
  return nullptr;
}

Error not_of_detections(const Net& net, const std::string& output, const Node* maker) {
  Error error(ErrorKind::kConfig, str("the output \"", output, "\" is no evaluation of detections"),
              "a test of detections wants the tops of DetectionEvaluate or EvalDetection alone: give others to a layer "
              "of type Silence, or leave eval_type and -detection out");
  if (maker) error.in_layer(maker->layer->name());
  return error.at(maker ? maker->where.where() : net.graph().def.where());
}

}  // namespace

bool hint_at_detections(const Net& net, const std::string& setting) {
  for (const Node& node : net.graph().nodes) {
    if (node.layer->type() != "DetectionEvaluate") continue;
    LOG_INFO << "The net has a layer of type DetectionEvaluate (" << node.layer->name()
             << "), and its outputs are averaged as they are: " << setting << " makes a mean average precision of them";
    return true;
  }
  return false;
}

DetectionScore::DetectionScore(const Net& net) {
  for (const std::string& name : net.blobs().outputs()) {
    const Node* maker = maker_of(net, name);
    const std::string type = maker ? maker->layer->type() : "";
    if (type == "DetectionEvaluate") {
      outputs_.push_back({name, 0});
    } else if (type == "EvalDetection") {
      outputs_.push_back({name, int64_t{maker->layer->param().eval_detection_param().num_class()}});
    } else {
      throw not_of_detections(net, name, maker);
    }
  }
  if (!outputs_.empty()) return;
  throw Error(ErrorKind::kConfig, "the net has no output that evaluates detections",
              "end it with a DetectionEvaluate or EvalDetection layer")
      .at(net.graph().def.where());
}

/// The top of DetectionEvaluate. Rows of [item, class, score, right, wrong]; with item -1 the third number is how many
/// objects of the class there are.
void DetectionScore::add_rows(const std::vector<float>& values, Row row) {
  for (size_t at = 0; at + kJudgedNumbers <= values.size(); at += kJudgedNumbers) {
    const float* n = values.data() + at;
    row.label = to_label(n[1]), row.score = static_cast<double>(n[2]);
    row.right = static_cast<double>(n[3]), row.wrong = static_cast<double>(n[4]), row.objects = -1;
    if (to_label(n[0]) == -1) row.objects = static_cast<double>(n[2]);
    // Neither right nor wrong: it overlaps a difficult object.
    if (row.objects >= 0 || row.right != 0 || row.wrong != 0) rows_.push_back(row);
  }
}

/// The top of EvalDetection. For each item the number of objects of each class, then [class, score, right, wrong] of
/// each box that was found.
void DetectionScore::add_items(const std::vector<float>& values, int64_t classes, int64_t items, Row row) {
  const size_t length = values.size() / static_cast<size_t>(items);
  for (size_t item = 0; item < static_cast<size_t>(items); ++item) {
    const float* n = values.data() + item * length;
    for (int64_t label = 0; label < classes; ++label) {
      row.label = static_cast<double>(label), row.objects = static_cast<double>(n[label]);
      rows_.push_back(row);
    }
    row.objects = -1;
    for (size_t at = static_cast<size_t>(classes); at + 4 <= length; at += 4) {
      row.label = to_label(n[at]), row.score = static_cast<double>(n[at + 1]);
      row.right = static_cast<double>(n[at + 2]), row.wrong = static_cast<double>(n[at + 3]);
      if (row.right != 0 || row.wrong != 0) rows_.push_back(row);
    }
  }
}

void DetectionScore::add(Net& net, int batch) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Row row{.output = static_cast<double>(i),
                  .batch = static_cast<double>(batch),
                  .label = 0,
                  .score = 0,
                  .right = 0,
                  .wrong = 0,
                  .objects = -1};
    const std::vector<float> values = net.blobs().read(outputs_[i].name);
    if (outputs_[i].classes == 0) {
      add_rows(values, row);
    } else {
      add_items(values, outputs_[i].classes, net.blobs().shape(outputs_[i].name)[0], row);
    }
  }
}

void DetectionScore::gather(Ranks& ranks) {
  if (ranks.alone()) return;
  const std::vector<uint64_t> counts = ranks.gather(static_cast<uint64_t>(rows_.size()));
  const size_t most = *std::max_element(counts.begin(), counts.end());
  // Ranks have found different numbers of boxes, and a gathering wants equal ones: all send as many rows as the
  // largest.
  std::vector<Row> mine = rows_, all(most * counts.size());
  mine.resize(most);
  if (most > 0) {
    const Ranks::Waiting waiting(ranks);
    ranks.control().all_gather(mine.data(), most * sizeof(Row), all.data());
  }
  rows_.clear();
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(rank * most);
    rows_.insert(rows_.end(), begin, begin + static_cast<ptrdiff_t>(counts[rank]));
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.batch < b.batch; });
}

std::map<int, DetectionScore::Class> DetectionScore::classes_of(size_t output) const {
  std::map<int, Class> classes;
  for (const Row& row : rows_) {
    if (row.output != static_cast<double>(output)) continue;
    Class& of_label = classes[static_cast<int>(row.label)];
    if (row.objects >= 0) {
      of_label.objects += static_cast<int64_t>(row.objects);
    } else {
      of_label.found.push_back({static_cast<float>(row.score), row.right > 0});
    }
  }
  return classes;
}

std::vector<OutputBlob> DetectionScore::means(ApVersion version, bool per_class) const {
  std::vector<OutputBlob> means;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::map<int, Class> classes = classes_of(i);
    double sum = 0;
    for (const auto& [label, of_label] : classes) {
      if (of_label.found.empty()) {
        LOG_WARNING << "Missing true_pos for label: " << label << " (nothing of this class was found)";
        continue;
      }
      const double precision = average_precision(of_label.found, of_label.objects, version);
      sum += precision;
      if (per_class) LOG_INFO << "class" << label << ": " << precision;
    }
    const auto count = static_cast<double>(std::max<size_t>(classes.size(), 1));
    means.push_back({outputs_[i].name, {sum / count}, 0});
  }
  return means;
}

ApVersion require_ap_version(const std::string& name, const std::string& field, ErrorKind kind) {
  if (const std::optional<ApVersion> version = ap_version_named(name)) return *version;
  throw Error(kind, str(field, " is \"", name, "\""), str("give ", kApVersions));
}

}  // namespace robusta
