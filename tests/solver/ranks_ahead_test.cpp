// Ranks on GPUs enqueue backward and its sums before they wait for the loss, and the next forward pass begins with the
// update: the same bits, one launch, and an iteration in which a rank fails changes nothing on any.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "comm/thread_ranks.h"
#include "device/gpus.h"
#include "device/sim/sim_device.h"
#include "robusta/error.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::ranks_ahead_test {
namespace {

constexpr int kIterations = 8;

class RanksAhead : public testing::Test {
 protected:
  void SetUp() override {
    if (!SimNccl::is_there()) GTEST_SKIP() << "no fake NCCL";
  }
};

struct Job {
  int ranks = 2;
  std::string mode = "n";
  std::string settings = "momentum: 0.9 weight_decay: 0.01";
  int at_once = kIterations;  ///< so many iterations without anybody who may look at weights between
  bool graphs = true;
};

std::string ddl_of(const Job& job) {
  return "-mode " + job.mode + ":" + std::to_string(job.ranks) + " -bucket_mb 0.0001 -check_iter 4";
}

std::unique_ptr<Solver> made(const Job& job, SolverOptions options) {
  SolverDef def = toy_def(job.settings);
  if (contains(job.settings, "plateau")) def.param.set_lr_policy("plateau");
  return std::make_unique<Solver>(std::move(def), std::move(options));
}

/// On fake GPUs, by rank 0.
std::vector<float> trained(const Job& job) {
  std::vector<float> values;
  run_thread_ranks(job.ranks, [&](Communicator& world) {
    const std::shared_ptr<Device> device = open_gpu(world.rank());
    device->set_graphs(job.graphs);
    Ranks ranks(world, parse_ddl_options(ddl_of(job)));
    SolverOptions options;
    options.device = device.get();
    options.ranks = &ranks;
    options.batch = 8 / job.ranks;
    const auto solver = made(job, options);
    for (int i = 0; i < kIterations; i += job.at_once) solver->step(job.at_once);
    solver->finish_updates();
    if (world.rank() == 0) values = everything(*solver);
  });
  return values;
}

/// Buckets that are updated one by one, as their sums come.
std::vector<float> trained_on_the_host(const Job& job) {
  std::vector<float> values;
  run_thread_ranks(job.ranks, [&](Communicator& world) {
    Ranks ranks(world, parse_ddl_options(ddl_of(job)));
    SolverOptions options;
    options.ranks = &ranks;
    options.batch = 8 / job.ranks;
    const auto solver = made(job, options);
    solver->step(kIterations);
    solver->finish_updates();
    if (world.rank() == 0) values = everything(*solver);
  });
  return values;
}

const char* const kSettings[] = {"momentum: 0.9 weight_decay: 0.01",
                                 "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-3",
                                 "momentum: 0.9 iter_size: 3",
                                 "momentum: 0.9 clip_gradients: 0.1",
                                 "momentum: 0.9 ema_decay: 0.9",
                                 "momentum: 0.9 larc: true larc_eta: 0.1",
                                 "momentum: 0.9 test_iter: 1 test_interval: 3 test_initialization: false",
                                 "momentum: 0.9 gamma: 0.5 plateau_winsize: 2"};

TEST_F(RanksAhead, HaveTheBitsOfUpdatesAtOnce) {
  for (const int ranks : {2, 4}) {
    const SimNccl gpus(std::to_string(ranks) + ":16M:emulated");
    for (const char* const settings : kSettings) {
      const std::vector<float> one_by_one = trained({.ranks = ranks, .settings = settings, .at_once = 1});
      for (const bool graphs : {true, false}) {
        EXPECT_EQ(trained({.ranks = ranks, .settings = settings, .graphs = graphs}), one_by_one) << settings << graphs;
      }
      if (ranks == 2) {
        EXPECT_EQ(trained({.mode = "r", .settings = settings}), one_by_one) << settings;
      }
    }
  }
}

/// The same kernels on the host update bucket by bucket.
TEST_F(RanksAhead, HaveTheBitsOfTheHost) {
  const SimNccl gpus("2:16M");
  for (const char* const settings : kSettings) {
    const Job job{.settings = settings};
    EXPECT_EQ(trained(job), trained_on_the_host(job)) << settings;
  }
}

/// Whoever looks between sees what has been updated by then.
TEST_F(RanksAhead, ShowTestsAndSnapshotsTheirUpdates) {
  const TempDir folder;
  const SimNccl gpus("2:16M:emulated");
  std::vector<double> losses[2];
  for (const int at_once : {1, kIterations}) {
    const std::string prefix = folder / std::to_string(at_once);
    run_thread_ranks(2, [&](Communicator& world) {
      const std::shared_ptr<Device> device = open_gpu(world.rank());
      Ranks ranks(world, parse_ddl_options("-mode n:2 -bucket_mb 0.0001"));
      SolverOptions options;
      options.device = device.get();
      options.ranks = &ranks;
      options.batch = 4;
      const auto solver =
          toy("momentum: 0.9 test_iter: 2 test_interval: 3 snapshot: 3 snapshot_prefix: '" + prefix + "'", options);
      // Each rank is a thread here, and all hear of the scores.
      solver->on_test = [&](int, const std::vector<OutputBlob>& scores) {
        if (world.rank() > 0) return;
        for (const OutputBlob& score : scores) losses[at_once > 1].push_back(score.values[0]);
      };
      for (int i = 0; i < kIterations; i += at_once) solver->step(at_once);
    });
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_GT(losses[0].size(), 2u);
  for (const char* file : {"_iter_3.caffemodel", "_iter_6.caffemodel"}) {
    const std::string one = read_file(folder / (std::string("1") + file));
    EXPECT_FALSE(one.empty());
    EXPECT_EQ(one, read_file(folder / (std::to_string(kIterations) + file))) << file;
  }
}

/// What rank 0 does in iterations of a training in which nothing more is loaded or recorded.
struct Steady {
  uint64_t kernels = 0, waits = 0, synchronizations = 0;
  bool all_but_the_last = true;  ///< sums were begun, in each iteration, when it knew its loss
};

Steady steady(int iterations) {
  Steady found;
  run_thread_ranks(2, [&](Communicator& world) {
    const std::shared_ptr<Device> opened = open_gpu(world.rank());
    auto& device = dynamic_cast<SimDevice&>(*opened);
    Ranks ranks(world, parse_ddl_options("-mode n:2 -bucket_mb 0.0001"));
    SolverOptions options;
    options.device = &device;
    options.ranks = &ranks;
    options.batch = 4;
    const auto solver = toy("momentum: 0.9 max_iter: 100", options);
    solver->step(4);
    solver->train_net().stream().synchronize();
    const Steady before{device.kernels(), device.host_waits(), device.synchronizations()};
    bool begun = true;
    BucketReducer& reducer = solver->ranked_update()->reducer();
    const BucketId last = reducer.sums().last_sum();
    ASSERT_GT(last, BucketId(0));
    solver->on_forward = [&](double) {
      // Of the last round all are summed.
      begun = begun && reducer.first_open() <= last;
      while (begun && reducer.first_open() < last) std::this_thread::yield();
    };
    solver->step(iterations);
    const uint64_t waits = device.host_waits(), synchronizations = device.synchronizations();
    solver->train_net().stream().synchronize();
    if (world.rank() > 0) return;
    found = {device.kernels() - before.kernels, waits - before.waits, synchronizations - before.synchronizations,
             begun};
  });
  return found;
}

/// The table is told to rest where an iteration has no update before it, and that takes a launch, too.
TEST_F(RanksAhead, UpdateAllInOneLaunch) {
  const SimNccl gpus("2:16M:emulated");
  const uint64_t one = steady(1).kernels, six = steady(6).kernels, seven = steady(7).kernels;
  EXPECT_EQ(seven - six, one - 1);
  EXPECT_EQ(six - 1, 6 * (one - 1));
}

TEST_F(RanksAhead, WaitForTheirLossAloneWhenBackwardIsEnqueued) {
  const SimNccl gpus("2:16M:emulated");
  const Steady five = steady(5);
  EXPECT_EQ(five.synchronizations, 0u);
  EXPECT_EQ(five.waits, 5u);
  EXPECT_TRUE(five.all_but_the_last);
}

const std::string kSamples = R"(base_lr: 0.02 lr_policy: 'fixed' random_seed: 3 momentum: 0.9 max_iter: 100 net_param {
  name: "n"
  layer { name: "data" type: "MemoryData" top: "data" top: "label"
    memory_data_param { batch_size: 4 channels: 6 height: 1 width: 1 } }
  layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
    inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
  layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
    inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss"
    loss_param { normalization: BATCH_SIZE } } })";

/// Of a rank that trains, and may meet samples that make it fail.
class Trainee {
 public:
  Trainee(Communicator& world, const std::string& mode, const std::string& settings = "")
      : device_(open_gpu(world.rank())), ranks_(world, parse_ddl_options("-bucket_mb 0.0001 -mode " + mode)) {
    SolverOptions options;
    options.device = device_.get();
    options.ranks = &ranks_;
    solver_ = std::make_unique<Solver>(parse_solver(settings + kSamples, "samples.prototxt"), std::move(options));
    give(1);
  }

  /// `label`: of every third sample; others have 0 and 2.
  void give(float label, float value = 1) {
    for (size_t i = 0; i < kCount * 6; ++i) data_[i] = value * static_cast<float>(i % 7) - 2;
    for (size_t i = 0; i < kCount; ++i) labels_[i] = i % 3 == 1 ? label : static_cast<float>(i % 3);
    solver_->train_net().set_samples("data", data_, labels_);
  }
  Ranks& ranks() { return ranks_; }
  Solver& solver() { return *solver_; }

 private:
  static constexpr size_t kCount = 16;
  std::shared_ptr<Device> device_;
  Ranks ranks_;
  std::unique_ptr<Solver> solver_;
  std::vector<float> data_ = std::vector<float>(kCount * 6), labels_ = std::vector<float>(kCount);
};

/// Rank 1 fails in the iteration that comes after `before` others.
void expect_to_end_together(const std::string& mode, const std::string& settings, int before) {
  run_thread_ranks(2, [&](Communicator& world) {
    Trainee one(world, mode, settings);
    one.solver().step(before);
    const std::vector<float> weights = everything(one.solver());
    if (world.rank() == 1) one.give(9);
    std::optional<Error> own;
    std::optional<EndedByPeer> peer;
    try {
      one.solver().step(3);
    } catch (const Error& error) {
      own = error;
    } catch (const EndedByPeer& error) {
      peer = error;
    }
    ASSERT_EQ(own.has_value(), world.rank() == 1) << mode << before;
    ASSERT_EQ(peer.has_value(), world.rank() == 0) << mode << before;
    if (own) {
      EXPECT_EQ(own->kind(), ErrorKind::kData);
      EXPECT_EQ(own->layer(), "loss");
      EXPECT_TRUE(contains(own->what(), "samples.prototxt:")) << own->what();
    } else {
      EXPECT_EQ(peer->exit_code(), static_cast<int>(ErrorKind::kData));
      EXPECT_EQ(peer->rank(), 1);
      EXPECT_TRUE(contains(peer->what(), "layer \"loss\"")) << peer->what();
    }
    EXPECT_TRUE(one.ranks().failed_together());
    one.solver().finish_updates();
    EXPECT_EQ(everything(one.solver()), weights) << mode << before;
  });
}

/// In an iteration that begins with the update of the last one, and in the very first one.
TEST_F(RanksAhead, EndTogetherWhenOneFails) {
  for (const char* const kernels : {"", ":emulated"}) {
    for (const char* const mode : {"n:2", "r:2"}) {
      for (const int before : {0, 1, 5}) {
        const SimNccl gpus(std::string("2:16M") + kernels);
        expect_to_end_together(mode, "", before);
      }
    }
  }
}

/// All batches of the iteration fail there, the first one before any gradient is promised.
TEST_F(RanksAhead, EndTogetherWhenOneFailsInTheFirstOfTwoBatches) {
  const SimNccl gpus("2:16M:emulated");
  for (const int before : {0, 3}) expect_to_end_together("n:2", "iter_size: 2 ", before);
}

/// What a program throws while the last sum waits for the votes comes out, and nobody waits for that sum any more.
TEST_F(RanksAhead, AnErrorBeforeTheVotesEndsTheRound) {
  for (const char* const buckets : {"n:2", "n:2 -bucket_mb 1"}) {
    const SimNccl gpus("2:16M:emulated");
    run_thread_ranks(2, [&](Communicator& world) {
      Trainee one(world, buckets);
      one.solver().step(3);
      const std::vector<float> weights = everything(one.solver());
      one.solver().on_forward = [](double) { throw std::runtime_error("enough"); };
      EXPECT_THROW(one.solver().step(1), std::runtime_error);
      one.solver().finish_updates();
      EXPECT_EQ(everything(one.solver()), weights);
    });
  }
}

/// Who goes on has lost nothing, neither the update that the failed iteration began with.
TEST_F(RanksAhead, GoOnFromWhereTheyWere) {
  const SimNccl gpus("2:16M:emulated");
  std::vector<float> values[2];
  for (const bool fails : {false, true}) {
    run_thread_ranks(2, [&](Communicator& world) {
      Trainee one(world, "n:2");
      int iterations = 0;
      one.solver().on_forward = [&](double) {
        // The batch of the next pass is made ready behind this.
        if (++iterations == 4 && fails && world.rank() == 1) one.give(9);
      };
      try {
        one.solver().step(8);
        EXPECT_FALSE(fails);
      } catch (const std::exception&) {
        EXPECT_TRUE(fails);
        EXPECT_EQ(one.solver().state().iter, 4);
        one.give(1);
        one.ranks().recover();
        one.solver().step(4);
      }
      one.solver().finish_updates();
      if (world.rank() == 0) values[fails] = everything(one.solver());
    });
  }
  EXPECT_EQ(values[0], values[1]);
}

TEST_F(RanksAhead, AnInfiniteLossChangesNothing) {
  const SimNccl gpus("2:16M:emulated");
  run_thread_ranks(2, [&](Communicator& world) {
    Trainee one(world, "n:2");
    one.solver().step(4);
    const std::vector<float> weights = everything(one.solver());
    if (world.rank() == 0) one.give(1, 3e38f);
    ErrorKind kind = ErrorKind::kUsage;
    try {
      one.solver().step(2);
    } catch (const Error& error) {
      kind = error.kind();
    } catch (const EndedByPeer& error) {
      kind = static_cast<ErrorKind>(error.exit_code());
    }
    EXPECT_EQ(kind, ErrorKind::kNumeric);
    EXPECT_EQ(everything(one.solver()), weights);
  });
}

}  // namespace
}  // namespace robusta::test::ranks_ahead_test
