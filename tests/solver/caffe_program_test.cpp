// The program `caffe` from outside: exit codes, lines of the log, signals.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/files.h"
#include "support/sanitizers.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const std::string kTrain = "train", kSolver = "-solver=solver.prototxt", kModel = "-model=net.prototxt";

/// A folder with a solver.prototxt and a net for it.
class CaffeProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::string net = kToyNet.substr(kToyNet.find('{') + 1);
    write_file(folder_ / "net.prototxt", net.substr(0, net.rfind('}')));
    solver("max_iter: 6 display: 2 snapshot: 3 test_iter: 2 test_interval: 3 momentum: 0.9");
  }
  void solver(const std::string& settings) {
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt'\nbase_lr: 0.01\nlr_policy: 'fixed'\nrandom_seed: 1\nsnapshot_prefix: 'toy'\n" +
                   settings + "\n");
  }
  Finished run(const std::vector<std::string>& args) { return run_caffe_program(folder_.path(), args); }
  std::string path(const std::string& name) const { return folder_ / name; }

  TempDir folder_;
};

TEST_F(CaffeProgram, TrainsAndSaysWhatCaffeSays) {
  const Finished done = run({"train", "--solver=solver.prototxt"});
  ASSERT_EQ(done.code, 0) << done.log;
  const std::string number = R"([-+.e\d]+)", head = R"(I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \S+:\d+\] )";
  for (const std::string& line : {
           head + "Use CPU\\.",
           head + "Initializing solver from parameters: ",
           head + "Creating training net from net file: net\\.prototxt",
           head + "Creating test net \\(#0\\) specified by net file: net\\.prototxt",
           head + "Solver scaffolding done\\.",
           head + "Starting Optimization",
           head + "Solving toy",
           head + "Learning Rate Policy: fixed",
           head + "Iteration 0, Testing net \\(#0\\)",
           head + "    Test net output #0: loss = " + number + " \\(\\* 1 = " + number + " loss\\)",
           head + "Iteration 2 \\(" + number + " iter/s, " + number + "s/2 iters\\), loss = " + number,
           head + "    Train net output #0: loss = " + number + " \\(\\* 1 = " + number + " loss\\)",
           head + "Iteration 2, lr = 0\\.01",
           head + "    Speed: " + number + " img/s, ETA \\d\\d:\\d\\d:\\d\\d, data wait " + number + " %",
           head + "Snapshotting to binary proto file toy_iter_3\\.caffemodel",
           head + "Snapshotting solver state to binary proto file toy_iter_3\\.solverstate",
           head + "Iteration 6, loss = " + number,
           head + "Iteration 6, Testing net",
       }) {
    EXPECT_TRUE(matches(done.log, line)) << line << "\nin\n" << done.log;
  }
  EXPECT_EQ(count_of(done.log, "Optimization Done."), 2u);
  for (const char* file :
       {"toy_iter_3.caffemodel", "toy_iter_3.solverstate", "toy_iter_6.caffemodel", "toy_iter_6.solverstate"}) {
    EXPECT_TRUE(fs::exists(path(file))) << file;
  }
}

TEST_F(CaffeProgram, WritesNoLogFiles) {
  run({"train", "-solver", "solver.prototxt"});  // with TMPDIR in its folder, where glog would put them
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("caffe.")) << entry.path();
  }
}

TEST_F(CaffeProgram, AResumedLogShowsTheSameLosses) {
  auto losses = [](const std::string& log) {
    std::vector<std::string> found;
    const std::regex line(R"(Iteration (\d+) \(.*(loss = \S+))");
    for (std::sregex_iterator it(log.begin(), log.end(), line), end; it != end; ++it) {
      if (std::stoi((*it)[1]) >= 3) found.push_back((*it)[1].str() + ' ' + (*it)[2].str());
    }
    return found;
  };
  solver("max_iter: 7 display: 1 snapshot: 3 average_loss: 3");
  const Finished whole = run({"train", "-solver", "solver.prototxt"});
  const Finished resumed = run({"train", "-solver", "solver.prototxt", "-snapshot", "toy_iter_3.solverstate"});
  ASSERT_EQ(resumed.code, 0) << resumed.log;
  EXPECT_EQ(losses(resumed.log).size(), 4u);
  EXPECT_EQ(losses(resumed.log), losses(whole.log));
  EXPECT_TRUE(has(resumed.log, "Resuming from toy_iter_3.solverstate"));
  EXPECT_TRUE(has(resumed.log, "SGDSolver: restoring history"));
}

TEST_F(CaffeProgram, TakesWeightsAndStatesOnlyWhereTheyBelong) {
  run({"train", kSolver});
  const Finished model = run({"train", kSolver, "-snapshot=toy_iter_6.caffemodel"});
  EXPECT_EQ(model.code, 4);
  EXPECT_TRUE(has(model.log, "give them with -weights")) << model.log;
  const Finished state = run({"train", kSolver, "-weights=toy_iter_6.solverstate"});
  EXPECT_EQ(state.code, 4);
  EXPECT_TRUE(has(state.log, "give it with -snapshot")) << state.log;
}

TEST_F(CaffeProgram, SnapshotAutoBeginsAndGoesOn) {
  const Finished fresh = run({"train", "-solver", "solver.prototxt", "-snapshot", "auto"});
  EXPECT_EQ(fresh.code, 0);
  EXPECT_TRUE(has(fresh.log, "a fresh start")) << fresh.log;
  solver("max_iter: 9");
  fs::resize_file(path("toy_iter_6.caffemodel"), 50);
  const Finished again = run({"train", "-solver", "solver.prototxt", "-snapshot=auto"});
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(has(again.log, "Snapshot passed over: ")) << again.log;
  EXPECT_TRUE(has(again.log, "resuming from toy_iter_3.solverstate")) << again.log;
}

TEST_F(CaffeProgram, RemovesWhatACrashLeftOfASnapshot) {
  const std::vector<std::string> left = {"toy_iter_9.caffemodel.tmp.7", "toy_iter_9.solverstate.tmp.7"};
  const std::vector<std::string> others = {"toy2_iter_9.caffemodel.tmp.7", "toy_iter_.caffemodel.tmp.7",
                                           "toy_iter_9.prototxt.tmp.7", "toy_iter_9.caffemodel.tmp"};
  const auto leave = [&](const std::string& name) {
    write_file(path(name), "half");
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::minutes(5));
  };
  for (const auto& name : left) leave(name);
  for (const auto& name : others) leave(name);
  const Finished done = run({"train", "-solver", "solver.prototxt"});
  ASSERT_EQ(done.code, 0) << done.log;
  for (const auto& name : left) {
    EXPECT_FALSE(fs::exists(path(name))) << name;
    EXPECT_EQ(count_of(done.log, "Removed " + name), 1u) << done.log;
  }
  for (const auto& name : others) EXPECT_TRUE(fs::exists(path(name))) << name;
}

TEST_F(CaffeProgram, TestsASnapshot) {
  run({"train", "-solver", "solver.prototxt"});
  const Finished done =
      run({"test", "-model", "net.prototxt", "-weights", "toy_iter_6.caffemodel", "-iterations", "3"});
  ASSERT_EQ(done.code, 0) << done.log;
  for (const char* line :
       {"\\] Running for 3 iterations\\.", "\\] Batch 0, loss = \\S+\n", "\\] Batch 2, loss = \\S+\n",
        "\\] Loss: \\S+\n", "\\] loss = \\S+ \\(\\* 1 = \\S+ loss\\)\n"}) {
    EXPECT_TRUE(matches(done.log, line)) << line << "\nin\n" << done.log;
  }
}

TEST_F(CaffeProgram, TimesANet) {
  const Finished done = run({"time", "-model=net.prototxt", "-iterations=2"});
  ASSERT_EQ(done.code, 0) << done.log;
  for (const char* line : {"\\] Performing Forward\n", "\\] Initial loss: \\S+\n", "\\] Performing Backward\n",
                           "\\] \\*\\*\\* Benchmark begins \\*\\*\\*\n", "\\] Testing for 2 iterations\\.\n",
                           "\\] Iteration: 1 forward-backward time: \\S+ ms\\.\n", "\\] Average time per layer: \n",
                           "\\]        ip1\tforward: \\S+ ms\\.\n", "\\]        ip1\tbackward: \\S+ ms\\.\n",
                           "\\] Average Forward pass: \\S+ ms\\.\n", "\\] Average Backward pass: \\S+ ms\\.\n",
                           "\\] Average Forward-Backward: \\S+ ms\\.\n", "\\] Average Update: \\S+ ms\\.\n",
                           "\\] Total Time: \\S+ ms\\.\n", "\\] \\*\\*\\* Benchmark ends \\*\\*\\*\n"}) {
    EXPECT_TRUE(matches(done.log, line)) << line << "\nin\n" << done.log;
  }
}

TEST_F(CaffeProgram, TimesForwardAlone) {
  const Finished done = run({"time", "-model", "net.prototxt", "-iterations", "1", "-forward_only"});
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_FALSE(has(done.log, "backward: "));
  EXPECT_FALSE(has(done.log, "Average Update"));
}

TEST_F(CaffeProgram, DebugInfoShowsEveryLayerOfDisplayedIterations) {
  solver("max_iter: 4 display: 2 debug_info: true test_iter: 1 test_interval: 4 snapshot_after_train: false");
  const Finished done = run({"train", "-solver", "solver.prototxt"});
  ASSERT_EQ(done.code, 0) << done.log;
  // Two tests, two displayed iterations, none at the end: the last forward pass is no displayed iteration.
  EXPECT_EQ(count_of(done.log, "    [Forward] Layer ip1, top blob ip1 data: "), 4u) << done.log;
  EXPECT_EQ(count_of(done.log, "    [Forward] Layer ip1, param blob 0 data: "), 4u);
  EXPECT_EQ(count_of(done.log, "    [Backward] Layer ip2, bottom blob ip1 diff: "), 2u);
  EXPECT_EQ(count_of(done.log, "    [Backward] Layer ip1, param blob 1 diff: "), 2u);
  EXPECT_EQ(count_of(done.log, "    [Backward] Layer ip1, bottom blob"), 0u);
  EXPECT_TRUE(matches(done.log,
                      "\\nE\\d{4} .*\\]     \\[Backward\\] All net params \\(data, diff\\): "
                      "L1 norm = \\(\\S+, \\S+\\); L2 norm = \\(\\S+, \\S+\\)\n"));
}

TEST_F(CaffeProgram, DebugInfoDoesNotChangeTheTraining) {
  run({"train", "-solver", "solver.prototxt", "-deterministic"});
  const std::string plain = read_file(path("toy_iter_6.caffemodel"));
  solver("max_iter: 6 display: 1 momentum: 0.9 debug_info: true");
  run({"train", "-solver", "solver.prototxt", "-deterministic"});
  EXPECT_EQ(read_file(path("toy_iter_6.caffemodel")), plain);
}

TEST_F(CaffeProgram, WritesOneJsonObjectPerEvent) {
  run({"train", "-solver", "solver.prototxt", "-log_json", "events.json"});
  std::istringstream lines(read_file(path("events.json")));
  std::map<std::string, int> events;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("{\"event\": \"") && line.ends_with("}")) << line;
    ++events[line.substr(11, line.find('"', 11) - 11)];
  }
  EXPECT_EQ(events, (std::map<std::string, int>{
                        {"start", 1}, {"train", 3}, {"test", 3}, {"snapshot", 2}, {"final", 1}, {"end", 1}}));
}

/// A program that is started with stderr closed gives its number to the next file that it opens.
TEST_F(CaffeProgram, AClosedStderrIsNotTheJsonFile) {
  const std::string command = "cd " + folder_.path().string() + " && " + tools_dir() +
                              "/caffe train -solver solver.prototxt -log_json events.json > /dev/null 2>&-";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::istringstream events(read_file(path("events.json")));
  int lines = 0;
  for (std::string line; std::getline(events, line); ++lines) EXPECT_TRUE(line.starts_with("{\"event\"")) << line;
  EXPECT_GT(lines, 5);
}

TEST_F(CaffeProgram, AFullDiskUnderTheJsonFileIsTold) {
  const Finished done = run({"train", kSolver, "-log_json=/dev/full"});
  EXPECT_EQ(done.code, 7) << done.log;
  EXPECT_EQ(count_of(done.log, "/dev/full: "), 1u) << done.log;
  EXPECT_TRUE(has(done.log, "No space left on device")) << done.log;
  EXPECT_TRUE(has(done.log, "caffe: error: the work is done, but events could not be written to /dev/full"))
      << done.log;
  EXPECT_TRUE(fs::exists(path("toy_iter_6.solverstate")));
}

/// `caffe train ... 2>&1 | head -1`: who reads the log goes, the training stays.
TEST_F(CaffeProgram, ALogThatNobodyReadsEndsNothing) {
  const std::string command = "cd " + folder_.path().string() + " && bash -c '" + tools_dir() +
                              "/caffe train -solver solver.prototxt 2>&1 | true; exit ${PIPESTATUS[0]}'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(fs::exists(path("toy_iter_6.solverstate")));
}

/// Libraries loop for ever or crash where they get no memory: with every limit the program says so, or serves.
TEST_F(CaffeProgram, LittleAddressSpaceIsAnError) {
#if ROBUSTA_ADDRESS_SANITIZER || ROBUSTA_THREAD_SANITIZER
  GTEST_SKIP() << "sanitizers take terabytes of addresses";
#endif
  for (const char* kilobytes : {"250000", "300000", "400000", "500000", "600000", "4000000"}) {
    const std::string command = "cd " + folder_.path().string() + " && ulimit -v " + kilobytes + " && timeout 60 " +
                                tools_dir() + "/caffe train -solver solver.prototxt > out.txt 2> log.txt";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    constexpr int kNotLoaded = 127;  // the libraries alone are larger, CUDA's above all: the loader ends it
    if (code == kNotLoaded) continue;
    EXPECT_TRUE(code == 0 || code == 5) << kilobytes << " KB: code " << code << '\n' << read_file(path("log.txt"));
    EXPECT_EQ(code == 5, has(read_file(path("log.txt")), "caffe: error: ")) << kilobytes;
  }
}

TEST_F(CaffeProgram, ANumberThatIsNoneIsRefused) {
  solver("max_iter: 6 clip_gradients: nan");
  const Finished done = run({"train", kSolver});
  EXPECT_EQ(done.code, 2) << done.log;
  EXPECT_TRUE(matches(done.log, "caffe: error: solver\\.prototxt:\\d+: clip_gradients is nan; give a finite number"))
      << done.log;
}

TEST_F(CaffeProgram, ShowsAProgressLineOnATerminal) {
  solver("max_iter: 3000 display: 500");
  CaffeProcess process(folder_.path(), {"train", "-solver", "solver.prototxt"}, true);
  EXPECT_EQ(process.wait(), 0);
  const std::string log = process.log();
  EXPECT_TRUE(matches(log, "\r\x1b\\[Kiteration \\d+/3000 \\(")) << log;
  EXPECT_TRUE(matches(log, ", ETA \\d{2}:\\d{2}:\\d{2}")) << log;  // how long it says depends on the machine
  // A log line begins at the left margin, after the progress line was taken away.
  EXPECT_TRUE(matches(log, "\r\x1b\\[KI\\d{4} [^\r\n]* Iteration 500, lr = ")) << log;
  EXPECT_FALSE(has(log, "    Speed: "));
}

class Signals : public CaffeProgram {
 protected:
  void SetUp() override {
    CaffeProgram::SetUp();
    solver("max_iter: 100000000 display: 100");
  }
  /// Starts training and waits until it runs.
  std::unique_ptr<CaffeProcess> start(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"train", "-solver", "solver.prototxt"};
    args.insert(args.end(), more.begin(), more.end());
    auto process = std::make_unique<CaffeProcess>(folder_.path(), args);
    EXPECT_TRUE(process->wait_for("Iteration 100,"));
    return process;
  }
  int states() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      count += entry.path().extension() == ".solverstate";
    return count;
  }
};

TEST_F(Signals, IntTermAndUsr1SnapshotAndStop) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    auto process = start();
    process->signal(number);
    EXPECT_EQ(process->wait(), 0) << process->log();
    EXPECT_TRUE(has(process->log(), "Optimization stopped early."));
    EXPECT_EQ(states(), 1);
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().filename().string().starts_with("toy_iter_")) fs::remove(entry.path());
    }
  }
}

TEST_F(Signals, AStoppedTrainingAsksToBeStartedAgain) {
  auto process = start({"-restart_code", "138"});
  process->signal(SIGTERM);
  EXPECT_EQ(process->wait(), 138) << process->log();
  EXPECT_EQ(states(), 1);
  EXPECT_EQ(run({"train", kSolver, "-restart_code=138", "-snapshot=auto", "-max_walltime=2"}).code, 138);
  solver("max_iter: 1");  // the snapshots are beyond it: nothing is left to do
  EXPECT_EQ(run({"train", kSolver, "-restart_code=138", "-snapshot=auto"}).code, 0);
  EXPECT_EQ(run({"train", "-solver=none.prototxt", "-restart_code=138"}).code, 2) << "an error keeps its own";
}

/// Before training nothing would be lost, and the set-up may take minutes or hang.
TEST_F(Signals, TheSetUpEndsAtOnce) {
  const std::string large =
      "layer { name: 'large' type: 'InnerProduct' bottom: 'data' top: 'large' inner_product_param { num_output: "
      "10000000 weight_filler { type: 'gaussian' std: 1 } } }\nlayer { name: 'end' type: 'Silence' bottom: 'large' }\n";
  write_file(path("net.prototxt"), read_file(path("net.prototxt")) + large);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    CaffeProcess process(folder_.path(), {"train", kSolver, "-sighup_effect=stop"});
    ASSERT_TRUE(process.wait_for("Creating training net"));
    process.signal(number);
    EXPECT_EQ(process.wait(), 128 + number) << process.log();
    EXPECT_FALSE(has(process.log(), "Starting Optimization")) << "the set-up was over too early for this test";
  }
}

TEST_F(Signals, HupSnapshotsAndGoesOn) {
  auto process = start();
  process->signal(SIGHUP);
  EXPECT_TRUE(process->wait_for("Snapshotting solver state"));
  process->signal(SIGINT);
  EXPECT_EQ(process->wait(), 0);
  EXPECT_EQ(states(), 2);
}

TEST_F(Signals, TwoTrainingsDoNotShareAPrefix) {
  auto first = start();
  const Finished second = run({"train", kSolver});
  EXPECT_EQ(second.code, 7);
  EXPECT_TRUE(matches(second.log,
                      "caffe: error: another training \\(process \\d+ on .*\\) writes snapshots with the "
                      "prefix toy; give this one a snapshot_prefix of its own"))
      << second.log;
  EXPECT_EQ(run({"check", kSolver}).code, 7);
  EXPECT_EQ(run({"time", kSolver, "-iterations=1"}).code, 0);
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait(), 128 + SIGKILL);
  EXPECT_TRUE(fs::exists(path("toy.lock")));
  auto third = start();
  third->signal(SIGINT);
  EXPECT_EQ(third->wait(), 0);
  EXPECT_FALSE(fs::exists(path("toy.lock")));
}

TEST_F(Signals, EffectsCanBeChosen) {
  auto process = start({"-sigint_effect", "none", "-sighup_effect=stop"});
  process->signal(SIGINT);
  process->signal(SIGINT);
  process->signal(SIGHUP);
  EXPECT_EQ(process->wait(), 0) << process->log();
  EXPECT_EQ(states(), 1);
}

TEST_F(Signals, ASecondIntLeavesAtOnce) {
  solver("max_iter: 100 iter_size: 1000000000");  // one iteration without end
  CaffeProcess process(folder_.path(), {"train", kSolver});
  ASSERT_TRUE(process.wait_for("Learning Rate Policy"));
  for (int i = 0; i < 600 && !process.ended(); ++i) {  // two that come too close count as one
    process.signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(process.wait(), 130) << process.log();
  EXPECT_EQ(states(), 0);
}

TEST_F(Signals, StopsBeforeTheWallTimeEnds) {
  const auto begin = std::chrono::steady_clock::now();
  const Finished done = run({"train", "-solver", "solver.prototxt", "-max_walltime", "00:00:02"});
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(states(), 1);
}

TEST_F(CaffeProgram, AFailedSnapshotShowsInTheExitCode) {
  solver("max_iter: 30 snapshot: 10");
  fs::create_directory(path("toy_iter_10.caffemodel"));  // a rename onto a folder fails
  const Finished done = run({"train", kSolver});
  EXPECT_EQ(done.code, 7);
  EXPECT_TRUE(has(done.log, "Snapshot at iteration 10 failed: ")) << done.log;
  EXPECT_TRUE(has(done.log, "caffe: error: training ended, but 1 of its snapshots could not be written")) << done.log;
  EXPECT_TRUE(fs::exists(path("toy_iter_20.solverstate")));
  EXPECT_FALSE(fs::exists(path("toy_iter_10.solverstate")));
}

TEST_F(CaffeProgram, ClippingIsLogged) {
  solver("max_iter: 1 clip_gradients: 0.001");
  const Finished done = run({"train", kSolver});
  EXPECT_TRUE(
      matches(done.log, "\\] Gradient clipping: scaling down gradients \\(L2 norm \\S+ > 0\\.001\\) by scale factor "))
      << done.log;
}

TEST_F(CaffeProgram, ANotFiniteLossHasItsOwnCode) {
  write_file(path("solver.prototxt"), "net: 'net.prototxt'\nbase_lr: 1e20\nlr_policy: 'fixed'\nmax_iter: 50\n");
  const Finished done = run({"train", "-solver", "solver.prototxt", "-log_json", "events.json"});
  EXPECT_EQ(done.code, 6) << done.log;
  EXPECT_EQ(count_of(done.log, "caffe: error: "), 1u);
  EXPECT_TRUE(
      matches(done.log, "caffe: error: net\\.prototxt:\\d+: layer \"\\w+\": the loss is \\w+ at iteration \\d+"))
      << done.log;
  EXPECT_TRUE(matches(read_file(path("events.json")), "\"event\": \"error\".*\"exit_code\": 6"));
  EXPECT_FALSE(fs::exists(path("solver_iter_50.caffemodel")));
}

struct BadLine {
  std::vector<std::string> args;
  int code;
  std::string message;
};

class BadCommandLine : public CaffeProgram, public testing::WithParamInterface<BadLine> {};

TEST_P(BadCommandLine, IsExplained) {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // no GPU, also where there is one
  const Finished done = run(GetParam().args);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(done.code, GetParam().code) << done.log;
  EXPECT_TRUE(has(done.log, "caffe: error: ")) << done.log;
  EXPECT_EQ(count_of(done.log, "error: "), 1u) << done.log;
  EXPECT_TRUE(has(done.log, GetParam().message)) << GetParam().message << "\nin\n" << done.log;
}

INSTANTIATE_TEST_SUITE_P(
    Usage, BadCommandLine,
    testing::Values(BadLine{{kTrain, "-solvr=x"}, 1, "unknown flag -solvr (did you mean -solver?)"},
                    BadLine{{"tarin", kSolver}, 1, "unknown action \"tarin\" (did you mean \"train\"?)"},
                    BadLine{{kTrain}, 1, "caffe train needs -solver"},
                    BadLine{{"test", kModel}, 1, "caffe test needs -weights"},
                    BadLine{{"time"}, 1, "caffe time needs -model or -solver"},
                    BadLine{{kTrain, kSolver, "-snapshot=a", "-weights=b"}, 1, "both -snapshot and -weights"},
                    BadLine{{kTrain, kSolver, "-iterations"}, 1, "-iterations needs a value"},
                    BadLine{{kTrain, kSolver, "-iterations=many"}, 1, "-iterations cannot be \"many\""},
                    BadLine{{kTrain, kSolver, "-sigint_effect=stopp"}, 1, "did you mean \"stop\"?"},
                    BadLine{{kTrain, kSolver, "-max_walltime=1:2"}, 1, "is no time"},
                    BadLine{{kTrain, kSolver, "-kernels=referense"}, 1, "did you mean \"reference\"?"},
                    BadLine{{kTrain, kSolver, "-batch=0"}, 1, "-batch \"0\" is no number of samples"},
                    BadLine{{kTrain, kSolver, "more"}, 1, "\"more\" is neither a flag nor a value"},
                    BadLine{{"time", kModel, "-phase=TRIAN"}, 1, "did you mean \"TRAIN\"?"}));

INSTANTIATE_TEST_SUITE_P(Later, BadCommandLine,
                         testing::Values(BadLine{{kTrain, kSolver, "-gpu", "0"}, 9, "no GPU"},
                                         BadLine{{kTrain, kSolver, "-ddl", "-mode b:4x2"}, 1, "invalid dim size=1"},
                                         BadLine{{kTrain, kSolver, "-ddl", "-mod b:1"}, 1, "did you mean"},
                                         BadLine{{kTrain, kSolver, "-lms_frac=2"}, 1, "-lms_frac"},
                                         BadLine{{kTrain, kSolver, "-gpu_memory=x"}, 1, "-gpu_memory"},
                                         BadLine{{kTrain, kSolver, "-n_server=2"}, 1, "started by itself"},
                                         BadLine{{"compare", kModel, "-collect_dir=nowhere"}, 3, "nowhere"}));

INSTANTIATE_TEST_SUITE_P(Files, BadCommandLine,
                         testing::Values(BadLine{{kTrain, "-solver=nope.prototxt"}, 2, "nope.prototxt"},
                                         BadLine{{"time", "-model=nope.prototxt"}, 2, "nope.prototxt"},
                                         BadLine{{"test", kModel, "-weights=nope.caffemodel"}, 4, "nope.caffemodel"},
                                         BadLine{
                                             {kTrain, kSolver, "-snapshot=nope.solverstate"}, 4, "nope.solverstate"},
                                         BadLine{{kTrain, kSolver, "-log_json=no_folder/x"}, 7, "no_folder/x"}));

TEST_F(CaffeProgram, WithoutArgumentsShowsTheUsage) {
  const Finished done = run({});
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(has(done.out, "usage: caffe ACTION"));
  EXPECT_TRUE(has(done.out, "-solver (string)"));
}

TEST_F(CaffeProgram, HelpAndVersion) {
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"train", "-h"}).code, 0);
  const Finished version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "caffe version 1.0.0 (Robusta 0.1.0)\n");
}

TEST_F(CaffeProgram, TakesIbmsHarmlessFlags) {
  const Finished done = run({"train", "-bvlc", "-threshold", "5", kSolver, "-engine", "MKLDNN"});
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(has(done.log, "-bvlc is accepted and changes nothing here"));
}

TEST_F(CaffeProgram, DeviceQueryShowsTheProcessor) {
  const Finished done = run({"device_query"});
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(matches(done.out, "CPU: .*\n  cores: \\d+ online, \\d+ for this process"));
}

}  // namespace
}  // namespace robusta::test
