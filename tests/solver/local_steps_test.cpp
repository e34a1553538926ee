// -sync_every: groups of ranks that train by themselves, and the averages of their weights.
#include <mutex>

#include "net/run/arrays.h"
#include "solver/ranked_training.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::local_steps_test {
namespace {

const std::string kNet = kConv + kDropped + loss_layer();
/// Every update is made within its iteration.
const std::string kHolds = kFixed + "clip_gradients: 1e6 ";

using Weights = std::vector<float>;

Weights weights_of(Solver& solver) {
  Weights all;
  for (const ParamPtr& param : solver.train_net().params()) {
    const Weights values = read_array(solver.train_net().stream(), param->tensor());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Weights mean_of(const std::vector<Weights>& of_ranks) {
  Weights mean(of_ranks[0].size());
  for (const Weights& values : of_ranks) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += values[i] / static_cast<float>(of_ranks.size());
  }
  return mean;
}

double largest_difference(const Weights& a, const Weights& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max<double>(largest, std::abs(a[i] - b[i]));
  return largest;
}

class LocalSteps : public Training {
 protected:
  struct Local {
    std::string ddl, settings = kHolds;
    int iterations = 3, ranks = 4;
    bool settles_each = false;  ///< the weights are averaged after each iteration
    bool settles = false;       ///< after the last one
    int hosts = 1;
    bool gpus = false;
    bool bn = false;
  };

  /// The weights of each rank.
  static std::vector<Weights> train_locally(const Local& run) {
    std::vector<Weights> of_ranks(static_cast<size_t>(run.ranks));
    run_thread_ranks(
        run.ranks,
        [&](Communicator& world) {
          Ranks group(world, parse_ddl_options(run.ddl));
          const std::shared_ptr<Device> gpu = run.gpus ? open_gpu(world.rank()) : nullptr;
          SolverOptions options;
          if (gpu) options.device = gpu.get();
          options.ranks = &group;
          Solver solver(parse_solver(run.settings + " momentum: 0.9 weight_decay: 0.001 random_seed: 3 net_param { " +
                                         data_layer(kGlobalBatch / run.ranks) +
                                         (run.bn ? kConv + kNormed + loss_layer() : kNet) + "}",
                                     "ranks.prototxt"),
                        options);
          for (int i = 0; i < run.iterations; ++i) {
            solver.step(1);
            if (run.settles_each) solver.finish_updates();
          }
          if (run.settles) solver.finish_updates();
          of_ranks[static_cast<size_t>(world.rank())] = weights_of(solver);
        },
        run.hosts);
    return of_ranks;
  }
};

/// An update is linear in the gradient: the average of N updates is the update by the average gradient.
TEST_F(LocalSteps, AveragesAfterEachIterationAreSynchronousTraining) {
  for (const std::string& settings : {kFixed, kHolds}) {
    for (const std::string mode : {"b:1x4", "b:2x2"}) {
      const auto local =
          train_locally({.ddl = "-sync_every 1000 -mode " + mode, .settings = settings, .settles_each = true});
      const auto synchronous = train_locally({.ddl = "-mode " + mode, .settings = settings, .settles = true});
      for (size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(local[rank], local[0]);
        EXPECT_LT(largest_difference(local[rank], synchronous[0]), 1e-6) << mode << ", " << settings;
      }
    }
  }
}

TEST_F(LocalSteps, GroupsGoTheirOwnWaysUntilTheirWeightsAreAveraged) {
  for (const int hosts : {1, 2}) {
    const auto apart = train_locally({.ddl = "-sync_every 1000 -mode b:2x2", .hosts = hosts});
    const auto together = train_locally({.ddl = "-sync_every 3 -mode b:2x2", .settles = true, .hosts = hosts});
    // Those of a host, or by the rule of rank files ranks 0 and 2.
    const size_t peer = hosts == 1 ? 2 : 1, stranger = hosts == 1 ? 1 : 2;
    EXPECT_EQ(apart[peer], apart[0]);
    EXPECT_GT(largest_difference(apart[stranger], apart[0]), 1e-3);
    for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(together[rank], together[0]);
    EXPECT_LT(largest_difference(together[0], mean_of(apart)), 1e-6);
  }
}

/// Without holding back, the weights of a layer are waited for where the next forward reads them.
TEST_F(LocalSteps, UpdatesAndAveragesBesideBackwardAreTheSame) {
  for (const std::string ddl : {"-sync_every 2 -mode b:1x4", "-sync_every 3 -mode b:2x2 -bucket_mb 0.0001",
                                "-sync_every 2 -mode b:1x4 -slow_momentum 0.5"}) {
    Local run{.ddl = ddl, .settings = kFixed, .iterations = 7, .settles = true};
    const auto free = train_locally(run);
    run.settings = kHolds;
    EXPECT_EQ(free, train_locally(run)) << ddl;
  }
}

/// With u = (x0 - x1) / rate after the first average, the second ends at y - rate beta u.
TEST_F(LocalSteps, SlowMomentumGoesOnAsTheAveragesDid) {
  const std::string local = "-mode b:1x4 -sync_every 3", slow = local + " -slow_momentum 0.5";
  const Weights begin = train_locally({.ddl = local, .iterations = 0})[0];
  const Weights first = train_locally({.ddl = local, .settles = true})[0],
                second = train_locally({.ddl = local, .iterations = 6, .settles = true})[0];
  EXPECT_LT(largest_difference(train_locally({.ddl = slow, .settles = true})[0], first), 1e-6);
  Weights expected = second;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.5f * (begin[i] - first[i]);
  const Weights got = train_locally({.ddl = slow, .iterations = 6, .settles = true})[0];
  EXPECT_GT(largest_difference(got, second), 1e-3);
  EXPECT_LT(largest_difference(got, expected), 1e-5);
}

/// What kernels sum over ranks inside a step, they sum over their group.
TEST_F(LocalSteps, SumsInsideAStepAreThoseOfTheGroup) {
  const auto apart = train_locally({.ddl = "-sync_every 1000 -mode b:2x2", .bn = true});
  EXPECT_EQ(apart[2], apart[0]);
  EXPECT_GT(largest_difference(apart[1], apart[0]), 1e-3);
  const auto alone = train_locally({.ddl = "-sync_every 1000 -mode b:1x4", .bn = true});
  EXPECT_GT(largest_difference(alone[2], alone[0]), 1e-3);
}

TEST_F(LocalSteps, OnGpusHasTheSameWeights) {
  if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
  const SimNccl gpus("4:16M");
  for (const std::string ddl : {"-mode b:1x4 -sync_every 2 -slow_momentum 0.5", "-mode b:2x2 -sync_every 3"}) {
    Local run{.ddl = ddl, .settings = kFixed, .iterations = 7, .settles = true};
    const auto host = train_locally(run);
    run.gpus = true;
    const auto got = train_locally(run);
    for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(got[rank], got[0]);
    EXPECT_LT(largest_difference(got[0], host[0]), 1e-5);
  }
}

/// Tests and snapshots average, the state keeps what the next averages need: from there both go on alike.
TEST_F(LocalSteps, ResumesToTheSameBits) {
  for (const std::string ddl : {"-mode b:1x4 -sync_every 3 -slow_momentum 0.5", "-mode b:2x2 -sync_every 4"}) {
    const TempDir folder;
    const std::string settings =
        kFixed + "ema_decay: 0.9 test_iter: 2 test_interval: 4 snapshot: 5 snapshot_prefix: '" + (folder / "r") + "' ";
    Run whole{.settings = settings, .layers = test_data_layer() + kNet, .ranks = 4, .iterations = 11, .ddl = ddl};
    whole.dtype = DType::kF32;
    const Outcome straight = train(whole);
    Run rest = whole;
    rest.resume = folder / "r_iter_5.solverstate";
    rest.iterations = 6;
    EXPECT_EQ(train(rest).numbers, straight.numbers) << ddl;
  }
}

TEST_F(LocalSteps, ALossThatIsNotFiniteEndsAll) {
  for (const std::string mode : {"b:1x4", "b:2x2"}) {
    const Error error = error_of([&] {
      train({.settings = "base_lr: 1e30 lr_policy: 'fixed' ",
             .layers = kNet,
             .ranks = 4,
             .iterations = 20,
             .dtype = DType::kF32,
             .ddl = "-sync_every 100 -bucket_mb 0.0001 -mode " + mode});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric) << error.what();
  }
}

TEST_F(LocalSteps, RefusesWhatNeedsAllRanksInEachIteration) {
  const auto refusal = [](const std::string& settings, const std::string& ddl, int ranks = 2) {
    return error_of([&] { train({.settings = settings, .layers = kNet, .ranks = ranks, .ddl = ddl}); });
  };
  const Error plateau =
      refusal("base_lr: 0.1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 3 ", "-mode b:1x2 -sync_every 2");
  EXPECT_EQ(plateau.kind(), ErrorKind::kConfig) << plateau.what();
  EXPECT_TRUE(contains(plateau.what(), "ranks.prototxt:")) << plateau.what();
  const Error one_group = refusal(kFixed, "-sync_every 2 -mode b:2");
  EXPECT_EQ(one_group.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(one_group.fix(), "-mode b:1x2")) << one_group.what();
}

}  // namespace
}  // namespace robusta::test::local_steps_test
