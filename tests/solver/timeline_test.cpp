// The timeline of a training: which events it has, on which axis, and that it is whole.
#include <gtest/gtest.h>

#include <omp.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "base/str.h"
#include "comm/thread_ranks.h"
#include "solver/process.h"
#include "solver/reports/timeline/timeline.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

struct Event {
  std::string phase, name, category;
  int rank = 0, thread = 0;
  double begin = 0, end = 0;
};

/// Reads a trace; the form is checked on the way.
std::vector<Event> read_trace(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, R"({"displayTimeUnit": "ms", "traceEvents": [)");
  const std::regex span(R"~(\{"ph": "(X|i)", "name": "([^"]+)", "cat": "([a-z]+)", "pid": (\d+), "tid": (\d+), )~"
                        R"~("ts": (-?[\d.]+), ("dur": ([\d.]+)|"s": "t")\}(,?))~");
  const std::regex names(R"~(\{"ph": "M", "name": "[a-z_]+", "pid": \d+.*"args": \{.*\}\}(,?))~");
  std::vector<Event> events;
  bool comma = true;
  while (std::getline(lines, line) && line != "]}") {
    EXPECT_TRUE(comma) << "before " << line;
    std::smatch parts;
    if (std::regex_match(line, parts, span)) {
      const double begin = std::stod(parts[6]), length = parts[8].matched ? std::stod(parts[8]) : 0;
      events.push_back({parts[1], parts[2], parts[3], std::stoi(parts[4]), std::stoi(parts[5]), begin, begin + length});
      comma = parts[9].length() > 0;
    } else {
      EXPECT_TRUE(std::regex_match(line, parts, names)) << line;
      comma = parts[1].length() > 0;
    }
  }
  EXPECT_EQ(line, "]}");
  EXPECT_FALSE(comma);
  return events;
}

std::vector<Event> some(const std::vector<Event>& events, int rank, const std::string& category,
                        const std::string& name = "") {
  std::vector<Event> found;
  for (const Event& event : events) {
    if (event.rank == rank && event.category == category && (name.empty() || event.name == name))
      found.push_back(event);
  }
  return found;
}

void train(const std::string& file, int ranks, const std::string& settings, const std::string& ddl = "") {
  run_thread_ranks(
      ranks,
      [&](Communicator& world) {
        omp_set_num_threads(1);
        Ranks group(world, parse_ddl_options(ddl));
        SolverOptions options;
        options.ranks = &group;
        options.timeline = parse_timeline(file);
        toy(settings, options)->solve();
      },
      std::min(ranks, 2));
}

const std::string kSixIterations = "max_iter: 6 snapshot: 3 test_iter: 2 test_interval: 3 ";

TEST(Timeline, HoldsAllThatEveryRankDid) {
  const TempDir folder;
  train(folder / "t.json", 4, kSixIterations + "snapshot_prefix: '" + (folder / "toy") + "'", "-bucket_mb 0.00002");
  const std::vector<Event> events = read_trace(folder / "t.json");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(some(events, rank, "iteration").size(), 6u);
    EXPECT_EQ(some(events, rank, "forward", "ip1").size(), 6u) << "tests do not count";
    EXPECT_EQ(some(events, rank, "backward", "ip1").size(), 6u);
    EXPECT_EQ(some(events, rank, "bucket", "bucket 1 posted").size(), 6u);
    EXPECT_EQ(some(events, rank, "reduce", "bucket 1").size(), 6u);
    EXPECT_EQ(some(events, rank, "reduce", "bucket 2").size(), 6u);
    // Before a test or a snapshot what is not updated yet is so with the rest: bucket 1 too, unless it was quick.
    const size_t updates = some(events, rank, "update", "update bucket 1").size();
    EXPECT_TRUE(updates >= 4 && updates <= 6) << updates;
    EXPECT_GE(some(events, rank, "update", "update the rest").size(), 2u);
    EXPECT_EQ(some(events, rank, "test").size(), 3u);
    EXPECT_EQ(some(events, rank, "snapshot").size(), 2u);
  }
}

TEST(Timeline, EventsOfAThreadNestAndReductionsFollowTheirPosts) {
  const TempDir folder;
  train(folder / "t.json", 2, "max_iter: 5 snapshot_after_train: false", "-bucket_mb 0.00002");
  const std::vector<Event> events = read_trace(folder / "t.json");
  constexpr double kNoise = 0.0005;  // of sums of doubles; the file has whole nanoseconds
  for (const Event& a : events) {
    for (const Event& b : events) {
      if (a.rank != b.rank || a.thread != b.thread || a.begin >= b.begin || b.begin >= a.end - kNoise) continue;
      EXPECT_LE(b.end, a.end + kNoise) << b.name << " leaves " << a.name;
      EXPECT_TRUE(a.category == "iteration" || a.category == "test" || a.category == "snapshot")
          << b.name << " lies within " << a.name;
    }
  }
  for (int rank = 0; rank < 2; ++rank) {
    const auto posts = some(events, rank, "bucket", "bucket 2 posted"), sums = some(events, rank, "reduce", "bucket 2");
    ASSERT_EQ(posts.size(), sums.size());
    for (size_t i = 0; i < posts.size(); ++i) EXPECT_LE(posts[i].begin, sums[i].begin);
  }
}

TEST(Timeline, RanksShareAnAxis) {
  const TempDir folder;
  train(folder / "t.json", 2, "max_iter: 5 snapshot_after_train: false");
  const std::vector<Event> events = read_trace(folder / "t.json");
  // No rank ends a sum before the other has begun it.
  const auto mine = some(events, 0, "reduce"), others = some(events, 1, "reduce");
  ASSERT_EQ(mine.size(), 5u);
  ASSERT_EQ(others.size(), 5u);
  constexpr double kError = 500;  // microseconds that a host's clock may be off
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_LT(mine[i].begin, others[i].end + kError);
    EXPECT_LT(others[i].begin, mine[i].end + kError);
  }
}

TEST(Timeline, KeepsOnlyTheIterationsAskedFor) {
  const TempDir folder;
  train((folder / "t.json") + ":2-3", 2, kSixIterations + "snapshot_prefix: '" + (folder / "toy") + "'");
  const std::vector<Event> events = read_trace(folder / "t.json");
  for (int rank = 0; rank < 2; ++rank) {
    std::set<std::string> names;
    for (const Event& event : some(events, rank, "iteration")) names.insert(event.name);
    EXPECT_EQ(names, (std::set<std::string>{"iteration 2", "iteration 3"}));
    EXPECT_EQ(some(events, rank, "forward", "ip2").size(), 2u);
    EXPECT_EQ(some(events, rank, "reduce").size(), 2u);
    EXPECT_EQ(some(events, rank, "test").size(), 1u);
  }
}

TEST(Timeline, KeepsTheLatestIterationsOfALongRun) {
  const TempDir folder;
  train(folder / "t.json", 1, "max_iter: 130 snapshot_after_train: false");
  const std::vector<Event> events = read_trace(folder / "t.json");
  const std::vector<Event> iterations = some(events, 0, "iteration");
  ASSERT_EQ(iterations.size(), 50u);
  EXPECT_EQ(iterations.front().name, "iteration 80");
  EXPECT_EQ(iterations.back().name, "iteration 129");
  EXPECT_EQ(some(events, 0, "forward", "ip1").size(), 50u);
  EXPECT_EQ(some(events, 0, "update", "update ip1").size(), 100u);  // weights and biases
}

TEST(Timeline, AFileThatCannotBeWrittenIsSaidBeforeTraining) {
  const TempDir folder;
  int iterations = 0;
  const Error error = error_of([&] {
    SolverOptions options;
    options.timeline = parse_timeline(folder / "no/t.json");
    const auto solver = toy("max_iter: 3 snapshot_after_train: false", options);
    solver->on_iteration = [&](int, double, double) { ++iterations; };
    solver->solve();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_EQ(iterations, 0);
}

TEST(Timeline, ReadsItsFlag) {
  EXPECT_EQ(parse_timeline("a:b.json").file, "a:b.json");
  EXPECT_EQ(parse_timeline("a.json").first, -1);
  EXPECT_EQ(parse_timeline("a:b:10-20").file, "a:b");
  EXPECT_EQ(parse_timeline("a:10-20").first, 10);
  EXPECT_EQ(parse_timeline("a:10-20").last, 20);
  EXPECT_EQ(error_of([] { parse_timeline("a:20-10"); }).kind(), ErrorKind::kUsage);
}

TEST(Timeline, ARingKeepsTheNewest) {
  TraceRing ring(4);
  for (int i = 0; i < 10; ++i) ring.add({i, i, "", i, TraceKind::kTest});
  ASSERT_EQ(ring.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(ring[i].number, static_cast<int>(i) + 6);
}

TEST(Timeline, ClocksOfHostsAreCompared) {
  constexpr int64_t kApart = 5'000'000'000;  // host1 is ahead
  std::vector<int64_t> offsets(4);
  run_thread_ranks(
      4,
      [&](Communicator& world) {
        Ranks group(world, {});
        const int64_t ahead = group.topology().hosts[static_cast<size_t>(world.rank())] == "host1" ? kApart : 0;
        offsets[static_cast<size_t>(world.rank())] = clock_offset(group, [ahead] { return steady_ns() + ahead; });
      },
      2);
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 0);
  EXPECT_NEAR(static_cast<double>(offsets[2]), -kApart, 1e6);
  EXPECT_EQ(offsets[3], offsets[2]);
  const ClockLine line{1000, 50, 2000, 70};
  EXPECT_EQ(line.to_root(1500), 1560);
}

TEST(Timeline, IsWrittenWhenASignalStopsTheProgram) {
  const TempDir folder;
  write_file(folder / "solver.prototxt",
             "base_lr: 0.01 lr_policy: 'fixed' max_iter: 100000000 display: 1 snapshot_prefix: 'toy'\n" + kToyNet);
  CaffeProcess process(folder.path(), {"train", "-solver=solver.prototxt", "-timeline", "t.json"});
  ASSERT_TRUE(process.wait_for("Iteration 60 ")) << process.log();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.log();
  const std::vector<Event> events = read_trace(folder / "t.json");
  EXPECT_EQ(some(events, 0, "iteration").size(), 50u);
  EXPECT_EQ(some(events, 0, "snapshot").size(), 1u);
}

TEST(Timeline, AFileThatCannotBeWrittenIsNamedBeforeTraining) {
  const TempDir folder;
  write_file(folder / "solver.prototxt",
             "base_lr: 0.01 lr_policy: 'fixed' max_iter: 1 snapshot_prefix: 'toy'\n" + kToyNet);
  for (const auto& [file, why] : {std::pair{"no/t.json", "No such file or directory; create the folder first"},
                                  std::pair{".", "Is a directory; name a file, not a folder"}}) {
    CaffeProcess process(folder.path(), {"train", "-solver=solver.prototxt", "-timeline", file});
    EXPECT_EQ(process.wait(), static_cast<int>(ErrorKind::kOutput));
    const std::string log = process.log();
    EXPECT_TRUE(contains(log, str("caffe: error: cannot write the timeline ", file, ": ", why))) << log;
    EXPECT_FALSE(contains(log, "Starting Optimization")) << log;
  }
}

}  // namespace
}  // namespace robusta::test
