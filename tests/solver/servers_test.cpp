// Parameter servers: groups that push gradients and get weights, in step or apart.
#include <atomic>
#include <chrono>
#include <thread>

#include "solver/ranked_training.h"
#include "solver/ranks/sums/servers/division.h"
#include "solver/ranks/sums/servers/late.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::servers_test {
namespace {

const std::string kNet = kConv + kDropped + loss_layer(), kAdam = "base_lr: 0.01 lr_policy: 'fixed' type: 'Adam' ";

struct Shape {
  int groups, per_group, servers;
  int workers() const { return groups * per_group; }
  std::string ddl() const { return "-groups " + std::to_string(groups) + " -servers " + std::to_string(servers); }
};

class Servers : public Training {
 protected:
  /// The same training by workers alone, and with servers.
  static Run with_servers(Run run, const Shape& shape) {
    run.ranks = shape.workers() + shape.servers;
    run.data = data_layer(kGlobalBatch / shape.workers());
    run.ddl = shape.ddl() + " " + run.ddl;
    return run;
  }
  static Run without_servers(Run run, const Shape& shape) {
    run.ranks = shape.workers();
    return run;
  }
};

TEST_F(Servers, InStepTheyTrainSynchronouslyToTheBit) {
  for (const Shape& shape : {Shape{2, 1, 1}, Shape{4, 1, 1}, Shape{2, 1, 3}, Shape{4, 1, 2}}) {
    for (const std::string& settings :
         {kFixed, kAdam + "iter_size: 2 ", kFixed + "ema_decay: 0.9 ", kFixed + "type: 'Nesterov' "}) {
      for (const char* const ddl : {"", "-bucket_mb 0.0001"}) {
        const Run run{.settings = settings, .layers = kNet, .dtype = DType::kF32, .ddl = ddl};
        const Outcome served = train(with_servers(run, shape)), synchronous = train(without_servers(run, shape));
        EXPECT_EQ(served.numbers, synchronous.numbers) << settings << shape.ddl() << ddl;
        // Whose order of summing may be another.
        expect_same({served.losses, {}, {}}, {synchronous.losses, {}, {}}, 1e-6);
      }
    }
  }
}

TEST_F(Servers, GroupsOfSeveralRanksSumTheirGradientsFirst) {
  const Run run{.settings = kFixed, .layers = kNet};
  for (const Shape& shape : {Shape{1, 2, 1}, Shape{2, 2, 2}}) {
    for (const int hosts : {1, 2}) {
      Run served = with_servers(run, shape);
      served.hosts = hosts;
      expect_same(train(served), train(without_servers(run, shape)), 1e-12);
    }
  }
}

TEST_F(Servers, NormsAndPoliciesAreThoseOfAll) {
  for (const std::string& settings : {kFixed + "clip_gradients: 0.3 ", kFixed + "larc: true larc_eta: 0.1 ",
                                      std::string("base_lr: 0.05 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 "),
                                      std::string("base_lr: 0.05 lr_policy: 'step' stepsize: 2 gamma: 0.5 ")}) {
    const Run run{.settings = settings, .layers = kNet, .iterations = 8};
    const Shape shape{2, 1, 2};
    expect_same(train(with_servers(run, shape)), train(without_servers(run, shape)), 1e-12);
  }
}

TEST_F(Servers, TestsAndStatisticsAreThoseOfWorkers) {
  const Run run{.settings = kFixed + "test_iter: 5 test_interval: 2 ",
                .layers = test_data_layer() + kConv + kNormed + loss_layer()};
  const Shape shape{2, 1, 1};
  Run served = with_servers(run, shape);
  // Statistics inside a step are those of a group: one group here.
  served = with_servers(run, {1, 2, 1});
  expect_same(train(served), train(without_servers(run, shape)), 1e-10);
}

TEST_F(Servers, GpusPushByWayOfTheHost) {
  const Run run{.settings = kFixed, .layers = kConv + kDropped + loss_layer(), .dtype = DType::kF32, .gpus = true};
  const Shape shape{2, 1, 1};
  const SimNccl gpus("3:16M", "", false);
  EXPECT_EQ(train(with_servers(run, shape)).numbers, train(without_servers(run, shape)).numbers);
}

TEST_F(Servers, ASnapshotGoesOnWithAnyNumberOfThem) {
  const TempDir dir;
  const std::string settings = kAdam + "snapshot_prefix: '" + (dir / "s") + "' ";
  const Shape shape{2, 1, 2};
  const Run whole{.settings = settings, .layers = kNet, .dtype = DType::kF32};
  const Outcome straight = train(without_servers(whole, shape));
  Run half = whole;
  half.iterations = 3;
  half.snapshot = true;
  train(with_servers(half, shape));
  Run rest = whole;
  rest.iterations = 3;
  rest.resume = dir / "s_iter_3.solverstate";
  for (const Shape& other : {shape, Shape{2, 1, 1}, Shape{2, 1, 3}})
    EXPECT_EQ(train(with_servers(rest, other)).numbers, straight.numbers) << other.ddl();
  EXPECT_EQ(train(without_servers(rest, shape)).numbers, straight.numbers);
}

/// How far groups have come, as they go.
struct Apart {
  std::string ddl, settings = kSlow;
  int iterations = 12, stop_at = -1;
  int slowed = -1;  ///< this group waits in each iteration
};

struct Seen {
  int furthest_apart = 0;
  std::vector<int> iterations;  ///< of each rank, at the end
  std::vector<double> losses;   ///< of rank 0
};

class ServersApart : public Servers {
 protected:
  static Seen train_apart(const Shape& shape, const Apart& run) {
    std::vector<std::atomic<int>> done(static_cast<size_t>(shape.workers()));
    Seen seen;
    seen.iterations.resize(static_cast<size_t>(shape.workers() + shape.servers));
    std::atomic<int> apart = 0;
    const auto body = [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, parse_ddl_options(shape.ddl() + " " + run.ddl));
      SolverOptions options;
      options.ranks = &group;
      const int me = world.rank();
      int iteration = 0;
      options.poll = [&] { return me == 1 && iteration == run.stop_at ? Request::kStop : Request::kNone; };
      Solver solver(parse_solver(run.settings + " momentum: 0.9 random_seed: 3 net_param { " +
                                     data_layer(kGlobalBatch / shape.workers()) + kNet + "}",
                                 "ranks.prototxt"),
                    options);
      solver.on_iteration = [&](int done_before, double loss, double) {
        iteration = done_before + 1;
        if (me >= shape.workers()) return;
        if (me == 0) seen.losses.push_back(loss);
        done[static_cast<size_t>(me)] = iteration;
        int fewest = iteration;
        for (const std::atomic<int>& other : done) fewest = std::min(fewest, other.load());
        for (int before = apart;
             iteration - fewest > before && !apart.compare_exchange_weak(before, iteration - fewest);)
          ;
        if (me == run.slowed) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      };
      solver.step(run.iterations);
      solver.finish_updates();
      seen.iterations[static_cast<size_t>(me)] = solver.state().iter;
    };
    run_thread_ranks(shape.workers() + shape.servers, body, 1);
    seen.furthest_apart = apart;
    return seen;
  }
};

TEST_F(ServersApart, NoGroupIsFurtherAheadThanAllowed) {
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{3, 1, 2}}) {
    const Seen seen = train_apart(shape, {.ddl = "-max_staleness 2", .slowed = 2});
    // What is done is noticed after the answer, of which one more may be under way.
    EXPECT_LE(seen.furthest_apart, 4);
    EXPECT_GE(seen.furthest_apart, 2);
    EXPECT_EQ(seen.iterations, std::vector<int>(seen.iterations.size(), 12));
  }
  EXPECT_LE(train_apart({3, 1, 1}, {.ddl = "", .slowed = 2}).furthest_apart, 1);
}

TEST_F(ServersApart, TheyLearnWithEachCompensation) {
  const std::string settings = "base_lr: 0.01 lr_policy: 'fixed' ";
  for (const std::string more : {"", " -compensate rate", " -compensate delay:0.04"}) {
    const Seen seen =
        train_apart({3, 1, 2}, {.ddl = "-max_staleness 4" + more, .settings = settings, .iterations = 60, .slowed = 1});
    const auto mean = [&](size_t from) {
      double sum = 0;
      for (size_t i = from; i < from + 10; ++i) sum += seen.losses[i];
      return sum / 10;
    };
    EXPECT_LT(mean(50), 0.7 * mean(0)) << more;
  }
}

TEST_F(ServersApart, AllEndInTheIterationThatOneVoteAskedFor) {
  for (const int staleness : {0, 1, 3}) {
    const Seen seen = train_apart(
        {3, 1, 2}, {.ddl = "-max_staleness " + std::to_string(staleness), .iterations = 40, .stop_at = 5, .slowed = 2});
    EXPECT_EQ(seen.iterations, std::vector<int>(seen.iterations.size(), seen.iterations[0]));
    EXPECT_GE(seen.iterations[0], 6);
    EXPECT_LE(seen.iterations[0], 6 + staleness + 1);
  }
}

TEST(ServerOptions, WhatDoesNotFitIsRefused) {
  const auto said = [](const std::string& ddl) {
    const Error error = error_of([&] { parse_ddl_options(ddl); });
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << ddl;
    return std::string(error.what());
  };
  EXPECT_TRUE(contains(said("-groups 2"), "-groups 2 (-n_group) need servers"));
  EXPECT_TRUE(contains(said("-max_staleness 2"), "there are none"));
  EXPECT_TRUE(contains(said("-servers 1 -compensate rate"), "with -max_staleness 0 none does"));
  EXPECT_TRUE(contains(said("-servers 1 -max_staleness 1 -compensate delay"), "-compensate delay is not allowed"));
  for (const std::string other : {"-shard states", "-sync_every 2", "-op adasum", "-elastic 2:4", "-compress int8"})
    EXPECT_TRUE(contains(said("-servers 1 " + other), "goes not with " + other.substr(0, other.find(' ')))) << other;
  const DdlOptions five = parse_ddl_options("-groups 2 -servers 1");
  EXPECT_EQ(ranks_per_group(five.served, 5), 2);
  const Error four = error_of([&] { ranks_per_group(five.served, 4); });
  EXPECT_TRUE(contains(four.what(), "4 ranks are not 2 equal groups (-n_group) and 1 parameter servers"))
      << four.what();
  EXPECT_THROW(ranks_per_group(five.served, 2), Error);
}

TEST_F(Servers, WhatEachGroupHasOfItsOwnIsNoRule) {
  const auto said = [&](const std::string& settings, const std::string& ddl, const Shape& shape) {
    const Run run{.settings = settings, .layers = kNet, .ddl = ddl};
    return std::string(error_of([&] { train(with_servers(run, shape)); }).what());
  };
  const std::string plateau = "base_lr: 0.05 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 ";
  EXPECT_TRUE(contains(said(plateau, "-max_staleness 1", {2, 1, 1}), "looks at the loss of all ranks"));
  EXPECT_TRUE(contains(said(kFixed + "clip_gradients: 1 ", "-max_staleness 1", {2, 1, 2}), "wants norms over all"));
  EXPECT_TRUE(contains(said(kFixed + "type: 'LAMB' ", "", {2, 1, 1}), "-servers with solver type LAMB"));
}

TEST(Division, SharesAreEqualAndMakeUpAll) {
  std::vector<float> memory(100);
  Buckets buckets;
  for (const int64_t count : {7, 1, 40, 3}) {
    Bucket bucket;
    bucket.data = memory.data();
    bucket.count = count;
    buckets.push_back(bucket);
  }
  for (const int servers : {1, 2, 3, 60}) {
    const Division division(buckets, servers);
    int64_t all = 0;
    for (int s = 0; s < servers; ++s) {
      int64_t mine = 0;
      for (const BucketId b : buckets.ids()) mine += division.part(b, s).count();
      EXPECT_EQ(mine, division.share(s).count());
      EXPECT_LE(std::abs(mine - 51 / servers), 1);
      all += mine;
    }
    EXPECT_EQ(all, 51) << servers;
  }
}

/// The first round that no group has been answered for is the first that all groups can be told of in time.
TEST(Decisions, AVoteHoldsForARoundThatAllHearOf) {
  Decisions decisions;
  const Votes quiet{.loss = 1}, stop{.loss = 1, .stop = 1};
  EXPECT_EQ(decisions.answer(quiet, 0).stop, 0);
  EXPECT_EQ(decisions.answer(quiet, 1).stop, 0);  // a fast group
  decisions.hear(stop);                           // of a slow one, in its round 0
  EXPECT_EQ(decisions.answer(stop, 0).stop, 0);
  EXPECT_EQ(decisions.answer(quiet, 1).stop, 0);
  EXPECT_EQ(decisions.decided(1).stop, 0);
  decisions.hear(stop);
  EXPECT_EQ(decisions.answer(quiet, 2).stop, 2);
  EXPECT_EQ(decisions.answer(quiet, 2).stop, 2);
  EXPECT_EQ(decisions.decided(2).stop, 2);
  decisions.hear({.snapshot = 1});
  EXPECT_EQ(decisions.answer(quiet, 3).snapshot, 1);
  EXPECT_EQ(decisions.decided(3).stop, 0);
}

TEST(Staleness, IsReportedOnce) {
  Staleness staleness;
  EXPECT_EQ(staleness.take(), "");
  for (const int late : {0, 1, 4}) staleness.add(late);
  EXPECT_EQ(staleness.take(), "on average 1.67, at most 4");
  EXPECT_EQ(staleness.take(), "");
}

}  // namespace
}  // namespace robusta::test::servers_test
