// caffe evaluate beside and after a training: the scores that the training itself would have logged.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <regex>
#include <thread>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    const std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    write_solver("solver", "test_interval: 4");
  }
  void write_solver(const std::string& name, const std::string& settings) {
    write_file(folder_ / (name + ".prototxt"),
               "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' random_seed: 1 max_iter: 12 snapshot: 4 "
               "test_iter: 3 ema_decay: 0.5 snapshot_prefix: 'toy' " +
                   settings);
  }
  Finished run(const std::vector<std::string>& args) { return run_caffe_program(folder_.path(), args); }

  /// The lines about tests, from iteration 4 on.
  static std::vector<std::string> scores(const std::string& log) {
    std::vector<std::string> lines;
    std::istringstream in(log);
    int iteration = -1;
    for (std::string line; std::getline(in, line);) {
      line = std::regex_replace(line, std::regex("^.*\\] "), "");
      std::smatch at;
      if (std::regex_search(line, at, std::regex("^Iteration (\\d+), (Testing|averaged)")))
        iteration = std::stoi(at[1]);
      const bool told =
          line.find("est net output") != std::string::npos || line.find(", averaged") != std::string::npos;
      if (iteration >= 4 && told) lines.push_back(std::to_string(iteration) + ": " + line);
    }
    return lines;
  }

  TempDir folder_;
};

TEST_F(Evaluate, ScoresEachSnapshotAsTheTrainingWould) {
  const Finished trained = run({"train", "-solver=solver.prototxt"});
  ASSERT_EQ(trained.code, 0) << trained.log;
  const std::vector<std::string> wanted = scores(trained.log);
  ASSERT_GE(wanted.size(), 6u) << trained.log;
  for (const char* file : {"toy_iter_8.solverstate", "toy_iter_12.solverstate"})
    std::filesystem::rename(folder_ / file, (folder_ / file) + ".later");

  // It waits for those that are not there yet.
  std::thread writer([&] {
    for (const char* file : {"toy_iter_8.solverstate", "toy_iter_12.solverstate"}) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      std::filesystem::rename((folder_ / file) + ".later", folder_ / file);
    }
  });
  const Finished evaluated = run({"evaluate", "-solver=solver.prototxt", "-log_json=scores.json"});
  writer.join();
  ASSERT_EQ(evaluated.code, 0) << evaluated.log;
  EXPECT_EQ(scores(evaluated.log), wanted) << evaluated.log << trained.log;
  EXPECT_TRUE(contains(read_file(folder_ / "scores.json"), "\"iter\": 8")) << read_file(folder_ / "scores.json");
}

/// What was there before it came is not gone through again; a snapshot that is broken is passed over.
TEST_F(Evaluate, BeginsWithTheNewest) {
  ASSERT_EQ(run({"train", "-solver=solver.prototxt"}).code, 0);
  const Finished all = run({"evaluate", "-solver=solver.prototxt"});
  ASSERT_EQ(all.code, 0) << all.log;
  EXPECT_FALSE(contains(all.log, "Iteration 8, Testing"));
  EXPECT_TRUE(contains(all.log, "Iteration 12, Testing"));
  write_file(folder_ / "toy_iter_12.caffemodel", "broken");
  const Finished broken = run({"evaluate", "-solver=solver.prototxt"});
  EXPECT_EQ(broken.code, 0) << broken.log;
  EXPECT_TRUE(contains(broken.log, "Snapshot passed over")) << broken.log;
}

TEST_F(Evaluate, RefusesWhatHasNoTests) {
  write_file(folder_ / "untested.prototxt",
             "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' max_iter: 4 snapshot_prefix: 'toy'");
  const Finished done = run({"evaluate", "-solver=untested.prototxt"});
  EXPECT_EQ(done.code, 2) << done.log;
  EXPECT_TRUE(contains(done.log, "untested.prototxt")) << done.log;
  EXPECT_TRUE(contains(done.log, "tests no net")) << done.log;
  EXPECT_EQ(run({"evaluate"}).code, 1);
}

TEST_F(Evaluate, EndsWithASignal) {
  const std::string command = "cd " + folder_.path().string() + " && timeout --preserve-status -s TERM 2 " +
                              tools_dir() +
                              "/caffe evaluate -solver solver.prototxt -restart_code 138 > out.txt 2> log.txt";
  const int status = std::system(command.c_str());
  const std::string log = read_file(folder_ / "log.txt");
  EXPECT_TRUE(contains(log, "Evaluation stopped early.")) << log;
  EXPECT_EQ(WEXITSTATUS(status), 138);
}

/// As TensorFlow's launchers start it: by the command of the others.
TEST_F(Evaluate, IsWhatTrainDoesAsAnEvaluator) {
  ASSERT_EQ(run({"train", "-solver=solver.prototxt"}).code, 0);
  const std::string command =
      "cd " + folder_.path().string() +
      " && TF_CONFIG='{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"evaluator\"}}' " +
      tools_dir() + "/caffe train -solver solver.prototxt > out.txt 2> log.txt";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_TRUE(contains(read_file(folder_ / "log.txt"), "Iteration 12, Testing net (#0)"));
}

}  // namespace
}  // namespace robusta::test
