// Nets as graphs of ONNX: names, shapes, the operators of layers that ONNX says otherwise, and what is refused. That
// the numbers are right is the business of tests/scripts/export_onnx_test.py.

#include <gtest/gtest.h>

#include "exchange/onnx/export/emitter.h"
#include "exchange/onnx/export/export_net.h"
#include "exchange/onnx/file.h"
#include "robusta/error.h"
#include "schema/filter.h"
#include "schema/read_text.h"

namespace robusta::test::onnx_export_test {
namespace {

const std::string kImages =
    "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }\n";

NetDef test_net(const std::string& text) {
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  return filter_net(parse_net(text, "net.prototxt"), state);
}

onnx::GraphProto graph_of(const std::string& text, const OnnxExportOptions& options = {}) {
  return export_to_onnx(test_net(text), options).model.graph();
}

std::string error_of(const std::string& text, const OnnxExportOptions& options = {}) {
  try {
    graph_of(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string ops(const onnx::GraphProto& graph) {
  std::string names;
  for (const onnx::NodeProto& node : graph.node()) names += (names.empty() ? "" : " ") + node.op_type();
  return names;
}

std::vector<int64_t> ints(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return {attribute.ints().begin(), attribute.ints().end()};
  }
  return {};
}

std::string dims(const onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    text += (text.empty() ? "" : " ") + (dim.has_dim_param() ? dim.dim_param() : std::to_string(dim.dim_value()));
  }
  return text;
}

TEST(OnnxExportTest, Header) {
  const onnx::ModelProto model =
      export_to_onnx(test_net("name: 'n'\n" + kImages + "layer { name: 'a' type: 'AbsVal' bottom: 'data' top: 'y' }"),
                     {})
          .model;
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  EXPECT_EQ(model.producer_name(), "robusta");
  EXPECT_EQ(model.graph().name(), "n");
  EXPECT_EQ(dims(model.graph().input(0)), "2 3 8 8");
}

// The last version of a blob has its name; an input keeps its own.
TEST(OnnxExportTest, NamesOfBlobsThatAreOverwritten) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'data' }
      layer { name: 'a' type: 'AbsVal' bottom: 'data' top: 'y' }
      layer { name: 's' type: 'Sigmoid' bottom: 'y' top: 'y' }
      layer { name: 't' type: 'TanH' bottom: 'y' top: 'y' })");
  ASSERT_EQ(ops(graph), "Relu Abs Sigmoid Tanh");
  EXPECT_EQ(graph.node(0).input(0), "data");
  EXPECT_EQ(graph.node(0).output(0), "data_1");
  EXPECT_EQ(graph.node(1).output(0), "y/a");
  EXPECT_EQ(graph.node(2).output(0), "y/s");
  EXPECT_EQ(graph.node(3).output(0), "y");
  EXPECT_EQ(graph.output(0).name(), "y");
}

// Splits are no nodes.
TEST(OnnxExportTest, OneValueForSeveralReaders) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'a' type: 'AbsVal' bottom: 'data' top: 'a' }
      layer { name: 'e' type: 'Eltwise' bottom: 'a' bottom: 'data' top: 'y' eltwise_param { coeff: 1 coeff: -2 } })");
  ASSERT_EQ(ops(graph), "Abs Mul Add");
  EXPECT_EQ(graph.node(1).input(0), "data");
}

// (4 - 1) * 2 + 3 - 8 - 0 = 1 more row than there is; ceil_mode is not used.
TEST(OnnxExportTest, CutWindowsArePads) {
  const onnx::GraphProto graph = graph_of(
      kImages +
      "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'y' pooling_param { kernel_size: 3 stride: 2 } }");
  ASSERT_EQ(ops(graph), "MaxPool");
  EXPECT_EQ(ints(graph.node(0), "pads"), (std::vector<int64_t>{0, 0, 1, 1}));
  for (const auto& attribute : graph.node(0).attribute()) EXPECT_NE(attribute.name(), "ceil_mode");
  EXPECT_EQ(graph.node(0).output(0), "y");
}

// out = ceil((8 + 2 - 3) / 2) + 1 = 5; (5 - 1) * 2 + 3 - 8 - 2 = 1.
TEST(OnnxExportTest, AveragesCountThePaddingOfTheImage) {
  const onnx::GraphProto graph = graph_of(kImages +
                                          "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'y' pooling_param { "
                                          "pool: AVE kernel_size: 3 stride: 2 pad: 1 } }");
  ASSERT_EQ(ops(graph), "Pad AveragePool");
  EXPECT_EQ(ints(graph.node(1), "pads"), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(dims(graph.output(0)), "2 3 5 5");
}

TEST(OnnxExportTest, GlobalPooling) {
  EXPECT_EQ(
      ops(graph_of(kImages + "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'y' pooling_param { pool: AVE "
                             "global_pooling: true } }")),
      "GlobalAveragePool");
}

TEST(OnnxExportTest, DynamicBatch) {
  const OnnxExportOptions dynamic{.weights = {}, .dynamic_batch = true};
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 's' type: 'Slice' bottom: 'data' top: 'a' top: 'b' slice_param { axis: 2 } }
      layer { name: 'c' type: 'Concat' bottom: 'a' bottom: 'b' top: 'c' concat_param { axis: 0 } }
      layer { name: 'r' type: 'Reshape' bottom: 'c' top: 'y' reshape_param { shape { dim: 0 dim: -1 } } })",
                                          dynamic);
  EXPECT_EQ(dims(graph.input(0)), "batch 3 8 8");
  EXPECT_EQ(dims(graph.output(0)), "2*batch 96");
  const std::string fixed = error_of(kImages + R"(
      layer { name: 'r' type: 'Reshape' bottom: 'data' top: 'y' reshape_param { shape { dim: 2 dim: 192 } } })",
                                     dynamic);
  EXPECT_NE(fixed.find("with a batch of 3"), std::string::npos) << fixed;
  EXPECT_NE(fixed.find("give -batch a number"), std::string::npos) << fixed;
}

TEST(OnnxExportTest, BatchOfInputs) {
  const OnnxExportOptions five{.weights = {}, .batch = 5};
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'in2' type: 'Input' top: 'same' input_param { shape { dim: 2 dim: 7 } } }
      layer { name: 'in3' type: 'Input' top: 'other' input_param { shape { dim: 4 dim: 7 } } }
      layer { name: 'a' type: 'AbsVal' bottom: 'data' top: 'a' }
      layer { name: 'b' type: 'AbsVal' bottom: 'same' top: 'b' }
      layer { name: 'c' type: 'AbsVal' bottom: 'other' top: 'c' })",
                                          five);
  EXPECT_EQ(dims(graph.input(0)), "5 3 8 8");
  EXPECT_EQ(dims(graph.input(1)), "5 7");
  EXPECT_EQ(dims(graph.input(2)), "4 7");
}

// Labels, and what leads to labels alone, are gone; the loss is the softmax that it has inside.
TEST(OnnxExportTest, LossesBecomeScores) {
  const std::string net = kImages + R"(
      layer { name: 'labels' type: 'Input' top: 'label' input_param { shape { dim: 2 dim: 1 } } }
      layer { name: 'flat' type: 'Flatten' bottom: 'label' top: 'flat' }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 3 } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'flat' top: 'loss' }
      layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'flat' top: 'accuracy' })";
  const onnx::GraphProto graph = graph_of(net);
  EXPECT_EQ(ops(graph), "Flatten Gemm Softmax");
  ASSERT_EQ(graph.input_size(), 1);
  EXPECT_EQ(graph.input(0).name(), "data");
  ASSERT_EQ(graph.output_size(), 1);
  EXPECT_EQ(graph.output(0).name(), "prob");
  const onnx::GraphProto other = graph_of(net + "layer { name: 'scores' type: 'Softmax' bottom: 'ip' top: 'scores' }");
  ASSERT_EQ(other.output_size(), 1);
  EXPECT_EQ(other.output(0).name(), "scores");
}

TEST(OnnxExportTest, OtherLossesLeaveWhatTheyCompare) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'truth' type: 'Input' top: 'truth' input_param { shape { dim: 2 dim: 3 } } }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 3 } }
      layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 'truth' top: 'loss' })");
  ASSERT_EQ(graph.output_size(), 1);
  EXPECT_EQ(graph.output(0).name(), "ip");
  EXPECT_EQ(graph.input_size(), 1);
}

TEST(OnnxExportTest, DetectorsEndBeforeTheirOutput) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'loc' type: 'InnerProduct' bottom: 'data' top: 'loc' inner_product_param { num_output: 256 } }
      layer { name: 'conf' type: 'Flatten' bottom: 'data' top: 'conf' }
      layer { name: 'prior' type: 'PriorBox' bottom: 'data' bottom: 'data' top: 'prior'
              prior_box_param { min_size: 2 } }
      layer { name: 'detect' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'prior' top: 'found'
              detection_output_param { num_classes: 3 nms_param { nms_threshold: 0.5 } } })");
  std::string outputs;
  for (const auto& output : graph.output()) outputs += output.name() + " ";
  EXPECT_EQ(outputs, "conf loc prior ");
}

TEST(OnnxExportTest, AllRefusalsAtOnce) {
  const std::string error = error_of(kImages + R"(layer { name: 'rois' type: 'Input' top: 'rois'
        input_param { shape { dim: 2 dim: 5 } } }
      layer { name: 'a' type: 'ROIAlign' bottom: 'data' bottom: 'rois' top: 'a'
              roi_pooling_param { pooled_h: 2 pooled_w: 2 } }
      layer { name: 'd' type: 'Dropout' bottom: 'data' top: 'd' dropout_param { sample_weights_test: true } })");
  EXPECT_NE(error.find("2 layers have no equal in ONNX"), std::string::npos) << error;
  EXPECT_NE(error.find("net.prototxt:4: layer \"a\": type ROIAlign has no equal in ONNX"), std::string::npos) << error;
  EXPECT_NE(error.find("net.prototxt:6: layer \"d\": it drops when testing, too"), std::string::npos) << error;
}

// What is made of a loss goes with it; what a layer makes in the place of an input is a result.
TEST(OnnxExportTest, WhatFollowsALoss) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 2 dim: 1 } } }
      layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'data' }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'label' top: 'ip' inner_product_param { num_output: 2 } }
      layer { name: 'loss' type: 'HingeLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
      layer { name: 'scaled' type: 'Power' bottom: 'loss' top: 'scaled' power_param { scale: 2 } })");
  EXPECT_EQ(ops(graph), "Relu Gemm");
  ASSERT_EQ(graph.output_size(), 2);
  EXPECT_EQ(graph.output(0).name(), "data_1");
  EXPECT_EQ(graph.output(1).name(), "ip");
}

TEST(OnnxExportTest, NothingButLosses) {
  EXPECT_NE(
      error_of(kImages + "layer { name: 's' type: 'Silence' bottom: 'data' }").find("nothing but what it compares"),
      std::string::npos);
}

TEST(OnnxExportTest, SharedWeightsAreOneArray) {
  const onnx::GraphProto graph = graph_of(kImages + R"(
      layer { name: 'a' type: 'InnerProduct' bottom: 'data' top: 'a' param { name: 'w' }
              inner_product_param { num_output: 3 bias_term: false } }
      layer { name: 'b' type: 'InnerProduct' bottom: 'data' top: 'b' param { name: 'w' }
              inner_product_param { num_output: 3 bias_term: false } })");
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), "a.0");
  EXPECT_TRUE(graph.initializer(0).has_raw_data());
}

}  // namespace
}  // namespace robusta::test::onnx_export_test
