#include "schema/upgrade.h"

#include <gtest/gtest.h>

#include "schema/print.h"
#include "schema/read_text.h"
#include "support/errors.h"

namespace robusta {
namespace {

using test::contains;

std::string upgraded(const std::string& text) { return parse_net(text, "n").param.ShortDebugString(); }

std::string what_of(const std::string& text) {
  return test::error_of([&] { parse_net(text, "n"); }).what();
}

TEST(UpgradeV0, MovesFlatSettingsByLayerType) {
  EXPECT_EQ(upgraded("layers { bottom: 'x' top: 'y' layer { name: 'c' type: 'conv' num_output: 2 biasterm: false pad: 1"
                     " kernelsize: 3 stride: 2 group: 2 weight_filler { type: 'xavier' } } }"),
            "layer { name: \"c\" type: \"Convolution\" bottom: \"x\" top: \"y\" convolution_param { num_output: 2 "
            "bias_term: false pad: 1 kernel_size: 3 group: 2 stride: 2 weight_filler { type: \"xavier\" } } }");
  EXPECT_EQ(
      upgraded("layers { layer { name: 'p' type: 'pool' pool: STOCHASTIC kernelsize: 3 stride: 2 pad: 1 } }"),
      "layer { name: \"p\" type: \"Pooling\" pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 pad: 1 } }");
  EXPECT_EQ(
      upgraded("layers { layer { name: 'd' type: 'data' source: 's' batchsize: 4 rand_skip: 5 scale: 2 cropsize: 6"
               " mirror: true meanfile: 'm' } top: 't' }"),
      "layer { name: \"d\" type: \"Data\" top: \"t\" transform_param { scale: 2 mirror: true crop_size: 6 "
      "mean_file: \"m\" } data_param { source: \"s\" batch_size: 4 rand_skip: 5 } }");
  EXPECT_EQ(
      upgraded("layers { layer { name: 'i' type: 'images' source: 's' new_height: 32 new_width: 36 shuffle_images: "
               "true } }"),
      "layer { name: \"i\" type: \"ImageData\" image_data_param { source: \"s\" shuffle: true new_height: 32 "
      "new_width: 36 } }");
  EXPECT_EQ(upgraded("layers { layer { name: 'w' type: 'window_data' det_fg_threshold: 0.25 det_context_pad: 2 "
                     "det_crop_mode: 'square' } }"),
            "layer { name: \"w\" type: \"WindowData\" window_data_param { fg_threshold: 0.25 context_pad: 2 crop_mode: "
            "\"square\" } }");
  EXPECT_EQ(upgraded("layers { layer { name: 'i' type: 'innerproduct' num_output: 3 blobs_lr: 1 blobs_lr: 2 "
                     "weight_decay: 0 } }"),
            "layer { name: \"i\" type: \"InnerProduct\" param { lr_mult: 1 decay_mult: 0 } param { lr_mult: 2 } "
            "inner_product_param { num_output: 3 } }");
}

TEST(UpgradeV0, NotesWhatHasNoPlace) {
  NetDef net;
  net.file = "n";
  net.sources.resize(1);
  caffe::V0LayerParameter* flat = net.param.add_layers()->mutable_layer();
  flat->set_name("r");
  flat->set_type("relu");
  flat->set_num_output(3);
  const UpgradeNotes notes = upgrade_net(&net);
  ASSERT_EQ(notes.dropped.size(), 1u);
  EXPECT_TRUE(contains(notes.dropped[0], "layer \"r\": dropped num_output"));
  EXPECT_EQ(net.param.ShortDebugString(), "layer { name: \"r\" type: \"ReLU\" }");
}

TEST(UpgradeV0, KeepsOnlyWhatCaffeKeepsOfTheNet) {
  EXPECT_EQ(
      upgraded("name: 'x' force_backward: true debug_info: true state { level: 2 } layers { layer { type: 'relu' } }"),
      "name: \"x\" force_backward: true layer { type: \"ReLU\" }");
}

TEST(UpgradeV0, FoldsPaddingIntoTheLayerThatReadsIt) {
  const NetDef net = parse_net(
      "layers { layer { name: 'p' type: 'padding' pad: 2 } bottom: 'x' top: 'xp' }\n"
      "layers { layer { name: 'c' type: 'conv'\n kernelsize: 5 } bottom: 'xp' top: 'y' }",
      "n");
  EXPECT_EQ(net.param.ShortDebugString(),
            "layer { name: \"c\" type: \"Convolution\" bottom: \"x\" top: \"y\" "
            "convolution_param { pad: 2 kernel_size: 5 } }");
  ASSERT_EQ(net.sources.size(), 1u);
  EXPECT_EQ(net.sources[0].where(), "n:2");
  EXPECT_EQ(net.sources[0].where("convolution_param.kernel_size"), "n:3");
}

TEST(UpgradeV0, RefusesPaddingThatNobodyCanTakeOver) {
  const std::string padding = "layers { layer { name: 'p' type: 'padding' pad: 2 } bottom: 'x' top: 'xp' }";
  EXPECT_TRUE(contains(what_of(padding), "n:1: layer \"p\": nothing reads the padded blob \"xp\""));
  EXPECT_TRUE(contains(what_of(padding + "layers { layer { name: 'r' type: 'relu' } bottom: 'xp' top: 'y' }"),
                       "layer \"r\" cannot pad its input"));
}

TEST(UpgradeV0, OffersTheNearestOldType) {
  EXPECT_EQ(what_of("layers { layer { name: 'c'\n type: 'convv' } }"),
            "n:2: layer \"c\": unknown layer type \"convv\" of the oldest form (did you mean \"conv\"?)");
}

TEST(UpgradeV1, TurnsParallelListsIntoParams) {
  const NetDef net = parse_net(
      "layers { name: 'c' type: CONVOLUTION param: 'w' blob_share_mode: PERMISSIVE\n blobs_lr: 1\n blobs_lr: 2\n "
      "weight_decay: 0.5 include { phase: TRAIN } loss_weight: 3 convolution_param { num_output: 1 } }",
      "n");
  EXPECT_EQ(
      net.param.ShortDebugString(),
      "layer { name: \"c\" type: \"Convolution\" loss_weight: 3 param { name: \"w\" share_mode: PERMISSIVE lr_mult: 1 "
      "decay_mult: 0.5 } param { lr_mult: 2 } include { phase: TRAIN } convolution_param { num_output: 1 } }");
  EXPECT_EQ(net.sources[0].where("param[1].lr_mult"), "n:3");
  EXPECT_EQ(net.sources[0].where("param[0].decay_mult"), "n:4");
}

TEST(UpgradeV1, KnowsEveryType) {
  const auto* types = caffe::V1LayerParameter::LayerType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const auto type = static_cast<caffe::V1LayerParameter::LayerType>(types->value(i)->number());
    EXPECT_EQ(v2_type_name(type).empty(), type == caffe::V1LayerParameter::NONE) << types->value(i)->name();
  }
  EXPECT_EQ(v2_type_name(caffe::V1LayerParameter::SOFTMAX_LOSS), "SoftmaxWithLoss");
  EXPECT_EQ(v2_type_name("images"), "ImageData");
  EXPECT_EQ(v2_type_name("nothing"), "");
}

TEST(UpgradeV1, RefusesBothGenerationsInOneNet) {
  EXPECT_TRUE(contains(what_of("layer { name: 'a' }\nlayers { name: 'b' }"), "n:2: the net has both `layers`"));
}

TEST(UpgradeTransform, OnlyInV1) {
  EXPECT_EQ(upgraded("layers { type: DATA data_param { source: 's' scale: 0.5 mirror: true } }"),
            "layer { type: \"Data\" transform_param { scale: 0.5 mirror: true } data_param { source: \"s\" } }");
  EXPECT_EQ(upgraded("layer { type: 'Data' data_param { scale: 0.5 } }"),
            "layer { type: \"Data\" data_param { scale: 0.5 } }");
  EXPECT_EQ(parse_net("layers { type: IMAGE_DATA image_data_param {\n crop_size: 5 } }", "n")
                .sources[0]
                .where("transform_param.crop_size"),
            "n:2");
}

TEST(UpgradeInput, MakesOneLayerInFront) {
  const NetDef net = parse_net(
      "name: 'x'\ninput: 'a' input_shape { dim: 2 dim: 3 }\ninput: 'b' input_shape { dim: 5 }\n"
      "layer { name: 'l' }",
      "n");
  EXPECT_EQ(net.param.ShortDebugString(),
            "name: \"x\" layer { name: \"input\" type: \"Input\" top: \"a\" top: \"b\" "
            "input_param { shape { dim: 2 dim: 3 } shape { dim: 5 } } } layer { name: \"l\" }");
  ASSERT_EQ(net.sources.size(), 2u);
  EXPECT_EQ(net.sources[0].where(), "n:2");
  EXPECT_EQ(net.sources[1].where(), "n:4");
  EXPECT_EQ(
      upgraded("input: 'a' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4"),
      "layer { name: \"input\" type: \"Input\" top: \"a\" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 4 } } }");
  EXPECT_EQ(upgraded("input: 'a' layer { name: 'l' }"), "layer { name: \"l\" }") << "no shapes, as in weights files";
}

TEST(UpgradeInput, RefusesTheWrongNumberOfShapes) {
  EXPECT_TRUE(contains(what_of("input: 'a'\ninput: 'b' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4"),
                       "n:1: 2 inputs, but shapes for 1"));
  EXPECT_TRUE(
      contains(what_of("input: 'a' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4 input_dim: 5"), "n:1: "));
}

TEST(UpgradeBatchNorm, FreezesTheThreeStatistics) {
  EXPECT_EQ(upgraded("layer { type: 'BatchNorm' param { lr_mult: 1 } param { } param { name: 'f' } }"),
            "layer { type: \"BatchNorm\" param { lr_mult: 0 decay_mult: 0 } param { lr_mult: 0 decay_mult: 0 } "
            "param { name: \"f\" lr_mult: 0 decay_mult: 0 } }");
  EXPECT_EQ(upgraded("layer { type: 'BatchNorm' param { lr_mult: 1 } }"),
            "layer { type: \"BatchNorm\" param { lr_mult: 1 } }");
}

TEST(UpgradeSecondPairs, LeaveOneToTheScaleLayer) {
  const auto net = [](const std::string& fields, const std::string& scale) {
    return "layer { name: \"b\" type: \"BatchNorm\" bottom: \"x\" top: \"b\" batch_norm_param { " + fields +
           "} } layer { name: \"s\" type: \"Scale\" bottom: \"b\" top: \"s\" scale_param { " + scale + " } }";
  };
  const std::string bias = "bias_term: true", pair = "eps: 0.5 bias_filler { value: 0 } filler { value: 1 } ";
  EXPECT_EQ(upgraded(net(pair, bias)), net("eps: 0.5 ", bias));
  EXPECT_EQ(upgraded(net(pair, "axis: 0 " + bias)), net(pair, "axis: 0 " + bias));
  const std::string nvidia = "bias_filler { value: 0 } scale_filler { value: 1 } ";
  EXPECT_EQ(upgraded(net(nvidia, bias)), net(nvidia, bias));
}

TEST(UpgradeSynonyms, WriteWhatHolesMeanAsDilation) {
  const auto convolution = [](const std::string& fields) { return "layer { convolution_param { " + fields + " } }"; };
  EXPECT_EQ(upgraded(convolution("hole: 2")), convolution("dilation: 2"));
  EXPECT_EQ(upgraded(convolution("hole: 2 hole_w: 3")), convolution("dilation: 2 dilation: 3"));
  EXPECT_EQ(upgraded(convolution("dilation_h: 4")), convolution("dilation: 4 dilation: 1"));
  EXPECT_EQ(upgraded("layers { type: CONVOLUTION convolution_param { hole: 12 } }"),
            "layer { type: \"Convolution\" convolution_param { dilation: 12 } }");
  const std::string error = what_of("layer { name: 'a' convolution_param { dilation: 2\nhole: 2 } }");
  EXPECT_TRUE(contains(error, "n:2: ")) << error;
  EXPECT_TRUE(contains(error, "hole is given together with dilation")) << error;
}

TEST(UpgradeSynonyms, NameTheReluThatIsClipped) {
  EXPECT_EQ(upgraded("layer { type: 'ReLU' relu_param { relu6: true } }"), "layer { type: \"ReLU6\" }");
  EXPECT_EQ(upgraded("layer { type: 'ReLU' relu_param { relu6: false } }"),
            "layer { type: \"ReLU\" relu_param { relu6: false } }");
  EXPECT_TRUE(contains(what_of("layer { type: 'ReLU' relu_param { relu6: true\nnegative_slope: 0.1 } }"), "n:1: "));
}

TEST(UpgradePermutingConcats, PermuteInLayersOfTheirOwn) {
  const std::string concat = "layer { name: \"c\" type: \"Concat\" bottom: \"x\" top: \"t\" concat_param { ";
  EXPECT_EQ(
      upgraded(concat + "per_fla_fuse: true } }"),
      "layer { name: \"c/permuted0\" type: \"Permute\" bottom: \"x\" top: \"c/permuted0\" permute_param { order: 0 "
      "order: 2 order: 3 order: 1 } } layer { name: \"c/flat0\" type: \"Reshape\" bottom: \"c/permuted0\" "
      "top: \"c/flat0\" reshape_param { shape { dim: 0 dim: -1 dim: 1 dim: 1 } } } "
      "layer { name: \"c\" type: \"Concat\" bottom: \"c/flat0\" top: \"t\" concat_param { } }");
  EXPECT_EQ(upgraded(concat + "axis: 2 per_fla_fuse: true } }"), concat + "axis: 2 per_fla_fuse: true } }");
}

TEST(UpgradeInnerRelus, AreLayersOfTheirOwn) {
  const std::string relu = " layer { name: \"c/relu\" type: \"ReLU\" bottom: \"t\" top: \"t\"";
  const auto layer = [](const std::string& type, const std::string& fields) {
    return "layer { name: \"c\" type: \"" + type + "\" bottom: \"x\" top: \"t\" " + fields + " }";
  };
  EXPECT_EQ(
      upgraded(layer("Convolution", "convolution_param { num_output: 2 relu: true negative_slope: 0.5 }")),
      layer("Convolution", "convolution_param { num_output: 2 }") + relu + " relu_param { negative_slope: 0.5 } }");
  EXPECT_EQ(upgraded(layer("InnerProduct", "inner_product_param { num_output: 2 engine: MKLDNN relu: true }")),
            layer("InnerProduct", "inner_product_param { num_output: 2 engine: MKLDNN }") + relu + " }");
  EXPECT_EQ(upgraded(layer("BatchNorm", "batch_norm_param { relu: true }")),
            layer("BatchNorm", "batch_norm_param { }") + relu + " }");
  // relu: false stays as it is.
  const std::string none = layer("Convolution", "convolution_param { relu: false }");
  EXPECT_EQ(upgraded(none), none);
}

TEST(UpgradeInnerRelus, AreLeftOutWhereTheEngineIgnoresThem) {
  const auto convolution = [](const std::string& fields) { return "layer { convolution_param { " + fields + "} }"; };
  EXPECT_EQ(upgraded(convolution("engine: CAFFE relu: true ")), convolution("engine: CAFFE "));
  EXPECT_EQ(upgraded("engine: 'MKL2017' " + convolution("relu: true ")), "engine: \"MKL2017\" " + convolution(""));
  EXPECT_TRUE(contains(upgraded("engine: 'MKLDNN' layer { top: 't' convolution_param { relu: true } }"), "\"ReLU\""));
}

TEST(UpgradeInnerRelus, FollowTheScaleThatIntelMakesAPartOfBatchNorm) {
  const std::string both = upgraded(
      "layer { name: 'b' type: 'BatchNorm' bottom: 'x' top: 'b' batch_norm_param { relu: true } } "
      "layer { name: 's' type: 'Scale' bottom: 'b' top: 's' scale_param { bias_term: true } }");
  EXPECT_TRUE(both.ends_with("layer { name: \"b/relu\" type: \"ReLU\" bottom: \"s\" top: \"s\" }")) << both;
}

TEST(UpgradeSynopsys, WritesDepthToSpaceAsReorg) {
  EXPECT_EQ(upgraded("layer { type: 'Reshape' reshape_param { pixelshuffler: 2 } }"),
            "layer { type: \"Reorg\" reorg_param { stride: 2 reverse: true by_channel: true } }");
  EXPECT_EQ(upgraded("layer { type: 'Reshape' reshape_param { pixelshuffler: 1 } }"),
            "layer { type: \"Reshape\" reshape_param { pixelshuffler: 1 } }");
  const auto depth_to_space = [](const std::string& format) {
    return "layer { type: 'DepthToSpace' depth_to_space_param { block_size: 3\ndata_format: '" + format + "' } }";
  };
  EXPECT_EQ(upgraded(depth_to_space("NCHW")), "layer { type: \"Reorg\" reorg_param { stride: 3 reverse: true } }");
  EXPECT_EQ(upgraded(depth_to_space("DCR")), upgraded(depth_to_space("NCHW")));
  EXPECT_EQ(upgraded(depth_to_space("CRD")),
            "layer { type: \"Reorg\" reorg_param { stride: 3 reverse: true by_channel: true } }");
  EXPECT_TRUE(contains(what_of(depth_to_space("NHWC")), "n:2: data_format is NHWC"));
  EXPECT_TRUE(contains(what_of("layer { type: 'Reshape'\nreshape_param { pixelshuffler: -2 } }"), "n:2: "));
}

TEST(UpgradeSynopsys, JoinsTheHeadsOfDetectors) {
  const auto detector = [](const std::string& bottoms, const std::string& fields) {
    return "layer { name: \"d\" type: \"DetectionOutput\" " + bottoms + "top: \"t\" detection_output_param { " +
           fields + "} }";
  };
  const std::string joined =
      "layer { name: \"d/codes\" type: \"Concat\" bottom: \"m\" bottom: \"n\" top: \"d/codes\" concat_param { axis: 1 "
      "} } "
      "layer { name: \"d/scores\" type: \"Concat\" bottom: \"a\" bottom: \"b\" top: \"d/scores\" concat_param { axis: "
      "1 } } ";
  EXPECT_EQ(
      upgraded(detector("bottom: 'a' bottom: 'b' bottom: 'm' bottom: 'n' bottom: 'p' ", "num_classes: 3 nbottom: 2")),
      joined + detector("bottom: \"d/codes\" bottom: \"d/scores\" bottom: \"p\" ", "num_classes: 3 "));
  const std::string apart = upgraded(detector(
      "bottom: 'a' bottom: 'b' bottom: 'm' bottom: 'n' bottom: 'p' bottom: 'q' ", "nbottom: 2 no_permute: true"));
  EXPECT_TRUE(
      apart.starts_with("layer { name: \"d/scores0_permuted\" type: \"Permute\" bottom: \"a\" "
                        "top: \"d/scores0_permuted\" permute_param { order: 0 order: 3 order: 2 order: 1 } }"))
      << apart;
  EXPECT_TRUE(contains(apart, "bottom: \"p\" bottom: \"q\" top: \"d/priors\" concat_param { axis: 2 } }")) << apart;
  // SSD's three bottoms stay, and no_permute means nothing there.
  const std::string three = "bottom: \"l\" bottom: \"s\" bottom: \"p\" ";
  EXPECT_EQ(upgraded(detector(three, "num_classes: 3 no_permute: true")), detector(three, "num_classes: 3 "));
}

TEST(Upgrade3d, WritesConvolutionsOverThreeAxes) {
  const std::string three =
      "layer { name: \"c\" type: \"Convolution\" convolution_param { num_output: 4 pad: 1 pad: 0 pad: 0 kernel_size: 3 "
      "kernel_size: 5 kernel_size: 5 stride: 1 stride: 2 stride: 2 weight_filler { type: \"gaussian\" } } }";
  const std::string fields =
      "num_output: 4 kernel_size: 5 kernel_depth: 3 stride: 2 temporal_pad: 1 weight_filler { type: 'gaussian' } ";
  EXPECT_EQ(upgraded("layers { name: 'c' type: CONVOLUTION3D convolution_param { " + fields + "} }"), three);
  EXPECT_EQ(upgraded("layer { name: 'c' type: 'Convolution3D' convolution3d_param { " + fields + "filter_group: 2 } }"),
            three);
  EXPECT_EQ(upgraded("layer { type: 'Deconvolution3D' convolution_param { num_output: 1 kernel_size: 2 kernel_depth: 4 "
                     "temporal_stride: 3 } }"),
            "layer { type: \"Deconvolution\" convolution_param { num_output: 1 pad: 0 pad: 0 pad: 0 kernel_size: 4 "
            "kernel_size: 2 kernel_size: 2 stride: 3 stride: 1 stride: 1 } }");
}

TEST(Upgrade3d, WritesPoolingsOverThreeAxes) {
  const auto three = [](const std::string& fields) {
    return "layer { type: \"Pooling\" pooling_param { " + fields + " } }";
  };
  EXPECT_EQ(upgraded("layers { type: POOLING3D pooling_param { pool: AVE kernel_size: 3 kernel_depth: 2 stride: 2 "
                     "temporal_stride: 1 pad: 1 } }"),
            three("pool: AVE pad_3d: 0 pad_3d: 1 pad_3d: 1 kernel_size_3d: 2 kernel_size_3d: 3 kernel_size_3d: 3 "
                  "stride_3d: 1 stride_3d: 2 stride_3d: 2"));
  EXPECT_EQ(upgraded("layer { type: 'Pooling3D' pooling3d_param { kernel_size: 2 kernel_depth: 1 } }"),
            three("pad_3d: 0 pad_3d: 0 pad_3d: 0 kernel_size_3d: 1 kernel_size_3d: 2 kernel_size_3d: 2 stride_3d: 1 "
                  "stride_3d: 1 stride_3d: 1"));
  // Synopsys' rounds down, and has no depth of its own where the size is given.
  EXPECT_EQ(upgraded("layer { type: 'Pooling3D' pooling3d_param { pool: AVE_EXC_PAD kernel_size: 2 stride_d: 1 "
                     "stride_h: 2 stride_w: 3 pad_h0: 1 pad_h1: 1 } }"),
            three("pool: AVE_EXC_PAD round_mode: FLOOR pad_3d: 0 pad_3d: 1 pad_3d: 0 kernel_size_3d: 2 "
                  "kernel_size_3d: 2 kernel_size_3d: 2 stride_3d: 1 stride_3d: 2 stride_3d: 3"));
  EXPECT_EQ(upgraded("layer { type: 'Pooling3D' pooling3d_param { global_pooling: true ceil_mode: true } }"),
            three("global_pooling: true pad_3d: 0 pad_3d: 0 pad_3d: 0 stride_3d: 1 stride_3d: 1 stride_3d: 1"));
}

TEST(Upgrade3d, RefusesWhatTheLayersOfThreeAxesWouldNotDo) {
  const auto error = [](const std::string& layer) { return what_of("layer { name: 'a' " + layer + " }"); };
  EXPECT_TRUE(contains(error("type: 'Convolution3D' convolution_param { num_output: 1\nkernel_size: 3 }"),
                       "no kernel_depth is given"));
  const std::string twice =
      error("type: 'Convolution3D' convolution_param { kernel_depth: 1\nkernel_size: 3 kernel_size: 3 }");
  EXPECT_TRUE(contains(twice, "n:2: ")) << twice;
  EXPECT_TRUE(contains(twice, "kernel_size is given 2 times")) << twice;
  EXPECT_TRUE(contains(error("type: 'Convolution3D' convolution_param { kernel_depth: 1 kernel_size: 3 group: 2 }"),
                       "Convolution3D has no group"));
  EXPECT_TRUE(contains(error("type: 'Pooling3D' pooling_param { kernel_size: 3 }"), "no kernel_depth is given"));
  EXPECT_TRUE(contains(error("type: 'Pooling3D' pooling3d_param { kernel_size: 3 pad_d0: 1 }"),
                       "differs at the ends of an axis"));
}

TEST(Upgrade, LeavesTheNewestFormAlone) {
  NetDef net = parse_net("name: 'x' layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'x' }", "n");
  const std::string before = text_form(net.param);
  EXPECT_FALSE(upgrade_net(&net).changed());
  EXPECT_EQ(text_form(net.param), before);
}

TEST(Upgrade, TakesNetsWithoutAFile) {
  caffe::NetParameter param;
  param.add_layers()->set_type(caffe::V1LayerParameter::RELU);
  const NetDef net = net_from(param, "solver.prototxt");
  EXPECT_EQ(net.param.layer(0).type(), "ReLU");
  EXPECT_EQ(net.sources.at(0).where("bottom"), "solver.prototxt");
}

}  // namespace
}  // namespace robusta
