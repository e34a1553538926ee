#include "support/nets.h"

#include "base/philox.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"

namespace robusta::test {

NetDef net_def(const std::string& text, caffe::Phase phase) {
  caffe::NetState state;
  state.set_phase(phase);
  return insert_splits(filter_net(parse_net(text, "test.prototxt"), state));
}

void fill_inputs(Net& net, uint64_t seed, int classes) {
  for (const Node& node : net.graph().nodes) {
    if (!node.source || !node.source->is_input()) continue;
    for (const std::string& blob : node.layer->param().top()) {
      PhiloxStream random(random_key(seed, blob, "test"));
      std::vector<float> values(static_cast<size_t>(net.blobs().shape(blob).count()));
      for (float& v : values) {
        v = blob == "label" ? static_cast<float>(random.below(static_cast<uint64_t>(classes)))
                            : static_cast<float>(2 * random.uniform() - 1);
      }
      net.blobs().write(blob, values);
    }
  }
}

std::vector<float> run_once(Net& net) {
  const Pass pass{.seed = 3, .first_sample = 40, .next_sample = 44, .batch = net.batch()};
  std::vector<float> all{static_cast<float>(net.forward(pass))};
  const auto append = [&](const std::vector<float>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const std::string& blob : net.blobs().outputs()) append(net.blobs().read(blob));
  if (net.options().backward) net.backward(pass, false);
  for (const ParamPtr& param : net.params()) {
    append(net.blobs().read_param(*param));
    if (net.options().backward) append(net.blobs().read_param_diff(*param));
  }
  return all;
}

const char* const kBranchyNet = R"(
name: "branchy"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 4 } } }
layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
        convolution_param { num_output: 16 bias_term: false kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" }
layer { name: "sc0" type: "Scale" bottom: "c0" top: "c0" scale_param { bias_term: true } }
layer { name: "re0" type: "ReLU" bottom: "c0" top: "c0" }
layer { name: "c1" type: "Convolution" bottom: "c0" top: "c1"
        convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
layer { name: "re1" type: "ReLU" bottom: "c1" top: "c1" }
layer { name: "c2" type: "Convolution" bottom: "c1" top: "c2"
        convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: "msra" } } }
layer { name: "sum" type: "Eltwise" bottom: "c0" bottom: "c2" top: "sum" }
layer { name: "resum" type: "ReLU" bottom: "sum" top: "sum" }
layer { name: "a" type: "Convolution" bottom: "sum" top: "a"
        convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: "msra" } } }
layer { name: "b" type: "Convolution" bottom: "sum" top: "b"
        convolution_param { num_output: 32 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } } }
layer { name: "cat" type: "Concat" bottom: "a" bottom: "b" top: "cat" }
layer { name: "norm" type: "LRN" bottom: "cat" top: "norm" lrn_param { local_size: 5 alpha: 0.1 beta: 0.75 } }
layer { name: "pool" type: "Pooling" bottom: "norm" top: "pool" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "side" type: "InnerProduct" bottom: "pool" top: "side"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "side_loss" type: "SoftmaxWithLoss" bottom: "side" bottom: "label" top: "side_loss" loss_weight: 0.3 }
layer { name: "gap" type: "Pooling" bottom: "pool" top: "gap" pooling_param { pool: AVE global_pooling: true } }
layer { name: "drop" type: "Dropout" bottom: "gap" top: "gap" dropout_param { dropout_ratio: 0.3 } }
layer { name: "fc" type: "InnerProduct" bottom: "gap" top: "fc"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
layer { name: "acc" type: "Accuracy" bottom: "fc" bottom: "label" top: "acc" }
)";

}  // namespace robusta::test
