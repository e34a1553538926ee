// How nets are wired: needs of gradients, sharing of parameters, and what is said about nets that cannot be built.

#include <gtest/gtest.h>

#include "net/graph/missing.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

const std::string kInput = R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 4 } } }
)";

std::string inner_product(const std::string& name, const std::string& bottom, const std::string& more = "") {
  return "layer { name: \"" + name + "\" type: \"InnerProduct\" bottom: \"" + bottom + "\" top: \"" + name + "\"\n" +
         more + " inner_product_param { num_output: 4 weight_filler { type: \"xavier\" } } }\n";
}

std::string loss_of(const std::string& bottom) {
  return "layer { name: \"l\" type: \"EuclideanLoss\" bottom: \"" + bottom + "\" bottom: \"x\" top: \"l\" }\n";
}

/// The message of the error that building this net gives.
std::string failure(const std::string& text) {
  try {
    Net net(net_def(text), {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    return error.what();
  }
  return "no error";
}

bool backward_of(const Net& net, const std::string& layer) {
  for (const Node& node : net.graph().nodes) {
    if (node.layer->name() == layer) return node.backward;
  }
  ADD_FAILURE() << "no layer " << layer;
  return false;
}

TEST(Graph, FrozenLowerLayersTakeNoPartInBackward) {
  const std::string frozen = "param { lr_mult: 0 } param { lr_mult: 0 }";
  Net net(net_def(kInput + inner_product("a", "x", frozen) + inner_product("b", "a") + loss_of("b")), {});
  EXPECT_FALSE(backward_of(net, "a"));
  EXPECT_TRUE(backward_of(net, "b"));
  EXPECT_FALSE(net.layer_params("a")[0]->learns);
  EXPECT_TRUE(net.layer_params("b")[1]->learns);
}

TEST(Graph, LayersThatReachNoLossTakeNoPart) {
  Net net(
      net_def(kInput + inner_product("a", "x") + inner_product("b", "a") + inner_product("side", "a") + loss_of("b")),
      {});
  EXPECT_TRUE(backward_of(net, "a"));
  EXPECT_FALSE(backward_of(net, "side"));
}

TEST(Graph, PropagateDownFalseStopsTheGradient) {
  Net net(net_def(kInput + inner_product("a", "x") + inner_product("b", "a", "propagate_down: false") + loss_of("b")),
          {});
  EXPECT_FALSE(backward_of(net, "a"));
  EXPECT_TRUE(backward_of(net, "b"));
}

TEST(Graph, SharedParametersAreOneParameter) {
  const std::string named = "param { name: \"w\" } param { name: \"b\" }";
  Net net(net_def(kInput + inner_product("a", "x", named) + inner_product("b", "a", named) + loss_of("b")), {});
  EXPECT_EQ(net.params().size(), 2u);
  EXPECT_EQ(net.layer_params("a")[0], net.layer_params("b")[0]);
}

TEST(Graph, TestNetUsesTheTrainNetsParameters) {
  const std::string text = kInput + inner_product("a", "x") + loss_of("a");
  Net train(net_def(text), {});
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  options.share_params = &train;
  Net test(net_def(text, caffe::TEST), options);
  EXPECT_EQ(test.layer_params("a")[0]->data, train.layer_params("a")[0]->data);
  EXPECT_TRUE(train.layer_params("a")[0]->learns);
}

TEST(GraphErrors, UnknownTypeNamesTheNearest) {
  const std::string message = failure(kInput + "layer { name: \"p\" type: \"Poolling\" bottom: \"x\" top: \"p\" }");
  EXPECT_NE(message.find("test.prototxt:2: layer \"p\": unknown layer type \"Poolling\" (did you mean \"Pooling\"?)"),
            std::string::npos)
      << message;
}

TEST(GraphErrors, AllThatIsMissingIsInOneReport) {
  const auto layer = [](const std::string& name, const std::string& type, const std::string& fields = "") {
    return "layer { name: '" + name + "' type: '" + type + "' " + fields + " }\n";
  };
  const std::string crf = layer("crf", "DctrQT");
  const auto error_in = [](const std::string& text) { return error_of([&] { Net net(net_def(text), {}); }); };
  EXPECT_EQ(error_in(kInput + crf).layer(), "crf") << "one is an error of its layer";
  const Error error = error_in(kInput + crf + layer("a", "MatRead") + layer("b", "MatRead") + layer("c", "MatRead") +
                               layer("d", "CtcLoss", "ctc_loss_param { output_delay: 2 }"));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  const std::string message = error.what();
  for (const std::string part :
       {"3 things that this net wants are missing:\n", "\n  test.prototxt:2: layer \"crf\": layer type \"DctrQT\" (",
        "\n  test.prototxt:3: layer \"a\" (and of 2 more layers): layer type \"MatRead\" (",
        "\n  test.prototxt:6: layer \"d\": field \"output_delay\" (the CTC forks) is not in this build; remove it, "}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in:\n" << message;
  }
}

TEST(GraphErrors, FieldsTypesAndValuesAreInOneReport) {
  const TempDir dir;
  write_file(dir / "n.prototxt", kInput + "layer { name: 'crf' type: 'DctrQT' }\n" +
                                     "layer { name: 'p' type: 'Pooling' pooling_param { blobs_a_min: 1 } }\n" +
                                     "layer { name: 'd' type: 'CtcLoss' ctc_loss_param { output_delay: 2\n" +
                                     "ctc_merge_repeated: false } }\n");
  const Error error = error_of([&] { read_whole_net(dir / "n.prototxt"); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  const std::string message = error.what();
  for (const std::string part :
       {"4 things that this net wants are missing:\n", ":3: layer \"p\": field \"blobs_a_min\" (caffe-windows)",
        ":2: layer \"crf\": layer type \"DctrQT\" (", ":4: layer \"d\": field \"output_delay\" (the CTC forks)",
        ":5: layer \"d\": field \"ctc_merge_repeated\" (the CTC forks)"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in:\n" << message;
  }
}

TEST(GraphErrors, OldTypesThatTheSchemaLacksAreSaidOnce) {
  const TempDir dir;
  write_file(
      dir / "old.prototxt",
      "layers { name: 'data' type: VOLUME_DATA top: 'x' }\nlayers { name: 'n' type: CENSOR_LABEL bottom: 'x' }\n");
  const std::string message = error_of([&] { read_whole_net(dir / "old.prototxt"); }).what();
  EXPECT_NE(message.find("2 things that this net wants are missing:\n"), std::string::npos) << message;
  EXPECT_EQ(message.find("unknown layer type"), std::string::npos) << message;
}

TEST(GraphErrors, WrongNumberOfBottoms) {
  const std::string message =
      failure(kInput + "layer { name: \"r\" type: \"ReLU\" bottom: \"x\" bottom: \"x\" top: \"r\" }");
  EXPECT_NE(message.find("takes 1 bottom(s), but 2 given"), std::string::npos) << message;
}

TEST(GraphErrors, LossWeightsMustMatchTheTops) {
  const std::string message =
      failure(kInput + "layer { name: \"r\" type: \"ReLU\" bottom: \"x\" top: \"r\" loss_weight: 1 loss_weight: 2 }");
  EXPECT_NE(message.find("2 loss_weight values for 1 tops"), std::string::npos) << message;
}

TEST(GraphErrors, SharedShapesMustAgree) {
  const std::string message = failure(kInput + inner_product("a", "x", "param { name: \"w\" }") +
                                      "layer { name: \"b\" type: \"InnerProduct\" bottom: \"a\" top: \"b\" "
                                      "param { name: \"w\" } inner_product_param { num_output: 7 } }");
  EXPECT_NE(message.find("shared param \"w\" has shape 7 4 (28), but its owner \"a\" gives it 4 4 (16)"),
            std::string::npos)
      << message;
}

TEST(GraphErrors, SharersNormalizeTogether) {
  const auto layer = [](const std::string& name, const std::string& bottom, bool normalizes) {
    return "layer { name: \"" + name + "\" type: \"InnerProduct\" bottom: \"" + bottom + "\" top: \"" + name +
           "\" param { name: \"w\" } inner_product_param { num_output: 4 bias_term: false" +
           (normalizes ? " normalize: true" : "") + " } }\n";
  };
  const std::string first = failure(kInput + layer("a", "x", true) + layer("b", "a", false));
  EXPECT_NE(
      first.find("test.prototxt:3: layer \"b\": shared param \"w\": its owner \"a\" scales its rows to length 1 in "
                 "training, and this layer does not"),
      std::string::npos)
      << first;
  const std::string second = failure(kInput + layer("a", "x", false) + layer("b", "a", true));
  EXPECT_NE(second.find("this layer scales its rows to length 1 in training, and its owner \"a\" does not"),
            std::string::npos)
      << second;
  EXPECT_NO_THROW(Net(net_def(kInput + layer("a", "x", true) + layer("b", "a", true)), {}));
}

TEST(GraphErrors, SharedMultipliersMustAgree) {
  const std::string message = failure(kInput + inner_product("a", "x", "param { name: \"w\" lr_mult: 1 }") +
                                      inner_product("b", "a", "param { name: \"w\" lr_mult: 2 }") + loss_of("b"));
  EXPECT_NE(message.find("mismatched lr_mult"), std::string::npos) << message;
}

const std::string kArgMax = "layer { name: \"m\" type: \"ArgMax\" bottom: \"x\" top: \"m\" ";

TEST(Graph, ForceBackwardAsksNothingOfALayerThatIsOnlyRunForward) {
  Net net(net_def("force_backward: true\n" + kInput + inner_product("a", "x") + loss_of("a") +
                  "layer { name: \"t\" type: \"Input\" top: \"t\" input_param { shape { dim: 2 } } }\n" +
                  "layer { name: \"acc\" type: \"Accuracy\" bottom: \"a\" bottom: \"t\" top: \"acc\" }\n" +
                  "layer { name: \"m\" type: \"ArgMax\" bottom: \"a\" top: \"m\" }"),
          {});
  for (const char* forward_only : {"acc", "m"}) EXPECT_FALSE(backward_of(net, forward_only));
  EXPECT_TRUE(backward_of(net, "a"));
  EXPECT_TRUE(backward_of(net, "in"));
  fill_inputs(net, 1);
  run_once(net);
}

TEST(GraphErrors, ForceBackwardThroughALayerWithoutBackward) {
  const std::string message = failure("force_backward: true\n" + kInput + kArgMax + "loss_weight: 1 }");
  EXPECT_NE(message.find("layers of type ArgMax have no backward pass"), std::string::npos) << message;
}

}  // namespace
}  // namespace robusta::test
