// Parameter servers: groups that push gradients and get weights, in step or apart.
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "solver/ranked_training.h"
#include "solver/ranks/sums/servers/delay.h"
#include "solver/ranks/sums/servers/division.h"
#include "solver/ranks/sums/servers/turns.h"
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

struct Apart {
  std::string ddl, settings = kSlow;
  int iterations = 12, stop_at = -1;
  int slowed = -1;  ///< this group waits in each pass
  bool gpus = false;
};

struct Seen {
  std::vector<int> passes;      ///< of each worker
  std::vector<int> iterations;  ///< of each rank, at the end
  std::vector<double> losses;   ///< of rank 0
};

class ServersApart : public Servers {
 protected:
  static Seen train_apart(const Shape& shape, const Apart& run) {
    Seen seen;
    seen.passes.resize(static_cast<size_t>(shape.workers()));
    seen.iterations.resize(static_cast<size_t>(shape.workers() + shape.servers));
    const auto body = [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, parse_ddl_options(shape.ddl() + " " + run.ddl));
      const std::shared_ptr<Device> gpu = run.gpus ? open_gpu(world.rank()) : nullptr;
      SolverOptions options;
      if (gpu) options.device = gpu.get();
      options.ranks = &group;
      const int me = world.rank();
      int iteration = 0;
      options.poll = [&] { return me == 1 && iteration == run.stop_at ? Request::kStop : Request::kNone; };
      Solver solver(parse_solver(run.settings + " momentum: 0.9 random_seed: 3 net_param { " +
                                     data_layer(kGlobalBatch / shape.workers()) + kNet + "}",
                                 "ranks.prototxt"),
                    options);
      solver.on_iteration = [&](int now, double, double) { iteration = now + 1; };
      solver.on_forward = [&](double loss) {
        if (me == 0) seen.losses.push_back(loss);
        ++seen.passes[static_cast<size_t>(me)];
        if (me == run.slowed) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      };
      solver.step(run.iterations);
      solver.finish_updates();
      seen.iterations[static_cast<size_t>(me)] = solver.state().iter;
    };
    run_thread_ranks(shape.workers() + shape.servers, body, 1);
    return seen;
  }
};

TEST_F(ServersApart, TheWorkOfASlowGroupIsDoneByOthers) {
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{3, 1, 2}, Shape{2, 2, 1}}) {
    const Seen seen = train_apart(shape, {.ddl = "-max_staleness 3", .iterations = 20, .slowed = shape.workers() - 1});
    const int fast = seen.passes.front(), slow = seen.passes.back();
    EXPECT_GT(fast, slow);
    // Each part of each global batch once.
    EXPECT_EQ(std::accumulate(seen.passes.begin(), seen.passes.end(), 0), 20 * shape.workers());
    EXPECT_EQ(seen.iterations, std::vector<int>(seen.iterations.size(), 20));
  }
  const SimNccl gpus("4:16M", "", false);
  const Seen on_gpus = train_apart({3, 1, 1}, {.ddl = "-max_staleness 3", .iterations = 20, .slowed = 2, .gpus = true});
  EXPECT_GT(on_gpus.passes.front(), on_gpus.passes.back());
  EXPECT_EQ(on_gpus.iterations, (std::vector<int>{20, 20, 20, 20}));
  const Seen in_step = train_apart({3, 1, 1}, {.ddl = "", .iterations = 20, .slowed = 2});
  EXPECT_EQ(in_step.passes, (std::vector<int>{20, 20, 20}));
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
    EXPECT_LT(mean(seen.losses.size() - 10), 0.7 * mean(0)) << more;
  }
}

TEST_F(ServersApart, AllEndInTheIterationThatOneVoteAskedFor) {
  for (const int staleness : {0, 1, 3}) {
    const Seen seen = train_apart(
        {3, 1, 2}, {.ddl = "-max_staleness " + std::to_string(staleness), .iterations = 40, .stop_at = 5, .slowed = 2});
    EXPECT_EQ(seen.iterations, std::vector<int>(seen.iterations.size(), seen.iterations[0]));
    EXPECT_GE(seen.iterations[0], 6);
    EXPECT_LE(seen.iterations[0], 6 + 2 * (staleness + 1));
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

/// Groups of any speeds: nobody's gradients are later than the bound, and somebody is always served.
TEST(Turns, NoGradientIsLaterThanAllowed) {
  for (const int groups : {1, 2, 3, 5}) {
    for (const int staleness : {1, 2, 6}) {
      Turns turns(groups, staleness);
      turns.begin(0);
      std::vector<int> speed, waiting;
      for (int g = 0; g < groups; ++g) speed.push_back(g == 0 ? 50 : 1 + g);
      std::vector<int64_t> ready(speed.begin(), speed.end());
      int64_t latest = 0;
      for (int64_t now = 0, taken = 0; taken < 500; ++now) {
        ASSERT_LT(now, 30000) << groups << ", " << staleness;
        for (int g = 0; g < groups; ++g) {
          if (ready[static_cast<size_t>(g)] == now) waiting.push_back(g);
        }
        for (int g = turns.next(waiting); g >= 0; g = turns.next(waiting), ++taken) {
          latest = std::max(latest, turns.late(g));
          turns.take(g, {});
          std::erase(waiting, g);
          ready[static_cast<size_t>(g)] = now + speed[static_cast<size_t>(g)];
        }
      }
      EXPECT_EQ(latest, groups == 1 ? 0 : (staleness + 1) * groups - 1) << groups << ", " << staleness;
    }
  }
}

TEST(Turns, FastGroupsTakeMoreTicketsAndAllOfThemAreTaken) {
  Turns turns(3, 3);
  turns.begin(7);
  EXPECT_EQ(turns.take(0, {}).ticket, 24);
  EXPECT_EQ(turns.take(1, {}).ticket, 25);
  EXPECT_EQ(turns.take(0, {}).ticket, 26);
  EXPECT_FALSE(turns.is_complete(7));  // group 2 has a ticket of it
  EXPECT_EQ(turns.take(2, {}).ticket, 27);
  EXPECT_TRUE(turns.is_complete(7));
  EXPECT_FALSE(turns.is_complete(8));
  turns.take(1, {}), turns.take(0, {});
  EXPECT_TRUE(turns.is_complete(8));
}

/// The iteration of the newest ticket is the first whose end nobody passes without having heard.
TEST(Turns, AVoteHoldsForAnIterationBeforeWhoseEndAllHearOfIt) {
  Turns turns(2, 3);
  const Votes stop{.loss = 1, .stop = 1};
  turns.begin(0);
  turns.take(0, {});
  EXPECT_EQ(turns.take(0, {}).meeting, -1);
  const Answer told = turns.take(1, stop);  // tickets up to 3, of iteration 1, are with somebody
  EXPECT_EQ(told.meeting, 1);
  EXPECT_EQ(told.asked.stop, 1);
  EXPECT_EQ(told.votes.stop, 0);
  EXPECT_EQ(told.votes.loss, 1);
  // What is asked for meanwhile comes after it.
  EXPECT_EQ(turns.take(0, {.snapshot = 1}).asked.snapshot, 0);
  EXPECT_EQ(turns.end(0).stop, 0);
  EXPECT_TRUE(turns.is_complete(0));
  turns.take(1, {});
  EXPECT_TRUE(turns.is_complete(1));
  EXPECT_EQ(turns.end(1).stop, 1);
  const Answer later = turns.take(1, {});
  EXPECT_EQ(later.asked.snapshot, 1);
  EXPECT_EQ(later.asked.stop, 0);
  EXPECT_GT(later.meeting, 1);
}

TEST(Delay, MovesGradientsByTheirSquares) {
  // Of three ranks, whose means are 2, -1 and 0.
  std::vector<double> sums{6, -3, 0};
  const std::vector<double> now{1.5, 2, 9}, then{1, 4, 1};
  compensate_delay<double>(sums, now, then, 0.1, 3);
  EXPECT_DOUBLE_EQ(sums[0], 3 * (2 + 0.1 * 4 * 0.5));
  EXPECT_DOUBLE_EQ(sums[1], 3 * (-1 + 0.1 * 1 * -2));
  EXPECT_EQ(sums[2], 0);
}

TEST(Delay, ComesCloserToTheGradientOfNow) {
  // Of log(1 + exp(-w)), for which the square of the gradient is the second derivative in the mean of labels.
  const auto gradient = [](double w) { return -1 / (1 + std::exp(w)); };
  const std::vector<double> then{0.2}, now{0.5};
  std::vector<double> moved{gradient(then[0])};
  compensate_delay<double>(moved, now, then, 1, 1);
  EXPECT_LT(std::abs(moved[0] - gradient(now[0])), std::abs(gradient(then[0]) - gradient(now[0])) / 2);
}

TEST(Staleness, SaysHowLateGradientsCame) {
  Staleness staleness;
  EXPECT_EQ(staleness.describe(), "");
  for (const int late : {0, 1, 4}) staleness.add(late);
  EXPECT_EQ(staleness.describe(), "on average 1.67, at most 4");
}

}  // namespace
}  // namespace robusta::test::servers_test
