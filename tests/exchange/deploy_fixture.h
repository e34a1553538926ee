/// What the tests of `caffe deploy` share: nets from text with random weights, deployed into a folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/philox.h"
#include "exchange/deploy/deploy.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "solver/files/weights.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::deploy_fixture {

/// An input that every net may begin with.
inline std::string input(const std::string& dims, const std::string& name = "data") {
  return "layer { name: '" + name + "' type: 'Input' top: '" + name + "' input_param { shape { " + dims + " } } }\n";
}

inline const std::string kImage = input("dim: 2 dim: 3 dim: 8 dim: 9");

/// Random numbers for all parameters; variances are positive, and statistics are sums over 2 batches.
inline void fill_params(Net& net) {
  for (const Node& node : net.graph().nodes) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      PhiloxStream random(random_key(7, node.layer->name() + std::to_string(i), "test"));
      std::vector<float> values(static_cast<size_t>(node.params[i]->desc.count()));
      for (float& v : values) v = static_cast<float>(random.uniform() - 0.5);
      const bool variance = node.layer->type() == "BatchNorm" && i == 1;
      const bool own_variance = node.layer->type() == "BN" && i == 3;
      if (variance || own_variance) {
        for (float& v : values) v = v + 1;
      }
      if (node.layer->type() == "BatchNorm" && i == 2) values[0] = 2;
      net.blobs().write_param(*node.params[i], values);
    }
  }
}

/// The net of a text, deployed into a folder of its own.
struct Deployment {
  explicit Deployment(const std::string& text) : def(parse_net(text, "net.prototxt")) {
    caffe::NetState state;
    state.set_phase(caffe::TEST);
    NetOptions net_options;
    net_options.phase = caffe::TEST;
    net_options.backward = false;
    net_options.data.synthesize_missing = true;
    trained = std::make_unique<Net>(insert_splits(filter_net(def, state)), net_options);
    fill_params(*trained);
    save();
    options.weights = {folder / "w.caffemodel"};
    options.output = folder / "out";
  }
  void save() { write_binary_proto(folder / "w.caffemodel", net_to_proto(*trained, false)); }

  deploy::Deployed run() { return deploy::deploy(def, {}, options); }
  std::string text() const { return read_file(folder / "out.prototxt"); }
  caffe::NetParameter model() const {
    caffe::NetParameter net;
    read_binary_proto(folder / "out.caffemodel", &net, ErrorKind::kModel);
    return net;
  }
  caffe::NetParameter net() const { return read_net(folder / "out.prototxt").param; }
  /// The types of the written layers, in order.
  std::vector<std::string> types() const {
    std::vector<std::string> found;
    const caffe::NetParameter written = net();
    for (const caffe::LayerParameter& layer : written.layer()) found.push_back(layer.type());
    return found;
  }

  TempDir folder;
  NetDef def;
  std::unique_ptr<Net> trained;
  deploy::DeployOptions options;
};

using Types = std::vector<std::string>;

}  // namespace robusta::test::deploy_fixture
