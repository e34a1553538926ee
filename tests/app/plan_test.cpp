// What `caffe plan` prints of nets with something special about them.
#include <gtest/gtest.h>

#include <sstream>

#include "solver/process.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::plan_test {
namespace {

Finished plan(const std::string& net) {
  const TempDir folder;
  write_file(folder / "net.prototxt", net);
  return run_caffe_program(folder.path(), {"plan", "-model=net.prototxt"});
}

TEST(Plan, ANetThatFixesItsBatchIsPlanned) {
  const std::string input = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 6 } } }\n";
  const std::string reshape = "layer { name: 'r' type: 'Reshape' bottom: 'x' top: 'r' reshape_param { shape { ";
  const Finished fixed = plan(input + reshape + "dim: 4 dim: 3 dim: 2 } } }");
  EXPECT_EQ(fixed.code, 0) << fixed.log;
  EXPECT_TRUE(contains(fixed.out, "Largest batch: the net fixes its batch")) << fixed.out;
  EXPECT_FALSE(contains(fixed.out, "Largest batch that fits")) << fixed.out;
  EXPECT_TRUE(contains(fixed.out, "net.prototxt:2: layer \"r\": ")) << fixed.out;
  const Finished free = plan(input + reshape + "dim: 0 dim: 3 dim: 2 } } }");
  EXPECT_EQ(free.code, 0) << free.log;
  EXPECT_TRUE(contains(free.out, "Largest batch that fits in ")) << free.out;
}

/// What a rank of several takes: a part of a global batch, and of the states where they are shared out.
TEST(Plan, ARankOfSeveral) {
  const TempDir folder;
  write_file(folder / "solver.prototxt",
             "type: 'Adam' base_lr: 1 lr_policy: 'fixed' net_param {\n"
             "layer { name: 'x' type: 'DummyData' top: 'x' top: 'y' dummy_data_param { shape { dim: 8 dim: 512 } "
             "shape { dim: 8 dim: 1024 } } }\n"
             "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: 1024 "
             "bias_term: false } }\n"
             "layer { name: 'l' type: 'EuclideanLoss' bottom: 'ip' bottom: 'y' } }\n");
  const auto plan_with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"plan", "-solver=solver.prototxt"});
    return run_caffe_program(folder.path(), flags);
  };
  EXPECT_TRUE(contains(plan_with({"-ranks=4"}).out, "history 4.0 MiB\n"));
  EXPECT_TRUE(contains(plan_with({"-ranks=4", "-ddl=-shard states"}).out, "history 1.0 MiB, a share of 4\n"));
  EXPECT_TRUE(contains(plan_with({"-ranks=4", "-ddl=-shard states"}).out, "gradients 2.0 MiB,"));
  // One layer, whole while it is computed, and a share of its sums.
  EXPECT_TRUE(contains(plan_with({"-ranks=4", "-ddl=-shard gradients"}).out, "gradients 2.5 MiB, history 1.0 MiB"));
  EXPECT_TRUE(contains(plan_with({"-ranks=4", "-batch=global"}).out, "for a batch of 2:"));
  const Finished none = plan_with({"-ranks=0"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.log, "-ranks 0 is no number of ranks; give 1 or more")) << none.log;
  const Finished uneven = plan_with({"-ranks=3", "-batch=global"});
  EXPECT_EQ(uneven.code, 2);
  EXPECT_TRUE(contains(uneven.log, "a global batch of 8 cannot be divided among 3 ranks")) << uneven.log;
}

/// A rank keeps gradients and histories of its part of a layer that is cut, as the net asks for it or -fit chooses.
TEST(Plan, ARankOfSeveralThatCutLayers) {
  const TempDir folder;
  const auto plan_with = [&](const std::string& fields, std::vector<std::string> flags) {
    write_file(folder / "solver.prototxt",
               "type: 'Adam' base_lr: 1 lr_policy: 'fixed' net_param {\n"
               "layer { name: 'x' type: 'DummyData' top: 'x' top: 'y' dummy_data_param { shape { dim: 8 dim: 512 } "
               "shape { dim: 8 dim: 1024 } } }\n"
               "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' " +
                   fields +
                   " inner_product_param { num_output: 1024 bias_term: false } }\n"
                   "layer { name: 'l' type: 'EuclideanLoss' bottom: 'ip' bottom: 'y' } }\n");
    flags.insert(flags.begin(), {"plan", "-solver=solver.prototxt", "-ranks=4"});
    return run_caffe_program(folder.path(), flags);
  };
  const std::string part = "parameters 2.0 MiB, gradients 512.0 KiB, history 1.0 MiB\n",
                    whole = "parameters 2.0 MiB, gradients 2.0 MiB, history 4.0 MiB\n";
  const Finished asked = plan_with("multinode { model_parts: 4 }", {});
  EXPECT_EQ(asked.code, 0) << asked.log;
  EXPECT_TRUE(contains(asked.out, part)) << asked.out;
  // 3 others get 8 x 512 inputs and 8 x 256 outputs, and send gradients of outputs back.
  EXPECT_TRUE(contains(asked.out, "Model parallel: layer \"ip\" in 4 parts of 256 outputs: a rank sends 96.0 KiB"))
      << asked.out;
  const Finished slow = plan_with("", {"-ddl=-fit 0.1:50"});
  EXPECT_EQ(slow.code, 0) << slow.log;
  EXPECT_TRUE(contains(slow.out, "Fit: a sum over all ranks 0.1 ms + 0.0667 GB/s; among 2 parts 0.05 ms + 0.1 GB/s"))
      << slow.out;
  EXPECT_TRUE(contains(slow.out, part)) << slow.out;
  const Finished fast = plan_with("", {"-ddl=-fit 1000:1000"});
  EXPECT_TRUE(contains(fast.out, whole)) << fast.out;
  EXPECT_TRUE(contains(fast.out, "data parallel")) << fast.out;
  const Finished measured = plan_with("", {"-ddl=-fit auto"});
  EXPECT_EQ(measured.code, 1);
  EXPECT_TRUE(contains(measured.log, "say how fast they are, in GB/s and microseconds: -fit 1.2:50")) << measured.log;
  const Finished refused = plan_with("multinode { model_parts: 4 }", {"-ddl=-shard states"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.log, "model_parts with -ddl \"-shard\"")) << refused.log;
}

/// As nets are published for testing alone: their data have rules, and all else has none.
TEST(Plan, ANetForTestingAloneIsTakenInItsPhase) {
  const std::string net =
      "layer { name: 'x' type: 'Input' top: 'x' include { phase: TEST } input_param { shape { dim: 2 dim: 3 } } }\n"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: 4 } }\n";
  const Finished own = plan(net);
  EXPECT_EQ(own.code, 0) << own.log;
  EXPECT_TRUE(contains(own.log,
                       "The net is taken in the TEST phase, for in the TRAIN phase this holds: net.prototxt:2: "
                       "layer \"ip\": bottom \"x\" is made by layer \"x\""))
      << own.log;
  const TempDir folder;
  write_file(folder / "net.prototxt", net);
  const Finished asked = run_caffe_program(folder.path(), {"plan", "-model=net.prototxt", "-phase=TRAIN"});
  EXPECT_EQ(asked.code, 2) << asked.log;
  const Finished summary = run_caffe_program(folder.path(), {"summary", "net.prototxt"});
  EXPECT_EQ(summary.code, 0) << summary.log;
  EXPECT_TRUE(contains(summary.out, "ip")) << summary.out;
}

TEST(Plan, ANetThatIsWholeInNoPhaseIsRefusedAsOneToTrain) {
  const Finished neither = plan(
      "layer { name: 'x' type: 'Input' top: 'x' include { phase: TEST } input_param { shape { dim: 2 dim: 3 } } }\n"
      "layer { name: 'a' type: 'AbsVal' bottom: 'x' top: 'a' }\n"
      "layer { name: 'b' type: 'AbsVal' bottom: 'y' top: 'b' include { phase: TEST } }\n");
  EXPECT_EQ(neither.code, 2);
  EXPECT_TRUE(contains(neither.log, "layer \"a\": bottom \"x\"")) << neither.log;
}

/// The line that begins with these words, in single blanks.
std::string line_of(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return "no line begins with " + begin;
  std::istringstream words(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// 64 x 16 pixels of 8 x 8 from the Input are read and written in bf16, weights of 10 x 1024.
TEST(Plan, TrafficOfAGpuThatIsDescribed) {
  const TempDir folder;
  write_file(folder / "net.prototxt",
             "layer { name: 'x' type: 'Input' top: 'x' top: 'y' input_param { shape { dim: 64 dim: 16 dim: 8 dim: 8 } "
             "shape { dim: 64 } } }\n"
             "layer { name: 'scale' type: 'Scale' bottom: 'x' top: 's' }\n"
             "layer { name: 'relu' type: 'ReLU' bottom: 's' top: 'r' }\n"
             "layer { name: 'ip' type: 'InnerProduct' bottom: 'r' top: 'ip' inner_product_param { num_output: 10 } }\n"
             "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'y' top: 'loss' }\n");
  const auto plan_with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"plan", "-model=net.prototxt"});
    return run_caffe_program(folder.path(), flags);
  };
  const Finished h100 = plan_with({"-gpu=0", "-traffic=h100", "-precision=bf16"});
  EXPECT_EQ(h100.code, 0) << h100.log;
  EXPECT_TRUE(contains(h100.out, "Planned for H100 SXM with 80.0 GiB")) << h100.out;
  EXPECT_TRUE(contains(h100.out, "predicted for H100 SXM: 989")) << h100.out;
  EXPECT_EQ(line_of(h100.out, "relu "), "relu 1 1 1 0.000 0.000 0.000 0.004 launches") << h100.out;
  EXPECT_EQ(line_of(h100.out, "InnerProduct ").substr(0, 18), "InnerProduct 1 2 3") << h100.out;
  EXPECT_TRUE(contains(line_of(h100.out, "convolutions and matrix products"), " 3 launches ")) << h100.out;
  EXPECT_TRUE(contains(line_of(h100.out, "update"), "update 1 launches")) << h100.out;
  const Finished none = plan_with({"-traffic=h100"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.log, "-traffic is a question about a GPU; add -gpu 0")) << none.log;
  const Finished unknown = plan_with({"-gpu=0", "-traffic=h10"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(contains(unknown.log, "no GPU \"h10\" is described (did you mean \"h100\"?)")) << unknown.log;
}

}  // namespace
}  // namespace robusta::test::plan_test
