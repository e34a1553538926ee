// What `train` refuses, `check` refuses with the same code; and processes that would train alone are ended.
#include <gtest/gtest.h>

#include <cstdlib>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::refusals_test {
namespace {

/// A folder with a solver that trains for one iteration.
class Refusals : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  void SetUp() override {
    write_file(folder_ / "solver.prototxt",
               "base_lr: 0.01 lr_policy: 'fixed' max_iter: 1 random_seed: 1 snapshot_prefix: 'toy'\n" + kToyNet);
  }
  Finished run(std::string action, std::vector<std::string> args) {
    args.insert(args.begin(), {std::move(action), "-solver=solver.prototxt", "-autotune=false"});
    return run_caffe_program(folder_.path(), args);
  }

  TempDir folder_;
};

TEST_P(Refusals, AreThoseOfTraining) {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // no GPU, also where there is one
  const Finished trained = run("train", GetParam()), checked = run("check", GetParam());
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_NE(trained.code, 0) << trained.log;
  EXPECT_EQ(checked.code, trained.code) << checked.out << checked.log;
  EXPECT_FALSE(contains(checked.out, "Training can start")) << checked.out;
}

INSTANTIATE_TEST_SUITE_P(
    OfFlags, Refusals,
    testing::Values(std::vector<std::string>{"-gpu", "7"}, std::vector<std::string>{"-gpu", "0,1"},
                    std::vector<std::string>{"-gpu", "x"}, std::vector<std::string>{"-gpu", ","},
                    std::vector<std::string>{"-gpu=all"}, std::vector<std::string>{"-lms_frac=2"},
                    std::vector<std::string>{"-gpu_memory=x"}, std::vector<std::string>{"-max_walltime=1:2"},
                    std::vector<std::string>{"-restart_code=8"}, std::vector<std::string>{"-restart_code=70"},
                    std::vector<std::string>{"-restart_code=-1"}, std::vector<std::string>{"-restart_code=256"},
                    std::vector<std::string>{"-sigint_effect=stopp"}, std::vector<std::string>{"-sighup_effect=stopp"},
                    std::vector<std::string>{"-timeline=no/t.json"}, std::vector<std::string>{"-timeline=t.json:9-5"},
                    std::vector<std::string>{"-log_json=no/x"}, std::vector<std::string>{"-lr_scaling=lin"},
                    std::vector<std::string>{"-batch=0"}, std::vector<std::string>{"-kernels=referense"},
                    std::vector<std::string>{"-precision=f8"}, std::vector<std::string>{"-snapshot=a", "-weights=b"},
                    std::vector<std::string>{"-snapshot=none.solverstate"},
                    std::vector<std::string>{"-weights=none.caffemodel"}, std::vector<std::string>{"-n_server=2"},
                    std::vector<std::string>{"-ddl", "-mode b:4x2"}));

TEST_F(Refusals, ACheckLeavesNothingBehind) {
  const Finished done = run("check", {"-log_json=log.json", "-timeline=t.json"});
  EXPECT_EQ(done.code, 0) << done.out << done.log;
  EXPECT_TRUE(contains(done.out, "ok       device")) << done.out;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "log.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "t.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "toy_iter_1.caffemodel"));
}

TEST_F(Refusals, AProcessOfAnotherFrameworksLauncherDoesNotTrainAlone) {
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "2", 1);
  const Finished two = run("train", {});
  setenv("WORLD_SIZE", "1", 1);
  setenv("RANK", "0", 1);
  const Finished one = run("train", {});
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_EQ(two.code, 8) << two.log;
  EXPECT_TRUE(contains(two.log, "WORLD_SIZE=2")) << two.log;
  EXPECT_TRUE(contains(two.log, "mpirun -n 2 caffe train")) << two.log;
  EXPECT_EQ(one.code, 0) << one.log;
}

TEST_F(Refusals, FieldsThatChangeNothingAreWarnedOfOnce) {
  write_file(folder_ / "solver.prototxt", read_file(folder_ / "solver.prototxt") + "solver_data_type: FLOAT16\n");
  const Finished done = run("train", {});
  EXPECT_EQ(done.code, 0) << done.log;
  const std::string text = "solver_data_type (NVIDIA) changes nothing here";
  const size_t first = done.log.find(text);
  ASSERT_NE(first, std::string::npos) << done.log;
  EXPECT_EQ(done.log.find(text, first + 1), std::string::npos) << done.log;
  EXPECT_TRUE(matches(done.log, "W\\d{4} .*solver\\.prototxt:\\d+: solver_data_type")) << done.log;
}

TEST_F(Refusals, LayersAndSettingsOfOtherCaffesAreAbsent) {
  const std::string solver = read_file(folder_ / "solver.prototxt");
  write_file(folder_ / "solver.prototxt", "larc: true larc_turbo: true " + solver);
  const Finished setting = run("train", {});
  EXPECT_EQ(setting.code, 9) << setting.log;
  EXPECT_TRUE(contains(setting.log, "solver.prototxt:1: larc_turbo (NVIDIA) is not in this build")) << setting.log;
  write_file(folder_ / "solver.prototxt", std::regex_replace(solver, std::regex("'Dropout'|\"Dropout\""), "'TRT'"));
  const Finished layer = run("train", {});
  EXPECT_EQ(layer.code, 9) << layer.log;
  EXPECT_TRUE(contains(layer.log, "layer type \"TRT\" (NVIDIA) is not in this build")) << layer.log;
}

TEST_F(Refusals, DialectsAreKnownByName) {
  const Finished unknown = run("train", {"-dialect=pspnt"});
  EXPECT_EQ(unknown.code, 1) << unknown.log;
  EXPECT_TRUE(contains(unknown.log, "-dialect \"pspnt\" is unknown (did you mean \"pspnet\"?)")) << unknown.log;
  EXPECT_TRUE(contains(unknown.log, "known: bvlc, intel, nvidia, ssd, segnet, pspnet, caffe-windows")) << unknown.log;
  const Finished known = run("train", {"-dialect=nvidia"});
  EXPECT_EQ(known.code, 0) << known.log;
}

TEST_F(Refusals, GpusOfLearnersAreLoggedTogether) {
  setenv("ROBUSTA_SIM_GPUS", "2:64M", 1);
  const Finished done = run("train", {"-gpu=all"});
  unsetenv("ROBUSTA_SIM_GPUS");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.log, "Using GPUs 0, 1\n")) << done.log;
  EXPECT_TRUE(contains(done.log, "GPU 1: sim")) << done.log;
  EXPECT_FALSE(contains(done.log, "per MPI rank")) << done.log;
}

TEST_F(Refusals, UnderMpiTheGpuOfEachRankIsLogged) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished done = run_ranks(folder_.path(), 2, "train -solver solver.prototxt -gpu 0",
                                  "env ROBUSTA_SIM_GPUS=2:64M " + tools_dir() + "/caffe");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.log, "[MPI:0   ] spreading GPUs per MPI rank")) << done.log;
  EXPECT_TRUE(contains(done.log, "[MPI:0   ]    use gpu[0]")) << done.log;
  EXPECT_TRUE(contains(done.log, "[MPI:1   ]    use gpu[1]")) << done.log;
}

}  // namespace
}  // namespace robusta::test::refusals_test
