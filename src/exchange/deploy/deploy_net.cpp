// The net in single assignment, and its way back to the names of a file.

#include "exchange/deploy/deploy_net.h"

#include <algorithm>

#include "base/log.h"
#include "base/str.h"
#include "schema/splits.h"

namespace robusta::deploy {
namespace {

/// `wanted`, or that and the first number from 2 on that is free.
template <typename Taken>
std::string first_free(const std::string& wanted, const Taken& taken) {
  if (!taken(wanted)) return wanted;
  for (int k = 2;; ++k) {
    if (const std::string name = str(wanted, '_', k); !taken(name)) return name;
  }
}

bool has_layer(const DeployNet& net, const std::string& name) {
  return std::any_of(net.layers.begin(), net.layers.end(),
                     [&](const auto& layer) { return layer.param.name() == name; });
}

/// Also one that is called so in the file.
bool has_blob(const DeployNet& net, const std::string& name) {
  return net.names.contains(name) ||
         std::any_of(net.names.begin(), net.names.end(), [&](const auto& entry) { return entry.second == name; });
}

/// Gives names of a file to the blobs, layer by layer.
class Naming {
 public:
  explicit Naming(const DeployNet& net) : net_(net) {}

  /// The name that was wanted, unless it stands for another value that somebody still has to see. A layer may write
  /// over what it alone reads, as Caffe lets it where top and bottom of one index have one name.
  std::string top_name(int layer, int top) {
    const caffe::LayerParameter& param = net_.param(layer);
    const std::string& blob = param.top(top);
    const std::string& wanted = net_.names.at(blob);
    if (!used_.contains(wanted) || may_overwrite(param, layer, top, wanted)) return take(blob, wanted);
    const auto taken = [&](const std::string& name) {
      return used_.contains(name) || is_wanted(name) || has_layer(net_, name);
    };
    return take(blob, first_free(str(wanted, '_', param.name()), taken));
  }
  const std::string& of(const std::string& blob) const { return names_.at(blob); }
  std::map<std::string, std::string> all() && { return std::move(names_); }

 private:
  bool may_overwrite(const caffe::LayerParameter& param, int layer, int top, const std::string& wanted) const {
    if (top >= param.bottom_size()) return false;
    const std::string& bottom = param.bottom(top);
    return names_.at(bottom) == wanted && !net_.is_output(bottom) && net_.readers(bottom) == std::vector<int>{layer};
  }
  bool is_wanted(const std::string& name) const {
    return std::any_of(net_.names.begin(), net_.names.end(), [&](const auto& entry) { return entry.second == name; });
  }
  const std::string& take(const std::string& blob, const std::string& name) {
    used_.insert(name);
    return names_[blob] = name;
  }

  const DeployNet& net_;
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace

DeployNet DeployNet::of(const NetDef& net) {
  DeployNet result;
  result.title = net.param.name();
  result.file = net.file;
  std::map<std::string, std::string> current;  // of a name: the blob that it stands for
  for (int i = 0; i < net.param.layer_size(); ++i) {
    DeployLayer layer{net.param.layer(i), net.source_of(i), {}};
    layer.param.clear_blobs();
    for (std::string& bottom : *layer.param.mutable_bottom()) {
      bottom = current.at(bottom);
      result.outputs.erase(bottom);
    }
    for (std::string& top : *layer.param.mutable_top()) {
      const std::string name = top;
      top = result.new_blob(name);
      result.names[top] = name;
      current[name] = top;
      result.outputs.insert(top);
    }
    result.layers.push_back(std::move(layer));
  }
  return result;
}

int DeployNet::producer(const std::string& blob) const {
  for (int i = 0; i < size(); ++i) {
    const auto& tops = param(i).top();
    if (std::find(tops.begin(), tops.end(), blob) != tops.end()) return i;
  }
  return -1;
}

std::vector<int> DeployNet::readers(const std::string& blob) const {
  std::vector<int> found;
  for (int i = 0; i < size(); ++i) {
    for (const std::string& bottom : param(i).bottom()) {
      if (bottom == blob) found.push_back(i);
    }
  }
  return found;
}

bool DeployNet::feeds_only(int from, int to) const {
  if (param(from).top_size() != 1 || is_output(param(from).top(0))) return false;
  return readers(param(from).top(0)) == std::vector<int>{to};
}

std::string DeployNet::new_blob(const std::string& wanted) {
  const std::string blob = first_free(wanted, [&](const std::string& name) { return has_blob(*this, name); });
  names[blob] = blob;
  return blob;
}

std::string DeployNet::free_layer_name(const std::string& wanted) const {
  return first_free(wanted, [&](const std::string& name) { return has_layer(*this, name); });
}

std::string DeployNet::free_name(const std::string& wanted) const {
  return first_free(wanted, [&](const std::string& name) { return has_layer(*this, name) || has_blob(*this, name); });
}

void DeployNet::insert(int at, caffe::LayerParameter layer, const LayerSource& source, std::vector<BlobData> arrays) {
  layers.insert(layers.begin() + at, {std::move(layer), source, std::move(arrays)});
  change();
}

void DeployNet::remove(int at) {
  layers.erase(layers.begin() + at);
  change();
}

void DeployNet::read_instead(const std::string& from, const std::string& to) {
  for (DeployLayer& layer : layers) {
    for (std::string& bottom : *layer.param.mutable_bottom()) {
      if (bottom == from) bottom = to;
    }
  }
  change();
}

int DeployNet::append_behind(int at, caffe::LayerParameter layer, const std::string& suffix,
                             std::vector<BlobData> arrays) {
  const std::string top = param(at).top(0);
  const std::string before = new_blob(free_name(names.at(top) + suffix + "_bottom"));
  param(at).set_top(0, before);
  layer.set_name(free_name(param(at).name() + suffix));
  // OpenCV takes no blob that is called like a layer which does not make it: so in place where Caffe allows that, and
  // elsewhere the layer that makes the blob now has the layer's name.
  const bool in_place = layer.type() == "Scale" || layer.type() == "Power";
  if (in_place) names[before] = names.at(top);
  const bool same = !in_place && param(at).name() == names.at(top);
  if (same || param(at).type() == "Pooling") param(at).mutable_name()->swap(*layer.mutable_name());
  layer.add_bottom(before);
  layer.add_top(top);
  insert(at + 1, std::move(layer), LayerSource(this->at(at).source), std::move(arrays));
  return at + 1;
}

int DeployNet::put_before(int at, int bottom, caffe::LayerParameter layer, const std::string& suffix,
                          std::vector<BlobData> arrays) {
  const std::string name = free_name(param(at).name() + suffix);
  const std::string between = new_blob(name);
  layer.set_name(name);
  layer.add_bottom(param(at).bottom(bottom));
  layer.add_top(between);
  param(at).set_bottom(bottom, between);
  insert(at, std::move(layer), LayerSource(this->at(at).source), std::move(arrays));
  return at + 1;
}

const LayerShapes& DeployNet::shapes(int layer) const {
  if (shapes_.empty()) {
    const NetDef def = definition();
    const std::unique_ptr<Net> net = build_net(def, batch, true);
    const auto shape_of = [&](VersionId version) { return net->graph().versions[version].shape; };
    for (const NodeId id : nodes_of(*net, def.param)) {
      const Node& node = net->graph().nodes[id];
      LayerShapes& shapes = shapes_.emplace_back();
      for (const VersionId version : node.bottoms) shapes.bottoms.push_back(shape_of(version));
      for (const VersionId version : node.tops) shapes.tops.push_back(shape_of(version));
    }
  }
  return shapes_[static_cast<size_t>(layer)];
}

NetDef DeployNet::definition() const {
  NetDef def;
  def.file = file;
  def.param.set_name(title);
  def.param.mutable_state()->set_phase(caffe::TEST);
  for (const DeployLayer& layer : layers) {
    *def.param.add_layer() = layer.param;
    def.sources.push_back(layer.source);
  }
  return def;
}

FileForm DeployNet::file_form() const {
  FileForm form;
  Naming naming(*this);
  form.net.set_name(title);
  for (int i = 0; i < size(); ++i) {
    caffe::LayerParameter* layer = form.net.add_layer();
    *layer = param(i);
    for (std::string& bottom : *layer->mutable_bottom()) bottom = naming.of(bottom);
    for (int top = 0; top < layer->top_size(); ++top) layer->set_top(top, naming.top_name(i, top));
  }
  form.names = std::move(naming).all();
  return form;
}

std::unique_ptr<Net> build_net(const NetDef& def, int64_t batch, bool plan_only) {
  const QuietLog quiet;
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.keep_blobs = !plan_only;
  options.plan_only = plan_only;
  options.batch = batch;
  options.data.synthesize_missing = true;
  return std::make_unique<Net>(insert_splits(def), options);
}

std::vector<NodeId> nodes_of(const Net& net, const caffe::NetParameter& definition) {
  std::vector<NodeId> nodes;
  NodeId next(0);
  for (const caffe::LayerParameter& layer : definition.layer()) {
    while (net.graph().nodes[next].layer->name() != layer.name() ||
           net.graph().nodes[next].layer->type() != layer.type())
      ++next;
    nodes.push_back(next);
    ++next;
  }
  return nodes;
}

void throw_at(Error error, const DeployLayer& layer) {
  throw error.in_layer(layer.param.name()).at(layer.source.where(error.field()));
}

}  // namespace robusta::deploy
