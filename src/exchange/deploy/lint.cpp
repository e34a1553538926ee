// Nets are looked at layer by layer with the table's checks; weights by what their bytes say, not by what our own
// reader makes of them.

#include "exchange/deploy/lint.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/log.h"
#include "base/looks_binary.h"
#include "base/str.h"
#include "exchange/deploy/deploy.h"
#include "exchange/deploy/heads.h"
#include "exchange/deploy/rules.h"
#include "schema/read_text.h"
#include "solver/files/model_format.h"

namespace robusta::deploy {
namespace {

constexpr int kMendsNet = static_cast<int>(ErrorKind::kConfig), kMendsWeights = static_cast<int>(ErrorKind::kModel),
              kRefuses = static_cast<int>(ErrorKind::kUnsupported);

const Rule& rule_named(std::string_view name) {
  return *std::find_if(rules().begin(), rules().end(), [&](const Rule& rule) { return rule.name == name; });
}

/// Prints findings, and remembers the worst.
class Report {
 public:
  Report(uint32_t toolchains, std::ostream& out) : toolchains_(toolchains), out_(out) {}

  bool wants(const Rule& rule) const { return (rule.breaks & toolchains_) != 0; }
  void add(const Rule& rule, const std::string& where, const std::string& layer, const std::string& cause,
           const std::string& fix, int code) {
    out_ << where << ": " << (layer.empty() ? "" : "layer \"" + layer + "\": ") << cause << " [" << rule.name << "; "
         << toolchains_text(rule.breaks & toolchains_) << "]; " << fix << '\n';
    worst_ = std::max(worst_, code);
    ++found_;
  }
  uint32_t toolchains() const { return toolchains_; }
  int worst() const { return worst_; }
  int found() const { return found_; }

 private:
  uint32_t toolchains_;
  std::ostream& out_;
  int worst_ = 0, found_ = 0;
};

/// Whether deploy would refuse, and what it says to do then; found out by mending a copy.
std::optional<std::string> refusal(const Rule& rule, DeployNet net, int layer) {
  try {
    rule.mend(net, layer);
    return std::nullopt;
  } catch (const Error& error) {
    return error.fix();
  }
}

/// Whether what earlier rules put into the layer's place, which lies together, passes this one.
bool passes_when_mended(const Rule& rule, DeployNet net, int layer, uint32_t toolchains) {
  const int others = net.size() - 1;
  const auto end = [&] { return layer + net.size() - others; };
  for (const Rule& earlier : rules()) {
    if (&earlier == &rule) break;
    if (!earlier.check || !earlier.mend || (earlier.breaks & toolchains) == 0) continue;
    for (int i = layer; i < end(); ++i) {
      if (!earlier.check(net, i)) continue;
      if (refusal(earlier, net, i)) return false;
      earlier.mend(net, i);
    }
  }
  for (int i = layer; i < end(); ++i) {
    if (rule.check(net, i)) return false;
  }
  return true;
}

void look_at_layer(const DeployNet& net, int layer, Report& report) {
  const DeployLayer& subject = net.layers[static_cast<size_t>(layer)];
  for (const Rule& rule : rules()) {
    if (!rule.check || !report.wants(rule)) continue;
    const std::optional<Finding> finding = rule.check(net, layer);
    if (!finding) continue;
    const std::string where = subject.source.where(finding->field);
    if (!rule.mend) {
      report.add(rule, where, subject.param.name(), finding->cause, "a warning: compare the outputs", 0);
    } else if (const std::optional<std::string> fix = refusal(rule, net, layer)) {
      if (passes_when_mended(rule, net, layer, report.toolchains())) continue;
      report.add(rule, where, subject.param.name(), finding->cause, *fix, kRefuses);
    } else {
      report.add(rule, where, subject.param.name(), finding->cause, str("caffe deploy: ", rule.way_out), kMendsNet);
    }
  }
}

/// Told once, by whatever name readers refuse its type.
void look_at_training_layer(const DeployLayer& layer, Report& report) {
  const Rule& rule = rule_named("inference-layers");
  if (!report.wants(rule)) return;
  report.add(rule, layer.source.where("type"), layer.param.name(), str(layer.param.type(), " is a layer of training"),
             str("caffe deploy: ", rule.way_out), kMendsNet);
}

void lint_net(const std::string& path, const caffe::NetState& state, Report& report) {
  UpgradeNotes notes;
  const NetDef def = read_net(path, &notes);
  const Rule& old = rule_named("new-layers");
  if (notes.changed() && report.wants(old)) {
    report.add(old, path, "", "an older form of nets: " + notes.done.front(), str("caffe deploy: ", old.way_out),
               kMendsNet);
  }
  const DeployNet net = DeployNet::of(layers_in_state(def, state));
  const std::vector<bool> training = training_layers(net);
  for (int i = 0; i < net.size(); ++i) {
    training[static_cast<size_t>(i)] ? look_at_training_layer(net.layers[static_cast<size_t>(i)], report)
                                     : look_at_layer(net, i, report);
  }
}

/// What is odd about an array of a layer of this type; null where nothing is.
const char* oddity(const caffe::BlobProto& blob, const std::string& type, const char** rule) {
  *rule = "float-arrays";
  if (blob.double_data_size() > 0) return "double_data";
  if (blob.has_raw_data()) return "raw_data (NVIDIA)";
  *rule = "array-shapes";
  if (blob.has_num() || blob.has_channels() || blob.has_height() || blob.has_width())
    return "num, channels, height, width";
  if (type == "BatchNorm") *rule = "three-arrays";
  return blob.has_shape() ? nullptr : "no shape";
}

void look_at_arrays(const std::string& path, const caffe::LayerParameter& layer, Report& report) {
  for (int i = 0; i < layer.blobs_size(); ++i) {
    const char* name = nullptr;
    const char* cause = oddity(layer.blobs(i), layer.type(), &name);
    if (!cause || !report.wants(rule_named(name))) continue;
    report.add(rule_named(name), path, layer.name(), str("array ", i, " has ", cause),
               str("caffe deploy: ", rule_named(name).way_out), kMendsWeights);
  }
  const Rule& three = rule_named("three-arrays");
  if (layer.type() != "BatchNorm" || !report.wants(three)) return;
  const bool full = layer.blobs_size() == 3 && layer.blobs(2).data_size() > 0;
  if (layer.blobs_size() == 3 && (!full || layer.blobs(2).data(0) != 0)) return;
  const bool too_few = layer.blobs_size() < 3;
  report.add(three, path, layer.name(), full ? "the factor is 0" : str(layer.blobs_size(), " arrays"),
             too_few ? "save it with a third array, the factor, which is 1" : str("caffe deploy: ", three.way_out),
             too_few ? kRefuses : kMendsWeights);
}

caffe::NetParameter read_message(const std::string& path) {
  caffe::NetParameter model;
  try {
    read_binary_proto(path, &model, ErrorKind::kModel);
  } catch (const Error&) {
    default_format().read_model(path);  // knows what else it may be, or where it is cut
    throw;
  }
  return model;
}

void lint_weights(const std::string& path, Report& report) {
  if (const ModelFormat& format = format_of_file(path); &format != &default_format()) {
    format.read_model(path);  // says what is wrong with it
    const Rule& rule = rule_named("float-arrays");
    if (report.wants(rule))
      report.add(rule, path, "", str("an ", format.title()), str("caffe deploy: ", rule.way_out), kMendsWeights);
    return;
  }
  const caffe::NetParameter model = read_message(path);
  const Rule& old = rule_named("new-layers");
  if (model.layers_size() > 0 && report.wants(old)) {
    report.add(old, path, "", "an older form of layers (V1)", str("caffe deploy: ", old.way_out), kMendsWeights);
  }
  for (const caffe::LayerParameter& layer : model.layer()) look_at_arrays(path, layer, report);
}

/// Whether an array of the layer may be another layer's, by a name in `param`.
bool may_share(const caffe::LayerParameter& layer) {
  return std::any_of(layer.param().begin(), layer.param().end(), [](const auto& spec) { return !spec.name().empty(); });
}

bool is_weights(const std::string& file) { return looks_binary(file, ErrorKind::kModel); }

/// "net" of net.prototxt, net.caffemodel and net.caffemodel.h5, with the folder.
std::string stem_of(std::filesystem::path file) {
  if (file.extension() == ".h5") file.replace_extension();
  return file.replace_extension().string();
}

/// Those that belong to a net: all, beside one net; else those that are called like it.
std::vector<std::string> weights_of(const std::string& net, const std::vector<std::string>& files) {
  const auto nets =
      std::count_if(files.begin(), files.end(), [](const std::string& file) { return !is_weights(file); });
  std::vector<std::string> found;
  for (const std::string& file : files) {
    if (is_weights(file) && (nets == 1 || stem_of(file) == stem_of(net))) found.push_back(file);
  }
  return found;
}

/// Readers join a net and its weights by the names of layers; what one of them lacks they leave out, fill with zeros,
/// or end with.
void lint_pair(const std::string& path, const std::vector<std::string>& weights, const caffe::NetState& state,
               Report& report) {
  const Rule& rule = rule_named("one-name");
  if (weights.empty() || !report.wants(rule)) return;
  std::set<std::string> stored, wanting;
  bool shared_elsewhere = false;
  const DeployNet net = DeployNet::of(layers_in_state(read_net(path), state));
  const std::unique_ptr<Net> plan = build_net(net.definition(), 0, true);
  const std::vector<NodeId> nodes = nodes_of(*plan, net.definition().param);
  for (const std::string& file : weights) {
    const WeightsFile model = format_of_file(file).read_model(file);
    shared_elsewhere |= model.leaves_out_shared;
    for (const LayerWeights& layer : model.layers) {
      if (!layer.blobs.empty()) stored.insert(layer.name);
    }
  }
  for (int i = 0; i < net.size(); ++i) {
    const std::string& name = net.param(i).name();
    if (plan->graph().nodes[nodes[static_cast<size_t>(i)]].params.empty()) continue;
    wanting.insert(name);
    if (stored.contains(name) || (shared_elsewhere && may_share(net.param(i)))) continue;
    report.add(rule, net.layers[static_cast<size_t>(i)].source.where(""), name, str("no weights in ", weights.back()),
               "give the weights that this net was trained to", kRefuses);
  }
  for (const std::string& name : stored) {
    if (wanting.contains(name)) continue;
    report.add(rule, weights.back(), name, str("weights that no layer of ", path, " takes"),
               "a note: caffe deploy leaves them out", 0);
  }
}

}  // namespace

int lint(const std::vector<std::string>& files, uint32_t toolchains, const caffe::NetState& state, std::ostream& out) {
  Report report(toolchains, out);
  for (const std::string& file : files) {
    is_weights(file) ? lint_weights(file, report) : lint_net(file, state, report);
  }
  for (const std::string& file : files) {
    if (!is_weights(file)) lint_pair(file, weights_of(file, files), state, report);
  }
  LOG_INFO << report.found() << " findings in " << files.size() << " file(s)";
  return report.worst();
}

}  // namespace robusta::deploy
