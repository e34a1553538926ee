#include "schema/read_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "schema/text_file.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta {
namespace {

using test::contains;
using test::error_of;

std::string what_of_net(const std::string& text) {
  const Error error = error_of([&] { parse_net(text, "n.prototxt"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  return error.what();
}

TEST(ReadText, KnowsTheLineOfEveryField) {
  const NetDef net = parse_net(R"(name: "n"
layer {
  name: "a" type: "Input" top: "x"
  input_param {
    shape { dim: 1
            dim: 2 }
  }
}

layer { name: "b" type: "Convolution"
  bottom: "x"
  top: "y"
  convolution_param { num_output: 3
    kernel_size: 5
    kernel_size: 7 } }
)",
                               "dir/n.prototxt");
  ASSERT_EQ(net.sources.size(), 2u);
  EXPECT_EQ(net.sources[0].where(), "dir/n.prototxt:2");
  EXPECT_EQ(net.sources[0].where("input_param.shape[0].dim[1]"), "dir/n.prototxt:6");
  EXPECT_EQ(net.sources[1].where(), "dir/n.prototxt:10");
  EXPECT_EQ(net.sources[1].where("top"), "dir/n.prototxt:12");
  EXPECT_EQ(net.sources[1].where("top[0]"), "dir/n.prototxt:12");
  EXPECT_EQ(net.sources[1].where("convolution_param.kernel_size"), "dir/n.prototxt:14");
  EXPECT_EQ(net.sources[1].where("convolution_param.kernel_size[1]"), "dir/n.prototxt:15");
  EXPECT_EQ(net.sources[1].where("convolution_param.stride"), "dir/n.prototxt:13") << "the message around it";
  EXPECT_EQ(net.sources[1].where("pooling_param.pad"), "dir/n.prototxt:10") << "the layer";
  EXPECT_EQ(net.where("name"), "dir/n.prototxt:1");
  EXPECT_EQ(net.where("state.level"), "dir/n.prototxt");
}

TEST(ReadText, OffersTheNearestField) {
  EXPECT_EQ(what_of_net("layer {\n name: \"conv1\"\n convolution_param {\n\tkernel_sise: 3 } }"),
            "n.prototxt:4: layer \"conv1\": unknown field \"kernel_sise\" in convolution_param (did you mean "
            "\"kernel_size\"?)");
  EXPECT_EQ(what_of_net("name: \"x\"\nlayr { }"), "n.prototxt:2: unknown field \"layr\" (did you mean \"layer\"?)");
  // The name at the end of its line: protobuf reports the next one.
  EXPECT_TRUE(contains(what_of_net("layer { name: 'a'\n botom\n\n: 'x' }"),
                       "n.prototxt:2: layer \"a\": unknown field \"botom\" in layer (did you mean \"bottom\"?)"));
  EXPECT_EQ(what_of_net("layer { zzzzzz: 1 }"), "n.prototxt:1: unknown field \"zzzzzz\" in layer");
}

TEST(ReadText, NamesTheFieldAtFault) {
  const Error error = error_of([] { parse_net("layer { data_param { batch_sise: 1 } }", "n"); });
  EXPECT_EQ(error.field(), "layer.data_param.batch_sise");
}

TEST(ReadText, OffersTheNearestEnumValue) {
  EXPECT_EQ(
      what_of_net("layer { name: 'p' pooling_param {\n pool: MAXX } }"),
      "n.prototxt:2: layer \"p\": \"MAXX\" is no value of pool (did you mean \"MAX\"?); known: MAX, AVE, STOCHASTIC, "
      "AVE_EXC_PAD, AVE_TF");
  EXPECT_EQ(what_of_net("layers { name: 'c' type: CONVOLUTON }"),
            "n.prototxt:1: layer \"c\": \"CONVOLUTON\" is no value of type (did you mean \"CONVOLUTION\"?)");
}

TEST(ReadText, AttributesErrorsOnlyToTheLayerAroundThem) {
  EXPECT_EQ(what_of_net("layer { name: 'a' # } \n }\n\ngarbage"), "n.prototxt:4: unknown field \"garbage\"");
  EXPECT_TRUE(contains(what_of_net("layer { name: 'a' } layer { name: '}\\'' tpo: 'x' }"), "layer \"}'\""));
}

TEST(ReadText, SaysWhichKindOfFileIsWanted) {
  EXPECT_TRUE(contains(what_of_net("net: 'x.prototxt'"), "this is a field of solvers: a net is wanted here"));
  EXPECT_TRUE(contains(error_of([] { parse_solver("layer { }", "s"); }).what(),
                       "this is a field of nets: a solver is wanted here"));
}

TEST(ReadText, ExplainsWrongSyntax) {
  EXPECT_TRUE(contains(what_of_net("layer { type: Convolution }"), "the value of type must be text; put it in quotes"));
  EXPECT_TRUE(
      contains(what_of_net("layer {\n name: 'a'\n"), "the file ends too early inside layer; a closing } is missing"));
  EXPECT_TRUE(
      contains(what_of_net("layer { data_param { batch_size: -1 } }"), "at \"batch_size\": expected integer, got: -"));
  EXPECT_TRUE(contains(what_of_net("layer {\n name: 'a' name: 'b' }"), "n.prototxt:2"));
  EXPECT_TRUE(contains(what_of_net("layer { name: 'a }\n}"), "n.prototxt:1: "));
  EXPECT_TRUE(contains(what_of_net("}"), "n.prototxt:1: "));
}

TEST(ReadText, ReadsTheFieldsOfTheForks) {
  const NetDef net = parse_net(R"(
engine: "MKLDNN" default_forward_type: FLOAT16 global_grad_scale: 1000
layer { name: "c" type: "Convolution" convolution_param { engine: MKL2017 relu: true conv_algos_override: "1,1,1" } }
layer { name: "b" type: "BatchNorm" batch_norm_param { scale_bias: true engine: CUDNN relu: true } forward_math: FLOAT }
layer { name: "d" type: "Data" data_param { shuffle: true threads: 2 side: 3 } engine: "CAFFE" }
layer { name: "l" type: "SoftmaxWithLoss" loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 2
  label_smoothing: 0.1 } }
layer { name: "s" type: "SmoothL1Loss" smooth_l1_loss_param { sigma: 2 } }
layer { name: "r" type: "PSROIPooling" psroi_pooling_param { output_dim: 2 } }
)",
                               "n");
  EXPECT_EQ(net.param.layer(0).convolution_param().engine(), caffe::ConvolutionParameter::MKL2017);
  EXPECT_EQ(net.param.layer(3).loss_param().label_smoothing(), 0.1f);
  const SolverDef solver = parse_solver(
      "net: 'n' lr_policy: 'plateau' plateau_winsize: [1, 2] warmup_iter: 5 rampup_lr: 0.1 min_lr: 1e-5 larc: true",
      "s");
  EXPECT_EQ(solver.param.plateau_winsize_size(), 2);
  EXPECT_EQ(solver.param.min_lr(), 1e-5f);
}

TEST(ReadText, SeveralDevicesAreAFlag) {
  for (const char* text :
       {"net: 'n'\n device_id: 0,1\n", "net: 'n'\ndevice_id: [0, 1]", "net: 'n' device_id: 0\ndevice_id: 1",
        "net: 'n'\nsolver_mode: GPU device_id: 0,1 max_iter: 3\n"}) {
    const Error error = error_of([&] { parse_solver(text, "s"); });
    EXPECT_TRUE(contains(error.what(), "s:2: device_id is one GPU; give several by caffe train -gpu 0,1"))
        << error.what();
  }
}

TEST(ReadText, WhatStandsTwiceAndMayOnce) {
  const std::string two = what_of_net("layer { name: 'd' type: 'Data'\n data_param { source: 'a'\n source: 'b' } }");
  EXPECT_TRUE(
      contains(two, "n.prototxt:3: layer \"d\": \"source\" stands twice in data_param; a layer reads one source"))
      << two;
  EXPECT_TRUE(contains(two, "join their tops by Concat layers")) << two;
  EXPECT_EQ(what_of_net("name: 'a'\nname: 'b'"), "n.prototxt:2: \"name\" stands twice; remove one of them");
}

TEST(ReadText, ReportsAllThatTheSchemaLacks) {
  const Error error = error_of([] {
    parse_net(
        "layer { name: 'a' noise_param { mu: 1 } }\nlayer { name: 'b'\n pooling_param { blobs_a_min: 1 } }\n"
        "layer { name: 'c' pooling_param { blobs_a_min: 2 } }\n"
        "layer { name: 'd' eltwise_param { operation: STOCHASTIC_SUM coeff: 2 } }",
        "n");
  });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  for (const char* part :
       {"3 things that this net wants are missing:\n",
        "\n  n:1: layer \"a\": field \"noise_param\" (caffe-windows, naibaf7's Caffe) is not in this build; it is",
        "\n  n:3: layer \"b\" (and of 1 more layer): field \"blobs_a_min\" (caffe-windows) is not in "
        "this build; remove it, if the net means the same without it",
        "\n  n:5: layer \"d\": \"STOCHASTIC_SUM\" (yjxiong's Caffe) is not in this build"}) {
    EXPECT_TRUE(contains(error.what(), part)) << part << " in " << error.what();
  }
  // A typing error, too, and the kind of error is then that of one.
  const Error typed = error_of([] { parse_net("layer { noise_param { } pooling_param { kernl: 1 } }", "n"); });
  EXPECT_EQ(typed.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(typed.what(), "unknown field \"kernl\" in pooling_param")) << typed.what();
  EXPECT_TRUE(contains(typed.what(), "noise_param")) << typed.what();
  // Where the syntax is wrong, too, the first error is told alone.
  const Error wrong = error_of([] { parse_net("layer { noise_param { } pooling_param { pad: x } }", "n"); });
  EXPECT_TRUE(contains(wrong.what(), "n:1: ")) << wrong.what();
  EXPECT_FALSE(contains(wrong.what(), "things that this net wants")) << wrong.what();
}

TEST(ReadText, TakesAWindowOfPoolingForEachAxis) {
  const NetDef net = parse_net(R"(layer { name: "p" # pooling_param { kernel_size: 1 kernel_size: 1 }
  pooling_param { kernel_size: 2 kernel_size: 3 # kernel_size: 9
    stride: [2, 1] pad: 0 dilation: 1 } }
layer { name: 'pooling_param { pad: 1 pad: 2 }' pooling_param: { kernel_size: 2 stride: 2 } }
layer { convolution_param { kernel_size: 2 kernel_size: 3 } })",
                               "n");
  const caffe::PoolingParameter &each = net.param.layer(0).pooling_param(), &one = net.param.layer(1).pooling_param();
  EXPECT_EQ(each.kernel_size_3d(1), 3u);
  EXPECT_EQ(each.stride_3d(0), 2u);
  EXPECT_EQ(each.pad_3d_size(), 1);
  EXPECT_EQ(one.kernel_size(), 2u);
  EXPECT_EQ(one.stride_3d_size(), 0);
  EXPECT_EQ(net.param.layer(1).name(), "pooling_param { pad: 1 pad: 2 }");
  EXPECT_EQ(net.param.layer(2).convolution_param().kernel_size(1), 3u);
  EXPECT_EQ(net.sources[0].fields.at("pooling_param.stride_3d"), 3);
  // Others than these are still said once.
  EXPECT_TRUE(contains(what_of_net("layer { pooling_param { kernel_h: 1 kernel_h: 2 } }"), "kernel_h"));
}

TEST(ReadText, RefusesWhatIsNoTextFile) {
  const test::TempDir dir;
  const auto what = [](const std::string& path) {
    const Error error = error_of([&] { read_net(path); });
    EXPECT_EQ(error.kind(), ErrorKind::kConfig);
    return std::string(error.what());
  };
  EXPECT_EQ(what(dir / "none"), (dir / "none") + ": cannot read: No such file or directory; check the path");
  EXPECT_TRUE(contains(what(dir.path().string()), "this is a folder"));
  test::write_file(dir / "binary", std::string("\x0a\x04name\x00\xff", 8));
  EXPECT_TRUE(contains(what(dir / "binary"), "this is a binary file"));
  test::write_file(dir / "wide", std::string("\xff\xfen\0a\0", 6));
  EXPECT_TRUE(contains(what(dir / "wide"), "this is text in UTF-16; save it as UTF-8"));
  test::write_file(dir / "garbage", "\x01\x02\x03\xff{{{{");
  EXPECT_TRUE(contains(what(dir / "garbage"), "garbage:1: "));
  test::write_file(dir / "empty", "");
  EXPECT_TRUE(contains(what(dir / "empty"), "the net has no layers"));
}

/// A pipe in the place of a file: one that nobody writes is waited for a while, one that a shell made is read.
TEST(ReadText, OfPipes) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(error_of([&] { load_text(dir / "pipe", std::chrono::seconds(1)); }).what(),
                       "the pipe has brought nothing for 1 s; start what writes it first"));
  const std::string text = "name: 'piped'\nlayer { name: 'a' type: 'DummyData' top: 'a' }\n";
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    test::write_file(dir / "pipe", text);
  });
  EXPECT_EQ(read_net(dir / "pipe").param.name(), "piped");
  late.join();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  EXPECT_EQ(read_net("/dev/fd/" + std::to_string(ends[0])).param.name(), "piped");
  close(ends[0]);
  EXPECT_TRUE(contains(error_of([] { read_net("/dev/zero"); }).what(), "this is neither a file nor a pipe"));
}

TEST(ReadText, AByteOrderMarkIsNoCharacter) {
  const test::TempDir dir;
  test::write_file(dir / "marked", "\xef\xbb\xbfname: 'marked'\nlayer { name: 'a' type: 'DummyData' top: 'a' }\n");
  const NetDef net = read_net(dir / "marked");
  EXPECT_EQ(net.param.name(), "marked");
}

TEST(ReadText, ProtobufItselfPrintsNothing) {
  testing::internal::CaptureStderr();
  for (const char* text : {"layer {", "layr { }", "layer { name: 3 }", "\x01", "layer { pooling_param { pool: X } }"})
    error_of([&] { parse_net(text, "n"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadText, SurvivesDeepNesting) {
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "layer {";
  EXPECT_TRUE(contains(what_of_net(deep), "unknown field \"layer\" in layer"));
  EXPECT_TRUE(contains(what_of_net("layer { name: \"" + std::string(1 << 20, '{')), "n.prototxt:1: "));
}

TEST(ReadText, EveryPrefixOfANetParsesOrExplains) {
  const std::string text =
      "layer { name: \"a\\\"b\" type: 'X' # c\n loss_weight: [1, 2] data_param < batch_size: 3 > }";
  int failures = 0;
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      parse_net(text.substr(0, length), "n");
    } catch (const Error& error) {
      ++failures;
      EXPECT_TRUE(contains(error.what(), "n:")) << length;
    }
  }
  EXPECT_GT(failures, 50);
}

TEST(ReadSolver, KnowsItsLines) {
  const SolverDef solver =
      parse_solver("net: 'a'\nstepvalue: 1\nstepvalue: 2\ntrain_state {\n level: 1 }", "s.prototxt");
  EXPECT_EQ(solver.where("stepvalue[1]"), "s.prototxt:3");
  EXPECT_EQ(solver.where("train_state.level"), "s.prototxt:5");
  EXPECT_EQ(solver.where("base_lr"), "s.prototxt");
}

TEST(ReadSolver, KnowsTheLinesOfNetsInside) {
  const SolverDef solver = parse_solver(
      "test_net_param { name: 'a' }\ntest_net_param {\n layers { name: 'x' }\n layers {\n type: RELU\n bottom: 'b' } }",
      "s");
  const NetDef net = net_inside(solver, "test_net_param[1]", solver.param.test_net_param(1));
  EXPECT_EQ(net.param.layer(1).type(), "ReLU");
  EXPECT_EQ(net.sources.at(0).where(), "s:3");
  EXPECT_EQ(net.sources.at(1).where("bottom[0]"), "s:6");
  EXPECT_EQ(net.sources.at(1).where("top"), "s:4");
}

TEST(ReadSolver, TurnsTheOldTypeIntoTheNew) {
  const SolverDef solver = parse_solver("net: 'a'\n\nsolver_type: ADADELTA", "s");
  EXPECT_EQ(solver.param.type(), "AdaDelta");
  EXPECT_FALSE(solver.param.has_solver_type());
  EXPECT_EQ(solver.where("type"), "s:3");
  const Error both = error_of([] { parse_solver("type: 'SGD'\nsolver_type: ADAM", "s"); });
  EXPECT_TRUE(contains(both.what(), "s:2: both type and solver_type are given"));
  EXPECT_EQ(parse_solver("net: 'a'", "s").param.type(), "SGD");
}

TEST(ReadSolver, CompletesTheSnapshotPrefix) {
  EXPECT_EQ(parse_solver("net: 'a'", "m/lenet/solver.prototxt").param.snapshot_prefix(), "m/lenet/solver");
  EXPECT_EQ(parse_solver("snapshot_prefix: 'm/x'", "s.prototxt").param.snapshot_prefix(), "m/x");
  const test::TempDir dir;
  const std::string text = "snapshot_prefix: '" + dir.path().string() + "'";
  EXPECT_EQ(parse_solver(text, "m/quick.prototxt").param.snapshot_prefix(), dir / "quick");
}

}  // namespace
}  // namespace robusta
