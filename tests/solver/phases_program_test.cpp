// caffe train with a file of several phases: what is handed over, snapshots, resumes, ranks, refusals.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/str.h"
#include "data/sample_db.h"
#include "solver/process.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

/// A folder with a database, a net, and a solver of three phases.
class PhasesProgram : public testing::Test {
 protected:
  void SetUp() override {
    write_database(folder_ / "db", 24, [](int i) { return raw_datum({1, 2, 2}, i % 3, static_cast<uint64_t>(i)); });
    write_file(folder_ / "net.prototxt", net(4));
    write_file(folder_ / "multi.prototxt", "params_pair { solver_params { net: 'net.prototxt' " + kFirst +
                                               "snapshot_prefix: 'toy' } }\nparams_pair { solver_params { " + kSecond +
                                               "} batch_size: 8 }\nparams_pair { batch_size: 2 }\n");
  }
  static std::string net(int batch) {
    return str(
        "name: 'toy' layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'db' "
        "backend: LMDB batch_size: ",
        batch, R"( } transform_param { scale: 0.01 } }
      layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'bn' top: 'ip'
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })");
  }
  Finished run(const std::vector<std::string>& args) { return run_caffe_program(folder_.path(), args); }
  std::string file(const std::string& name) { return read_file(folder_ / name); }
  std::string path(const std::string& name) { return folder_ / name; }

  const std::string kFirst = "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_iter: 4 random_seed: 1 snapshot: 2 ";
  const std::string kSecond = "type: 'Adam' base_lr: 0.01 lr_policy: 'fixed' max_iter: 3 random_seed: 2 snapshot: 2 ";
  const std::vector<std::string> kTrain = {"train", "-solver", "multi.prototxt"};
  TempDir folder_;
};

/// Each phase is the training that a solver of its own would make with -weights of the phase before.
TEST_F(PhasesProgram, FollowEachOther) {
  const Finished done = run(kTrain);
  ASSERT_EQ(done.code, 0) << done.log;
  for (const std::string line : {"Phase 0 of 3", "Global batch 4 =", "Phase 1 of 3", "Global batch 8 =", "Phase 2 of 3",
                                 "Global batch 2 =", "Snapshotting to binary proto file toy_phase_2"}) {
    EXPECT_TRUE(contains(done.log, line));
  }
  std::string weights;
  for (const auto& [phase, batch, settings] :
       {std::tuple{0, 4, kFirst}, std::tuple{1, 8, kSecond}, std::tuple{2, 2, kSecond}}) {
    write_file(path("one.prototxt"), "net: 'one_net.prototxt' snapshot_prefix: 'one' " + settings);
    write_file(path("one_net.prototxt"), net(batch));
    std::vector<std::string> args = {"train", "-solver", "one.prototxt"};
    if (!weights.empty()) args.insert(args.end(), {"-weights", weights});
    ASSERT_EQ(run(args).code, 0);
    const std::string iter = phase == 0 ? "4" : "3";
    weights = str("toy_phase_", phase, "_iter_", iter, ".caffemodel");
    EXPECT_EQ(file(weights), file("one_iter_" + iter + ".caffemodel")) << weights;
  }
}

TEST_F(PhasesProgram, ResumeInTheirMiddle) {
  ASSERT_EQ(run(kTrain).code, 0);
  const std::string want = file("toy_phase_2_iter_3.caffemodel"), second = file("toy_phase_1_iter_3.caffemodel");
  const auto remove = [&](const std::vector<std::string>& stems) {
    for (const std::string& stem : stems) {
      for (const char* ending : {".caffemodel", ".solverstate"}) fs::remove(path(stem + ending));
    }
  };
  remove({"toy_phase_2_iter_2", "toy_phase_2_iter_3", "toy_phase_1_iter_3"});
  std::vector<std::string> args = kTrain;
  args.insert(args.end(), {"-snapshot", "auto"});
  const Finished automatic = run(args);
  ASSERT_EQ(automatic.code, 0) << automatic.log;
  EXPECT_TRUE(contains(automatic.log, "resuming from toy_phase_1_iter_2.solverstate"));
  EXPECT_FALSE(matches(automatic.log, "Phase 0 of 3"));
  EXPECT_EQ(file("toy_phase_1_iter_3.caffemodel"), second);
  EXPECT_EQ(file("toy_phase_2_iter_3.caffemodel"), want);

  // At the end of a phase: the next one follows.
  remove({"toy_phase_2_iter_2", "toy_phase_2_iter_3"});
  args.back() = "toy_phase_1_iter_3.solverstate";
  ASSERT_EQ(run(args).code, 0);
  EXPECT_EQ(file("toy_phase_2_iter_3.caffemodel"), want);

  fs::copy(path("toy_phase_1_iter_3.solverstate"), path("other_iter_3.solverstate"));
  args.back() = "other_iter_3.solverstate";
  const Finished other = run(args);
  EXPECT_EQ(other.code, 1) << other.log;
  EXPECT_TRUE(contains(other.log, "is of no phase of this solver"));
}

TEST_F(PhasesProgram, WeightsAreThoseOfTheFirst) {
  ASSERT_EQ(run(kTrain).code, 0);
  fs::copy(path("toy_phase_2_iter_3.caffemodel"), path("start.caffemodel"));
  std::vector<std::string> args = kTrain;
  args.insert(args.end(), {"-weights", "start.caffemodel"});
  const Finished done = run(args);
  ASSERT_EQ(done.code, 0);
  const size_t first = done.log.find("Finetuning from start.caffemodel");
  ASSERT_NE(first, std::string::npos) << done.log;
  EXPECT_EQ(done.log.find("Finetuning from", first + 1), std::string::npos);
}

/// A pair without a solver has that of the pair before, its weights among the rest: they belong to the first phase.
TEST_F(PhasesProgram, WeightsOfASolverAreThoseOfTheFirst) {
  ASSERT_EQ(run(kTrain).code, 0);
  fs::copy(path("toy_phase_2_iter_3.caffemodel"), path("start.caffemodel"));
  write_file(folder_ / "tuned.prototxt", "params_pair { solver_params { net: 'net.prototxt' " + kFirst +
                                             "snapshot_prefix: 'tuned' weights: 'start.caffemodel' test_iter: 1 "
                                             "test_interval: 100 } }\nparams_pair { batch_size: 2 }\n");
  const Finished done = run({"train", "-solver", "tuned.prototxt"});
  ASSERT_EQ(done.code, 0) << done.log;
  int loaded = 0;
  for (size_t at = 0; (at = done.log.find("Finetuning from start.caffemodel", at)) != std::string::npos; ++at) ++loaded;
  EXPECT_EQ(loaded, 2) << "the train net and the test net of the first phase\n" << done.log;
}

TEST_F(PhasesProgram, OverRanks) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = run_ranks(folder_.path(), 2, "train -solver multi.prototxt");
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.log, "Global batch 16 = 2 ranks x batch 8"));
  const std::string want = file("toy_phase_2_iter_3.caffemodel");
  for (const char* stem : {"toy_phase_2_iter_2", "toy_phase_2_iter_3"}) {
    for (const char* ending : {".caffemodel", ".solverstate"}) fs::remove(path(std::string(stem) + ending));
  }
  const Finished resumed = run_ranks(folder_.path(), 2, "train -solver multi.prototxt -snapshot auto");
  ASSERT_EQ(resumed.code, 0) << resumed.log;
  EXPECT_EQ(file("toy_phase_2_iter_3.caffemodel"), want);
}

TEST_F(PhasesProgram, AreChecked) {
  const Finished done = run({"check", "-solver", "multi.prototxt"});
  EXPECT_EQ(done.code, 0) << done.out;
  for (const std::string phase :
       {"phase 0 +batch 4, max_iter 4", "phase 1 +batch 8, max_iter 3", "phase 2 +batch 2, max_iter 3"}) {
    EXPECT_TRUE(matches(done.out, phase)) << phase << "\n" << done.out;
  }
  EXPECT_FALSE(fs::exists(path("toy_phase_0_iter_4.caffemodel")));
}

TEST_F(PhasesProgram, AnErrorOfALaterPhaseIsFoundBeforeTraining) {
  write_file(path("multi.prototxt"), file("multi.prototxt") + "params_pair {\n  solver_params { type: 'Adm' } }\n");
  const Finished train = run(kTrain);
  EXPECT_EQ(train.code, 2) << train.log;
  EXPECT_TRUE(contains(train.log, "multi.prototxt:5: "));
  EXPECT_FALSE(matches(train.log, "Phase 0 of 4"));
}

TEST_F(PhasesProgram, AreNotTimed) {
  const Finished time = run({"time", "-solver", "multi.prototxt"});
  EXPECT_EQ(time.code, 2) << time.log;
  EXPECT_TRUE(contains(time.log, "several phases of training (params_pair)"));
}

}  // namespace
}  // namespace robusta::test
