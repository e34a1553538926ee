// -op adasum: gradients of all ranks combined pair by pair, as the paper's formula says.
#include <mutex>

#include "net/run/arrays.h"
#include "solver/ranked_training.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::adasum_test {
namespace {

const std::string kNet = kConv + kDropped + loss_layer();

/// Of each parameter.
using Arrays = std::vector<std::vector<double>>;

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Arrays adasum(const Arrays& a, const Arrays& b) {
  Arrays all = a;
  for (size_t p = 0; p < a.size(); ++p) {
    const double ab = product(a[p], b[p]), aa = product(a[p], a[p]), bb = product(b[p], b[p]);
    for (size_t i = 0; i < a[p].size(); ++i) all[p][i] = (1 - ab / (2 * aa)) * a[p][i] + (1 - ab / (2 * bb)) * b[p][i];
  }
  return all;
}

Arrays mean(const Arrays& a, const Arrays& b) {
  Arrays all = a;
  for (size_t p = 0; p < a.size(); ++p) {
    for (size_t i = 0; i < a[p].size(); ++i) all[p][i] = (a[p][i] + b[p][i]) / 2;
  }
  return all;
}

class AdasumTraining : public Training {
 protected:
  static Arrays values_of(Solver& solver, bool gradients) {
    Arrays all;
    for (const ParamPtr& param : solver.train_net().params()) {
      const auto values = read_array(solver.train_net().stream(), gradients ? param->gradient() : param->tensor());
      all.emplace_back(values.begin(), values.end());
    }
    return all;
  }

  struct Step {
    std::vector<Arrays> gradients;  ///< of each rank, as it has them before the update
    std::vector<Arrays> weights;    ///< after it
  };

  /// One iteration of plain descent, with a rate of 1.
  static Step step(const std::string& ddl, int ranks, int hosts = 1, int iterations = 1, bool gpus = false) {
    Step step{std::vector<Arrays>(static_cast<size_t>(ranks)), std::vector<Arrays>(static_cast<size_t>(ranks))};
    run_thread_ranks(
        ranks,
        [&](Communicator& world) {
          Ranks group(world, parse_ddl_options(ddl));
          const std::shared_ptr<Device> gpu = gpus ? open_gpu(world.rank()) : nullptr;
          SolverOptions options;
          if (gpu) options.device = gpu.get();
          options.ranks = &group;
          if (!gpus) options.dtype = DType::kF64;
          Solver solver(parse_solver("base_lr: 1 lr_policy: 'fixed' random_seed: 3 net_param { " +
                                         data_layer(kGlobalBatch / ranks) + kNet + "}",
                                     "ranks.prototxt"),
                        options);
          const auto rank = static_cast<size_t>(world.rank());
          solver.on_gradients = [&] { step.gradients[rank] = values_of(solver, true); };
          solver.step(iterations);
          solver.finish_updates();
          step.weights[rank] = values_of(solver, false);
        },
        hosts);
    return step;
  }

  /// Of the same step, what each rank has before it is combined with others.
  static std::vector<Arrays> gradients_of_ranks(int ranks) {
    return step("-sync_every 1000 -mode b:1x" + std::to_string(ranks), ranks).gradients;
  }

  static void expect_near(const Arrays& got, const Arrays& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t p = 0; p < got.size(); ++p) {
      ASSERT_EQ(got[p].size(), want[p].size());
      for (size_t i = 0; i < got[p].size(); ++i) ASSERT_NEAR(got[p][i], want[p][i], tolerance) << p << ", " << i;
    }
  }
};

TEST_F(AdasumTraining, CombinesPairsOfGroups) {
  const std::vector<Arrays> g = gradients_of_ranks(4);
  const Arrays flat = adasum(adasum(g[0], g[1]), adasum(g[2], g[3]));
  for (const std::string bucket : {"", " -bucket_mb 0.0001"}) {
    const Step got = step("-op adasum -mode b:1x4" + bucket, 4);
    for (size_t rank = 0; rank < 4; ++rank) {
      expect_near(got.gradients[rank], flat, 1e-6);
      EXPECT_EQ(got.weights[rank], got.weights[0]);
    }
  }
  const Arrays average = mean(mean(g[0], g[1]), mean(g[2], g[3]));
  EXPECT_GT(product(flat[0], flat[0]), 1.1 * product(average[0], average[0])) << "a mean would do";
}

/// The ranks of X are averaged first.
TEST_F(AdasumTraining, AveragesWithinAGroup) {
  const std::vector<Arrays> g = gradients_of_ranks(4);
  // On one host ranks 0 and 2 make a group, by the rule of rank files; else those of a host.
  expect_near(step("-op adasum -mode b:2x2", 4).gradients[0], adasum(mean(g[0], g[2]), mean(g[1], g[3])), 1e-6);
  const Step hosts = step("-op adasum -mode b:2x2", 4, 2);
  for (size_t rank = 0; rank < 4; ++rank) {
    expect_near(hosts.gradients[rank], adasum(mean(g[0], g[1]), mean(g[2], g[3])), 1e-6);
    EXPECT_EQ(hosts.weights[rank], hosts.weights[0]);
  }
  expect_near(step("-op adasum -mode b:4", 4).gradients[0], mean(mean(g[0], g[1]), mean(g[2], g[3])), 1e-6);
}

/// The update is by the combined gradient itself: nothing divides it by the number of ranks.
TEST_F(AdasumTraining, TheRateStays) {
  const Step before = step("-op adasum -mode b:1x4", 4, 1, 0), after = step("-op adasum -mode b:1x4", 4);
  Arrays expected = before.weights[0];
  for (size_t p = 0; p < expected.size(); ++p) {
    for (size_t i = 0; i < expected[p].size(); ++i) expected[p][i] -= after.gradients[0][p][i];
  }
  expect_near(after.weights[0], expected, 1e-6);
}

TEST_F(AdasumTraining, OnGpusIsTheSame) {
  if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
  const SimNccl gpus("4:16M");
  for (const std::string mode : {"b:1x4", "b:2x2"}) {
    const Step host = step("-op adasum -mode " + mode, 4), gpu = step("-op adasum -mode " + mode, 4, 1, 1, true);
    expect_near(gpu.weights[0], host.weights[0], 1e-4);
    for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(gpu.weights[rank], gpu.weights[0]);
  }
}

TEST_F(AdasumTraining, RefusesGroupsThatMakeNoPairs) {
  const Error error = error_of([] { step("-op adasum -mode b:1x3", 3); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(error.what(), "there are 3 of them")) << error.what();
}

}  // namespace
}  // namespace robusta::test::adasum_test
