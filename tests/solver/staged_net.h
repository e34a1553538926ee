/// The net that tests of pipelines cut into stages, whose devices are GPUs or ranks.
#pragma once

#include <string>
#include <vector>

namespace robusta::test::staged_net {

inline std::string on(int device) { return device < 0 ? "" : "device: " + std::to_string(device) + " "; }

inline std::string layer(const std::string& name, const std::string& type, const std::vector<std::string>& bottoms,
                         const std::string& top, const std::string& more = "") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "' ";
  for (const std::string& bottom : bottoms) text += "bottom: '" + bottom + "' ";
  return text + "top: '" + top + "' " + more + " }\n";
}

inline std::string convolution(const std::string& more = "") {
  return more + "convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } ";
}

inline std::string inner_product(int outputs, const std::string& more = "") {
  return more + "inner_product_param { num_output: " + std::to_string(outputs) + " weight_filler { type: 'xavier' } } ";
}

/// Convolutions with BatchNorm, a blob that skips a stage, Dropout, and losses of two stages.
inline std::string net(int stages) {
  const auto place = [stages](int quarter) { return stages > 1 ? on(quarter * stages / 4) : ""; };
  return "net_param { name: 'staged'\n"
         "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param {\n"
         "  shape { dim: 8 dim: 3 dim: 6 dim: 6 } shape { dim: 8 dim: 4 }\n"
         "  data_filler { type: 'gaussian' std: 1 } data_filler { type: 'uniform' min: -1 max: 1 } } }\n" +
         layer("conv1", "Convolution", {"data"}, "conv1", convolution(place(0))) +
         layer("bn", "BatchNorm", {"conv1"}, "conv1") + layer("relu1", "ReLU", {"conv1"}, "conv1") +
         layer("conv2", "Convolution", {"conv1"}, "conv2", convolution(place(1))) +
         layer("relu2", "ReLU", {"conv2"}, "conv2") + layer("aux", "InnerProduct", {"conv2"}, "aux", inner_product(4)) +
         layer("aux_loss", "EuclideanLoss", {"aux", "label"}, "aux_loss", "loss_weight: 0.3") +
         layer("sum", "Eltwise", {"conv1", "conv2"}, "sum", place(2)) +
         layer("ip1", "InnerProduct", {"sum"}, "ip1", inner_product(6)) + layer("drop", "Dropout", {"ip1"}, "ip1") +
         layer("ip2", "InnerProduct", {"ip1"}, "ip2", inner_product(4, place(3))) +
         layer("loss", "EuclideanLoss", {"ip2", "label"}, "loss") + "}\n";
}

}  // namespace robusta::test::staged_net
