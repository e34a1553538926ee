// `caffe train` with the stages of a net on several fake GPUs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "solver/process.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::pipeline_program_test {
namespace {

class PipelineProgram : public testing::Test {
 protected:
  /// Four layers with parameters, each on the device that is listed for it; -1: nothing is said.
  void write_net(const std::vector<int>& devices, const std::string& more = "") {
    std::string text =
        "name: 'staged'\n"
        "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param {\n"
        "  shape { dim: 8 dim: 3 dim: 6 dim: 6 } shape { dim: 8 }\n"
        "  data_filler { type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 1 } } }\n";
    std::string bottom = "data";
    for (size_t i = 0; i < devices.size(); ++i) {
      const std::string name = "ip" + std::to_string(i);
      text += "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name + "'" +
              (devices[i] < 0 ? "" : " device: " + std::to_string(devices[i])) +
              " inner_product_param { num_output: 6 weight_filler { type: 'xavier' } } }\n" + "layer { name: 'relu" +
              std::to_string(i) + "' type: 'ReLU' bottom: '" + name + "' top: '" + name + "' }\n";
      bottom = name;
    }
    text += "layer { name: 'accuracy' type: 'Accuracy' bottom: '" + bottom +
            "' bottom: 'label' top: 'accuracy' include { phase: TEST } }\n"
            "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: '" +
            bottom + "' bottom: 'label' top: 'loss' }\n" + more;
    write_file(folder_ / "net.prototxt", text);
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt' base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 random_seed: 1 display: 1 "
               "max_iter: 6 snapshot: 3 test_iter: 2 test_interval: 3 snapshot_prefix: 's'\n");
  }

  Finished run(const std::vector<std::string>& more, const std::string& action = "train",
               const std::string& gpus = "4:64M") {
    setenv("ROBUSTA_SIM_GPUS", gpus.c_str(), 1);
    std::vector<std::string> args = {action, "-solver", "solver.prototxt"};
    args.insert(args.end(), more.begin(), more.end());
    const Finished done = run_caffe_program(folder_.path(), args);
    unsetenv("ROBUSTA_SIM_GPUS");
    return done;
  }

  std::string model(int iter) const { return read_file(folder_ / ("s_iter_" + std::to_string(iter) + ".caffemodel")); }

  /// What people and log parsers look at: losses, rates, outputs of tests.
  static std::vector<std::string> numbers_of(const std::string& log) {
    std::vector<std::string> numbers;
    const std::regex line("(, loss = |output #\\d+: |, lr = )([^\n]*)");
    for (std::sregex_iterator i(log.begin(), log.end(), line), end; i != end; ++i) numbers.push_back((*i)[2]);
    return numbers;
  }

  void expect_refused(const Finished& done, int code, const std::string& text) {
    EXPECT_EQ(done.code, code) << done.log;
    EXPECT_TRUE(contains(done.log, text)) << done.log;
    EXPECT_EQ(done.log.find("caffe: error:"), done.log.rfind("caffe: error:")) << done.log;
  }

  TempDir folder_;
};

TEST_F(PipelineProgram, WritesTheFilesAndLinesOfOneGpu) {
  for (const auto& [gpus, devices] :
       {std::pair{"0,1", std::vector{0, -1, 1, -1}}, {"0,1,2,3", std::vector{0, 1, 2, 3}}}) {
    write_net(devices);
    const Finished one = run({"-gpu", "0", "-micro_batches", "4"});
    ASSERT_EQ(one.code, 0) << one.log;
    const std::string trained = model(6);
    EXPECT_FALSE(contains(one.log, "Pipeline"));
    for (const std::string order : {"1f1b", "gpipe"}) {
      const Finished staged = run({"-gpu", gpus, "-micro_batches", "4", "-pipeline", order});
      ASSERT_EQ(staged.code, 0) << staged.log;
      EXPECT_EQ(model(6), trained) << order << " over " << gpus;
      EXPECT_EQ(numbers_of(staged.log), numbers_of(one.log));
      EXPECT_TRUE(contains(staged.log, "Pipeline: the stages stood idle for ")) << staged.log;
      EXPECT_TRUE(contains(staged.log, order + ", 4 micro-batches of 2 in an iteration")) << staged.log;
    }
  }
}

TEST_F(PipelineProgram, GoesOnFromASnapshotOnOtherGpus) {
  write_net({0, 1, 2, 3});
  ASSERT_EQ(run({"-gpu", "0,1,2,3", "-micro_batches", "2"}).code, 0);
  const std::string trained = model(6);
  std::filesystem::remove(folder_ / "s_iter_6.caffemodel");
  const Finished on_one = run({"-gpu", "0", "-micro_batches", "2", "-snapshot", "s_iter_3.solverstate"});
  ASSERT_EQ(on_one.code, 0) << on_one.log;
  EXPECT_EQ(model(6), trained);
  EXPECT_TRUE(contains(on_one.log, "`device` of layers changes nothing")) << on_one.log;
}

TEST_F(PipelineProgram, RefusesWhatIsNoPipeline) {
  write_net({0, 1, 0, 1});
  expect_refused(run({"-gpu", "0,1"}), 2,
                 "net.prototxt:9: layer \"ip2\": device 0, and bottom \"ip1\" is made on device 1");
  write_net({0, 1, 4, -1});
  expect_refused(run({"-gpu", "0,1"}), 2, "net.prototxt:9: layer \"ip2\": device 4, and -gpu lists 2 GPUs");
  write_net({0, -1, -1, 2});
  expect_refused(run({"-gpu", "0,1,2"}), 2, "no layer that is trained is on device 1");
}

TEST_F(PipelineProgram, RefusesWhatStagesCannotDo) {
  write_net({0, -1, 1, -1});
  expect_refused(run({"-gpu", "0,1", "-micro_batches", "3"}), 2, "a batch of 8 cannot be cut into 3 micro-batches");
  expect_refused(run({"-gpu", "0,1", "-micro_batches", "0"}), 1, "-micro_batches 0");
  expect_refused(run({"-gpu", "0,1", "-pipeline", "gpip"}), 1, "-pipeline \"gpip\"");
  expect_refused(run({"-gpu", "0,1", "-lms"}), 9, "-lms in a pipeline");
  expect_refused(run({"-gpu", "0,1", "-timeline", "t.json"}), 9, "-timeline in a pipeline");
}

TEST_F(PipelineProgram, SaysWhatHelpsWhereAStageIsTooLarge) {
  write_net({0, -1, 1, -1});
  const Finished done = run({"-gpu", "0,1"}, "train", "2:2K");
  EXPECT_EQ(done.code, 5) << done.log;
  EXPECT_TRUE(contains(done.log,
                       "cut each batch into more micro-batches (-micro_batches), or use a smaller one "
                       "(-batch); or give layers of this device to another one"))
      << done.log;
}

TEST_F(PipelineProgram, IsChecked) {
  write_net({0, -1, 1, -1});
  const Finished done = run({"-gpu", "0,1", "-micro_batches", "2"}, "check");
  EXPECT_EQ(done.code, 0) << done.log << done.out;
  EXPECT_TRUE(contains(done.out, "a pipeline over sim, sim")) << done.out;
}

/// Stages on ranks under mpirun.
class PipelineOverRanks : public PipelineProgram {
 protected:
  void SetUp() override {
    if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  }
  Finished run_over(int ranks, const std::string& more = "") {
    return run_ranks(folder_.path(), ranks, "train -solver solver.prototxt -micro_batches 4 " + more);
  }
};

TEST_F(PipelineOverRanks, WritesTheFilesAndLinesOfOneProcess) {
  for (const auto& [ranks, devices] : {std::pair{2, std::vector{0, -1, 1, -1}}, {4, std::vector{0, 1, 2, 3}}}) {
    write_net(devices);
    const Finished one = run({"-micro_batches", "4"});
    ASSERT_EQ(one.code, 0) << one.log;
    const std::string middle = model(3), trained = model(6);
    const Finished staged = run_over(ranks);
    ASSERT_EQ(staged.code, 0) << staged.log;
    EXPECT_TRUE(model(3) == middle) << ranks;
    EXPECT_TRUE(model(6) == trained) << ranks;
    EXPECT_EQ(numbers_of(staged.log), numbers_of(one.log));
    EXPECT_TRUE(contains(staged.log, "1f1b, 4 micro-batches of 2 in an iteration")) << staged.log;
    EXPECT_TRUE(contains(staged.log, "  stage 1 on rank 1 on ")) << staged.log;
    EXPECT_TRUE(contains(staged.log, "Pipeline: the stages stood idle for ")) << staged.log;
    EXPECT_TRUE(matches(staged.log, "Global batch 8 = 1 pipeline of . ranks x batch 2 x iter_size 4")) << staged.log;
  }
}

TEST_F(PipelineOverRanks, GoesOnFromASnapshotOnOtherRanks) {
  write_net({0, 1, 2, 3});
  ASSERT_EQ(run_over(4).code, 0);
  const std::string trained = model(6);
  std::filesystem::remove(folder_ / "s_iter_6.caffemodel");
  const Finished one = run({"-micro_batches", "4", "-snapshot", "s_iter_3.solverstate"});
  ASSERT_EQ(one.code, 0) << one.log;
  EXPECT_TRUE(model(6) == trained);
  std::filesystem::remove(folder_ / "s_iter_6.caffemodel");
  const Finished four = run_over(4, "-snapshot s_iter_3.solverstate");
  ASSERT_EQ(four.code, 0) << four.log;
  EXPECT_TRUE(model(6) == trained);
}

TEST_F(PipelineOverRanks, RefusesAtTheLineThatAsks) {
  write_net({0, -1, 1, -1});
  expect_refused(run_over(2, "-ddl '-shard states'"), 9,
                 "net.prototxt:5: layer \"ip0\": `device` of layers with -ddl \"-shard\"");
  write_net({0, 1, 0, 1});
  expect_refused(run_over(2), 2, "net.prototxt:9: layer \"ip2\": device 0, and bottom \"ip1\" is made on device 1");
}

TEST_F(PipelineOverRanks, IsChecked) {
  write_net({0, -1, 1, -1});
  const Finished done = run_ranks(folder_.path(), 2, "check -solver solver.prototxt -micro_batches 2");
  EXPECT_EQ(done.code, 0) << done.log << done.out;
  EXPECT_TRUE(contains(done.out, "staged and 1 test net, global batch 8")) << done.out;
}

/// A rank that is killed ends the other one, which waits for what it sends.
TEST_F(PipelineOverRanks, ARankThatDiesEndsAll) {
  write_net({0, -1, 1, -1});
  const std::string forever = "train -solver solver.prototxt -micro_batches 4";
  std::string solver = read_file(folder_ / "solver.prototxt");
  solver.replace(solver.find("max_iter: 6"), 11, "max_iter: 100000000 ");
  solver.replace(solver.find("display: 1"), 10, "display: 0");
  solver.replace(solver.find("snapshot: 3"), 11, "snapshot: 0");
  write_file(folder_ / "solver.prototxt", solver);
  write_file(folder_ / "rank.sh", "test \"$OMPI_COMM_WORLD_RANK\" = 1 && { " + tools_dir() + "/caffe " + forever +
                                      " & sleep 2; kill -9 $!; wait $!; exit 0; }\nexec " + tools_dir() + "/caffe " +
                                      forever + "\n");
  const Finished done = run_ranks(folder_.path(), 2, "rank.sh", "bash");
  EXPECT_NE(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.log, "has died")) << done.log;
}

}  // namespace
}  // namespace robusta::test::pipeline_program_test
