// Replays of the cases that need only a net: one layer, data sources, whole nets, file formats.

#include <filesystem>
#include <sstream>

#include "base/str.h"
#include "data/hdf5_access.h"
#include "golden/case.h"
#include "schema/mean_file.h"
#include "solver/files/model_format.h"
#include "support/files.h"

namespace robusta::test {
namespace {

/// "prefix<number>" -> number, -1 if the key is something else.
int index_in(const std::string& key, const std::string& prefix) {
  if (key.rfind(prefix, 0) != 0 || key.size() == prefix.size()) return -1;
  if (key.find_first_not_of("0123456789", prefix.size()) != std::string::npos) return -1;
  return std::stoi(key.substr(prefix.size()));
}

/// "<prefix>layer:index" -> layer and index.
bool parse_param_key(const std::string& key, const std::string& prefix, std::string& layer, int& index) {
  if (key.rfind(prefix, 0) != 0) return false;
  const size_t colon = key.rfind(':');
  if (colon <= prefix.size()) return false;
  layer = key.substr(prefix.size(), colon - prefix.size());
  index = std::stoi(key.substr(colon + 1));
  return true;
}

Param& param_of(Net& net, const std::string& layer, int index) {
  return *net.layer_params(layer).at(static_cast<size_t>(index));
}

void load(Net& net, const std::string& path) {
  for (const LayerWeights& layer : format_of_file(path).read_model(path).layers) {
    const std::vector<ParamPtr> params = net.layer_params(layer.name);
    for (size_t i = 0; i < std::min(params.size(), layer.blobs.size()); ++i) {
      net.blobs().write_param(*params[i], layer.blobs[i].data);
    }
  }
}

}  // namespace

Result replay_layer(const std::string& name, const Mode& mode) {
  Case golden(name, mode);
  NetOptions options = golden_options(golden, mode);
  for (const auto& [key, array] : golden.arrays()) {
    if (const int t = index_in(key, "top_diff_"); t >= 0) options.seed_diffs.push_back(str("top_", t));
  }
  Net net(golden_net(golden), options);
  for (const auto& [key, array] : golden.arrays()) {
    if (const int b = index_in(key, "bottom_"); b >= 0) {
      net.blobs().write(net.blobs().has(str("raw_", b)) ? str("raw_", b) : key, array.values);
    }
    if (const int p = index_in(key, "param_"); p >= 0) net.blobs().write_param(param_of(net, "layer", p), array.values);
  }
  const Pass pass{.batch = net.batch()};
  net.forward(pass);
  for (const auto& [key, array] : golden.arrays()) {
    if (index_in(key, "top_") >= 0) {
      golden.compare_shape(key, net.blobs().shape(key));
      golden.compare(key, net.blobs().read(key));
    }
    if (const int p = index_in(key, "param_after_"); p >= 0) {
      golden.compare(key, net.blobs().read_param(param_of(net, "layer", p)));
    }
  }
  if (options.seed_diffs.empty()) return golden.result();
  for (const auto& [key, array] : golden.arrays()) {
    if (const int t = index_in(key, "top_diff_"); t >= 0) net.blobs().write_diff(str("top_", t), array.values);
  }
  net.backward(pass, false);
  for (const auto& [key, array] : golden.arrays()) {
    if (const int b = index_in(key, "bottom_diff_"); b >= 0) {
      golden.compare(key, net.blobs().read_diff(str("bottom_", b)));
    }
    if (const int p = index_in(key, "param_diff_"); p >= 0) {
      golden.compare(key, net.blobs().read_param_diff(param_of(net, "layer", p)));
    }
  }
  return golden.result();
}

namespace {

/// Has HDF5Output write into a folder of its own, as the recorded ones may be read-only. Returns the file, "" if none.
std::string divert_output(NetDef& def, const TempDir& folder) {
  for (caffe::LayerParameter& layer : *def.param.mutable_layer()) {
    if (layer.type() != "HDF5Output") continue;
    layer.mutable_hdf5_output_param()->set_file_name(folder / "out.h5");
    return folder / "out.h5";
  }
  return "";
}

void compare_files(const std::string& got, const std::string& want, Case& golden) {
  for (const std::string dataset : {"data", "label"}) {
    const auto ours = hdf5_access().open(got, {dataset}), theirs = hdf5_access().open(want, {dataset});
    if (ours->rows() != theirs->rows() || ours->items() != theirs->items())
      return golden.fail(str(dataset, " in the file has ", ours->rows(), " rows of ", ours->items()[0].str()));
    std::vector<float> a(static_cast<size_t>(ours->items()[0].count())), b(a.size());
    for (int64_t row = 0; row < ours->rows(); ++row) {
      ours->read(row, a.data());
      theirs->read(row, b.data());
      if (a != b) golden.fail(str("row ", row, " of ", dataset, " in the file differs"));
    }
  }
}

}  // namespace

Result replay_data(const std::string& name, const Mode& mode) {
  Case golden(name, mode);
  const TempDir folder;
  NetDef def = golden_net(golden);
  const std::string written = divert_output(def, folder);
  Net net(std::move(def), golden_options(golden, mode));
  if (golden.has("mem_data")) net.set_samples("layer", golden.values("mem_data"), golden.values("mem_label"));
  const int forwards = std::stoi(golden.header("forwards").empty() ? "1" : golden.header("forwards"));
  uint64_t sample = 0;
  for (int k = 0; k < forwards; ++k) {
    const auto batch = static_cast<uint64_t>(net.batch());
    net.forward({.first_sample = sample, .next_sample = sample + batch, .batch = net.batch()});
    sample += batch;
    for (const auto& [key, array] : golden.arrays()) {
      const std::string prefix = str("s", k, ":out:");
      if (key.rfind(prefix, 0) == 0) golden.compare(key, net.blobs().read(key.substr(prefix.size())));
    }
  }
  if (!written.empty()) compare_files(written, "samples/h5out_expected.h5", golden);
  return golden.result();
}

Result replay_net(const std::string& name, const Mode& mode) {
  Case golden(name, mode);
  Net net(golden_net(golden), golden_options(golden, mode));
  if (const std::string wanted = golden.header("expect_layers"); !wanted.empty()) {
    std::string layers;
    for (const Node& node : net.graph().nodes) layers += (layers.empty() ? "" : ",") + node.layer->name();
    if (layers != wanted) golden.fail("layers are " + layers);
  }
  if (const std::string weights = golden.header("weights"); !weights.empty()) load(net, weights);
  std::string layer;
  int index = 0;
  for (const auto& [key, array] : golden.arrays()) {
    if (parse_param_key(key, "param:", layer, index))
      net.blobs().write_param(param_of(net, layer, index), array.values);
  }
  const int forwards = golden.has("forwards") ? static_cast<int>(golden.number("forwards")) : 1;
  for (int k = 0; k < forwards; ++k) {
    const std::string step = forwards > 1 ? str("s", k, ":") : "";
    std::vector<std::pair<std::string, Shape>> other_shapes;
    for (const auto& [key, array] : golden.arrays()) {
      if (key.rfind(step + "in:", 0) != 0) continue;
      const std::string blob = key.substr(step.size() + 3);
      if (net.blobs().shape(blob) != Shape(array.dims)) other_shapes.emplace_back(blob, Shape(array.dims));
    }
    if (!other_shapes.empty()) net.reshape_inputs(other_shapes);
    for (const auto& [key, array] : golden.arrays()) {
      if (key.rfind(step + "in:", 0) == 0) net.blobs().write(key.substr(step.size() + 3), array.values);
    }
    const Pass pass{.batch = net.batch()};
    const double loss = net.forward(pass);
    for (const auto& [key, array] : golden.arrays()) {
      if (key == step + "total_loss") golden.compare(key, {static_cast<float>(loss)});
      if (key.rfind(step + "out:", 0) == 0) golden.compare(key, net.blobs().read(key.substr(step.size() + 4)));
      if (parse_param_key(key, step + "param_after:", layer, index)) {
        golden.compare(key, net.blobs().read_param(param_of(net, layer, index)));
      }
    }
    if (k + 1 < forwards || !net.options().backward) continue;
    net.backward(pass, false);
    if (golden.header("backward_twice") == "true") net.backward(pass, true);
    for (const auto& [key, array] : golden.arrays()) {
      if (key.rfind("indiff:", 0) == 0) golden.compare(key, net.blobs().read_diff(key.substr(7)));
      if (parse_param_key(key, "paramdiff:", layer, index)) {
        golden.compare(key, net.blobs().read_param_diff(param_of(net, layer, index)));
      }
    }
  }
  return golden.result();
}

Result replay_io(const std::string& name, const Mode& mode) {
  Case golden(name, mode);
  if (name == "io__mean_binaryproto") {
    for (const auto& [key, array] : golden.arrays())
      golden.compare(key, read_mean_file("samples/mean.binaryproto").data);
    return golden.result();
  }
  const std::string weights = golden.header("weights").empty() ? name + ".caffemodel" : golden.header("weights");
  NetOptions options = golden_options(golden, mode);
  options.phase = caffe::TEST;
  Net net(golden_net(golden), options);
  load(net, weights);
  std::string layer;
  int index = 0;
  for (const auto& [key, array] : golden.arrays()) {
    if (parse_param_key(key, "expect:", layer, index))
      golden.compare(key, net.blobs().read_param(param_of(net, layer, index)));
  }
  return golden.result();
}

}  // namespace robusta::test
