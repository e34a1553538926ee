// Training over ranks whose GPUs sum their gradients by NCCL: on fake GPUs, by a fake NCCL.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include "device/sim/sim_device.h"
#include "robusta/error.h"
#include "solver/nccl_sums.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/reports/timeline/timeline.h"
#include "solver/toy_solver.h"
#include "support/close.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::nccl {
namespace {

struct Trained {
  std::vector<float> values;
  std::string described;
  std::vector<std::string> notes;
};

struct Job {
  int ranks = 2;
  std::string ddl = "";  ///< -ddl, besides small buckets
  std::string settings = "momentum: 0.9 weight_decay: 0.01";
  int hosts = 1;
  bool shares_gpu = false;
  std::string timeline = "";  ///< to be written
};

/// Each rank on a GPU of its own, in threads.
Trained train(const Job& job) {
  Trained trained;
  const auto body = [&](Communicator& world) {
    const std::shared_ptr<Device> device = open_gpu(job.shares_gpu ? 0 : world.rank());
    Ranks ranks(world, parse_ddl_options("-bucket_mb 0.0001 -check_iter 2 " + job.ddl));
    SolverOptions options;
    options.device = device.get();
    options.ranks = &ranks;
    options.batch = 8 / job.ranks;
    if (!job.timeline.empty()) {
      options.timeline = parse_timeline(job.timeline);
      toy(job.settings + " max_iter: 6 snapshot_after_train: false", options)->solve();
      return;
    }
    const auto solver = toy(job.settings, options);
    solver->step(6);
    solver->finish_updates();
    if (world.rank() > 0) return;
    const BucketSum& sums = solver->ranked_update()->reducer().sums();
    trained = {everything(*solver), sums.describe(), sums.notes()};
  };
  // The error itself is what is looked at, not the end of the others that follows from it.
  const auto own_errors = [&](Communicator& world) {
    try {
      body(world);
    } catch (const EndedByPeer&) {}
  };
  run_thread_ranks(job.ranks, own_errors, job.hosts);
  return trained;
}

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);  // choices of one test are not the next one's
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  /// Makes a choice that was found by trying another one.
  void remember(int dimensions) {
    const std::string file = folder_ / "robusta/all_reduce", was = read_file(file);
    const std::string now = std::regex_replace(was, std::regex("/nccl \\d"), "/nccl " + std::to_string(dimensions));
    ASSERT_TRUE(contains(now, "/nccl ")) << was;
    write_file(file, now);
  }

  TempDir folder_;
};

// A sum of two terms has one order.
TEST_F(Nccl, TwoGpusHaveTheBitsOfStagedGradients) {
  for (const std::string kernels : {"", ":emulated"}) {
    const SimNccl gpus("2:16M" + kernels);
    const Trained by_nccl = train({.ddl = "-mode n:2"}), staged = train({.ddl = "-mode r:2"});
    EXPECT_EQ(by_nccl.described, "NCCL 2.20.1 over 2 ranks");
    EXPECT_TRUE(contains(staged.described, "ring")) << staged.described;
    EXPECT_EQ(by_nccl.values, staged.values);
  }
}

TEST_F(Nccl, IsWhatGpusOfOneHostUseWithoutBeingAsked) {
  const SimNccl gpus("2:16M");
  for (const char* ddl : {"", "-mode b:2", "-mode c:2", "-mode p:2", "auto"}) {
    EXPECT_EQ(train({.ddl = ddl}).described, "NCCL 2.20.1 over 2 ranks") << ddl;
  }
}

TEST_F(Nccl, FourGpusAreCloseToStagedGradients) {
  const SimNccl gpus("4:16M");
  const std::vector<float> staged = train({.ranks = 4, .ddl = "-mode r:4"}).values;
  for (const char* settings :
       {"momentum: 0.9 weight_decay: 0.01", "momentum: 0.9 clip_gradients: 0.1", "momentum: 0.9 iter_size: 3",
        "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3"}) {
    const Trained by_nccl = train({.ranks = 4, .ddl = "-mode n:4", .settings = settings});
    EXPECT_EQ(by_nccl.described, "NCCL 2.20.1 over 4 ranks");
    expect_close(by_nccl.values, train({.ranks = 4, .ddl = "-mode r:4", .settings = settings}).values, 1e-6);
  }
}

/// What the driver of rank 0 did in each iteration, in order, of a timeline: b: a layer's backward, p: a bucket posted.
std::vector<std::string> posts_in_backward(const std::string& timeline) {
  std::istringstream lines(read_file(timeline));
  const std::regex event(
      R"~(.*"name": "([^"]+)", "cat": "(iteration|backward|bucket)", "pid": 0,.*"ts": (-?[\d.]+),.*)~");
  std::map<double, char> did;
  std::smatch parts;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, parts, event)) continue;
    did[std::stod(parts[3])] = parts[2] == "iteration" ? 'i' : parts[2] == "backward" ? 'b' : 'p';
  }
  std::vector<std::string> iterations;
  for (const auto& [when, what] : did) {
    if (what == 'i') {
      iterations.emplace_back();
    } else if (!iterations.empty()) {
      iterations.back() += what;
    }
  }
  return iterations;
}

// CUDA loads a kernel when it is launched first, which must not meet one of NCCL's that waits for another rank.
TEST_F(Nccl, TheFirstSumsBeginWhenAllKernelsAreLoaded) {
  const SimNccl gpus("2:16M");
  for (const char* ddl : {"-mode n:2", "-mode r:2"}) {
    train({.ddl = ddl, .timeline = folder_ / "t.json"});
    const std::vector<std::string> iterations = posts_in_backward(folder_ / "t.json");
    ASSERT_EQ(iterations.size(), 6u);
    for (size_t i = 0; i < iterations.size(); ++i) {
      const bool beside = contains(iterations[i], "pb");
      EXPECT_EQ(beside, i > 0 || contains(ddl, "r:2")) << ddl << ", iteration " << i << ": " << iterations[i];
    }
  }
}

// Reduce-scatter within a host, then whatever is faster: both have to be right.
TEST_F(Nccl, DimensionsAreNcclsWithinAHostAndStagedBetween) {
  const SimNccl gpus("4:16M");
  for (const int hosts : {1, 2}) {
    const std::vector<float> staged = train({.ranks = 4, .ddl = "-mode r:4", .hosts = hosts}).values;
    const Trained measured = train({.ranks = 4, .ddl = "-mode b:2x2", .hosts = hosts});
    const Trained compressed = train({.ranks = 4, .ddl = "-mode b:2x2 -compress bf16", .hosts = hosts});
    expect_close(measured.values, staged, 1e-6);
    EXPECT_EQ(measured.notes.size(), 2u);
    expect_close(compressed.values, staged, hosts > 1 ? 1e-2 : 1e-6);
    const bool is_staged = contains(compressed.described, "NCCL 2.20.1 over 2 ranks, then by way of host memory");
    EXPECT_TRUE(is_staged || hosts == 1) << compressed.described;
  }
}

TEST_F(Nccl, TriesWhatIsFasterBetweenHostsOnce) {
  const SimNccl gpus("4:16M");
  const Job job{.ranks = 4, .hosts = 2};
  const Trained first = train(job), second = train(job);
  ASSERT_EQ(first.notes.size(), 2u);
  EXPECT_TRUE(contains(first.notes[0], "NCCL 2.20.1 over 2 ranks, then by way of host memory")) << first.notes[0];
  EXPECT_TRUE(contains(first.notes[1], "NCCL 2.20.1 over 2x2 ranks: ")) << first.notes[1];
  EXPECT_EQ(second.notes.size(), 0u);
  EXPECT_EQ(second.described, first.described);
  EXPECT_EQ(second.values, first.values);
  for (const int dimensions : {1, 2}) {
    remember(dimensions);
    const Trained chosen = train(job);
    expect_close(chosen.values, first.values, 1e-6);
    EXPECT_EQ(contains(chosen.described, "by way of host memory"), dimensions == 1) << chosen.described;
  }
}

// One rank on each host: all by NCCL or nothing.
TEST_F(Nccl, BetweenHostsItHasToBeFaster) {
  const SimNccl gpus("2:16M");
  const std::vector<float> staged = train({.ddl = "-mode r:2", .hosts = 2}).values;
  const Trained measured = train({.hosts = 2}), compressed = train({.ddl = "-compress bf16", .hosts = 2});
  EXPECT_EQ(measured.values, staged);
  ASSERT_EQ(measured.notes.size(), 2u);
  EXPECT_TRUE(contains(measured.notes[0], "reduce-scatter and all-gather over 1x2 ranks: ")) << measured.notes[0];
  EXPECT_TRUE(contains(measured.notes[1], "NCCL 2.20.1 over 2 ranks: ")) << measured.notes[1];
  EXPECT_EQ(compressed.described.find("NCCL"), std::string::npos) << compressed.described;
  for (const int dimensions : {0, 1}) {
    remember(dimensions);
    const Trained chosen = train({.hosts = 2});
    EXPECT_EQ(chosen.values, staged);
    EXPECT_EQ(contains(chosen.described, "NCCL 2.20.1 over 2 ranks"), dimensions == 1) << chosen.described;
  }
}

TEST_F(Nccl, RanksThatShareAGpuStage) {
  const SimNccl gpus("2:16M");
  const Trained shared = train({.shares_gpu = true}), ring = train({.ddl = "-mode n:2", .shares_gpu = true});
  ASSERT_EQ(shared.notes.size(), 1u);
  EXPECT_EQ(shared.notes[0], "ranks 0 and 1 share a GPU: gradients go by way of host memory");
  ASSERT_EQ(ring.notes.size(), 1u);
  EXPECT_EQ(ring.notes[0], "-mode n: ranks 0 and 1 share a GPU: one ring over the 2 ranks instead");
  EXPECT_EQ(ring.values, train({.ddl = "-mode n:2"}).values);
}

TEST_F(Nccl, WithoutTheLibraryGradientsAreStaged) {
  const SimNccl gpus("2:16M", "", false);
  EXPECT_TRUE(train({}).notes.empty());
  const Trained ring = train({.ddl = "-mode n:2"});
  ASSERT_EQ(ring.notes.size(), 1u);
  EXPECT_EQ(ring.notes[0], "-mode n: NCCL was not found: one ring over the 2 ranks instead");
  setenv("ROBUSTA_SIM_NCCL", "/nowhere/libnccl.so.2", 1);
  const Trained staged = train({});
  ASSERT_EQ(staged.notes.size(), 1u);
  EXPECT_TRUE(contains(staged.notes[0], "NCCL was not found by rank 0 (host0) (/nowhere/libnccl.so.2: cannot open"))
      << staged.notes[0];
}

TEST_F(Nccl, WhatIsNoNcclIsNotUsed) {
  std::string why;
  EXPECT_EQ(find_nccl({"libm.so.6"}, why), nullptr);
  EXPECT_TRUE(contains(why, "libm.so.6: has no ncclGetVersion")) << why;
}

/// How a training with trouble ends, and after how many seconds.
struct End {
  std::string text;
  ErrorKind kind;
  double seconds;
};

End end_of(const Job& job) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  try {
    train(job);
  } catch (const Error& error) {
    return {error.what(), error.kind(), seconds()};
  }
  return {"no error", ErrorKind::kUsage, seconds()};
}

constexpr double kBound = 15;  // seconds; limits are 1 s to connect and 2 s for a sum

TEST_F(Nccl, AnErrorEndsAllRanksWithItsReason) {
  for (const char* const trouble : {"error:1:0", "error:1:5", "error:0:7"}) {
    const SimNccl gpus("2:16M", trouble);
    const End end = end_of({.ddl = "-mode n:2 -timeout 1"});
    EXPECT_EQ(end.kind, ErrorKind::kCommunication) << trouble;
    EXPECT_TRUE(contains(end.text, "remote error (as the test wants it)")) << end.text;
    EXPECT_TRUE(contains(end.text, "NCCL_DEBUG=WARN")) << end.text;
    EXPECT_LT(end.seconds, kBound) << trouble;
  }
}

TEST_F(Nccl, AHangEndsAllRanksInBoundedTime) {
  for (const char* const trouble : {"hang:1:0", "hang:0:5"}) {
    const SimNccl gpus("2:16M", trouble);
    const End end = end_of({.ddl = "-mode n:2 -timeout 1"});
    EXPECT_EQ(end.kind, ErrorKind::kCommunication) << trouble;
    EXPECT_TRUE(contains(end.text, "not done after 2 s")) << end.text;
    EXPECT_LT(end.seconds, kBound) << trouble;
  }
}

// The driver waits for the GPU, the GPU for a sum that does not end, and the reducer has nothing to do.
TEST_F(Nccl, AHangEndsWhileTheDriverWaitsForTheGpu) {
  const SimNccl gpus("2:16M", "hang:1:0");
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> failed = 0;
  run_thread_ranks(2, [&](Communicator& world) {
    const std::shared_ptr<Device> device = open_gpu(world.rank());
    Ranks ranks(world, parse_ddl_options("-mode n:2 -bucket_mb 0.0001 -timeout 1"));
    SolverOptions options;
    options.device = device.get();
    options.ranks = &ranks;
    const auto solver = toy("", options);
    BucketReducer& reducer = solver->ranked_update()->reducer();
    ASSERT_GT(reducer.buckets().size(), 1u);
    reducer.begin();
    reducer.sums().complete(BucketId(0));
    reducer.post();
    reducer.wait(BucketId(0));
    reducer.sums().deliver(BucketId(0));
    solver->train_net().stream().synchronize();
    const Error error = error_of([&] {
      for (;;) reducer.first_open();
    });
    EXPECT_TRUE(contains(error.what(), "NCCL, bucket 1 of ")) << error.what();
    ++failed;
    while (failed < 2) std::this_thread::yield();  // so that each finds it by itself
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(static_cast<int>(kBound)));
}

TEST_F(Nccl, AHangWithinAHostEndsThoseOfOtherHosts) {
  const SimNccl gpus("4:16M", "hang:1:3");
  const End end = end_of({.ranks = 4, .ddl = "-mode b:2x2 -compress fp16 -timeout 1", .hosts = 2});
  EXPECT_EQ(end.kind, ErrorKind::kCommunication);
  EXPECT_TRUE(contains(end.text, "not done after 2 s")) << end.text;
  EXPECT_LT(end.seconds, kBound);
}

TEST_F(Nccl, RanksThatCannotConnectSayWhy) {
  {
    const SimNccl gpus("2:16M", "unreachable:1");
    const End end = end_of({.ddl = "-mode n:2 -timeout 1"});
    EXPECT_EQ(end.kind, ErrorKind::kCommunication);
    EXPECT_TRUE(contains(end.text, "NCCL, connecting: not done after 1 s")) << end.text;
    EXPECT_LT(end.seconds, kBound);
  }
  // Rank 0 waits in vain and leaves the word to the one that knows.
  const SimNccl gpus("2:16M", "refused:1");
  const End end = end_of({.ddl = "-mode n:2 -timeout 1"});
  EXPECT_TRUE(contains(end.text, "NCCL, connecting (member 1 of 2): system error")) << end.text;
}

TEST_F(Nccl, HostsThatNcclCannotConnectAreStaged) {
  const SimNccl gpus("4:16M");
  const std::vector<float> staged = train({.ranks = 4, .ddl = "-mode r:4", .hosts = 2}).values;
  setenv("ROBUSTA_FAKE_NCCL", "unreachable:1:1", 1);  // in the second dimension
  const Trained half = train({.ranks = 4, .ddl = "-timeout 1", .hosts = 2});
  expect_close(half.values, staged, 1e-6);
  EXPECT_TRUE(contains(half.described, "NCCL 2.20.1 over 2 ranks, then by way of host memory")) << half.described;
  ASSERT_EQ(half.notes.size(), 1u);
  EXPECT_TRUE(contains(half.notes[0], "dimension Y does without NCCL: NCCL, connecting: not done after 1 s"))
      << half.notes[0];
}

/// A rank that fails by itself in the midst of an iteration ends the others, who wait for it in NCCL.
TEST_F(Nccl, ARankThatEndsTakesTheOthersAlong) {
  const SimNccl gpus("2:16M");
  const auto start = std::chrono::steady_clock::now();
  try {
    run_thread_ranks(2, [&](Communicator& world) {
      const std::shared_ptr<Device> device = open_gpu(world.rank());
      Ranks ranks(world, parse_ddl_options("-mode n:2 -bucket_mb 0.0001 -timeout 60"));
      SolverOptions options;
      options.device = device.get();
      options.ranks = &ranks;
      const auto solver = toy("momentum: 0.9", options);
      solver->step(2);
      if (world.rank() == 1) throw Error(ErrorKind::kData, "the test ends rank 1");
      solver->step(2);
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

/// Refuses every call once it has failed, as a GPU does.
struct FailingDevice : SimDevice {
  FailingDevice() : SimDevice(1 << 20) {}
  void make_current() const override {
    if (failed) throw Error(ErrorKind::kDevice, "the GPU has failed");
  }
  bool failed = false;
};

TEST_F(Nccl, EndsOnAGpuThatHasFailed) {
  const std::string log = folder_ / "log";
  setenv("ROBUSTA_FAKE_NCCL_LOG", log.c_str(), 1);
  const SimNccl gpus("1:16M");
  std::string why;
  const NcclApi* const api = find_nccl(nccl_files(), why);
  ASSERT_NE(api, nullptr) << why;
  FailingDevice device;
  NcclId id;
  ASSERT_EQ(api->get_unique_id(&id), kNcclSuccess);
  NcclComm comm(*api, device, id, 1, 0, {.limit_s = 30});
  device.failed = true;
  comm.abort();
  unsetenv("ROBUSTA_FAKE_NCCL_LOG");
  EXPECT_TRUE(contains(read_file(log), "abort 0")) << read_file(log);
}

TEST_F(Nccl, PiecesOfAnySizeAreSummedAndGathered) {
  const SimNccl gpus("3:16M");
  std::string why;
  const NcclApi* const api = find_nccl(nccl_files(), why);
  ASSERT_NE(api, nullptr) << why;
  for (const int64_t count : {1, 5, 47, 48, 49, 100, 999, 70001}) {
    run_thread_ranks(3, [&](Communicator& world) { expect_exact_sums(*api, world, count); });
  }
}

}  // namespace
}  // namespace robusta::test::nccl
