// -shard states, and -shard gradients: each rank has histories, or gradients too, of its own elements alone, and
// nothing else is different.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/str.h"
#include "solver/loop/parted_state.h"
#include "solver/ranked_training.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test::sharded_test {
namespace {

const std::string kNet = kConv + kDropped + loss_layer(), kAdam = "base_lr: 0.01 lr_policy: 'fixed' type: 'Adam' ";

/// Eight layers, one after the other, from "conv" to "ip".
std::string deep(int outputs) {
  std::string layers, bottom = "conv";
  for (int i = 1; i <= 8; ++i) {
    const std::string name = i == 8 ? "ip" : str("ip", i);
    layers +=
        str("layer { name: '", name, "' type: 'InnerProduct' bottom: '", bottom, "' top: '", name,
            "' inner_product_param { num_output: ", i == 8 ? 4 : outputs, " weight_filler { type: 'xavier' } } } ");
    bottom = name;
  }
  return layers;
}

class Sharded : public Training, public testing::WithParamInterface<int> {
 protected:
  /// Sharded and not, by the same sums.
  static void expect_same_bits(Run run, const std::vector<std::string>& kinds = {"states", "gradients"}) {
    const Outcome whole = train(run);
    const std::string ddl = run.ddl;
    for (const std::string& kind : kinds) {
      run.ddl = ddl + " -shard " + kind;
      const Outcome sharded = train(run);
      EXPECT_EQ(sharded.tested, whole.tested) << run.settings << run.ddl;
      EXPECT_EQ(sharded.numbers, whole.numbers) << run.settings << run.ddl;
      // Whose order of summing may be another: they do not ride behind gradients.
      expect_same({sharded.losses, {}, {}}, {whole.losses, {}, {}}, 1e-6);
    }
  }
};

TEST_P(Sharded, EveryRuleHasTheSameBits) {
  for (const std::string type : {"SGD", "Nesterov", "Adam", "AdamW", "SAG"}) {
    expect_same_bits(
        {.settings = kSlow + "type: '" + type + "' ", .layers = kNet, .ranks = GetParam(), .dtype = DType::kF32});
  }
}

TEST_P(Sharded, BatchNormAndSubIterationsHaveTheSameBits) {
  const std::string net = kConv + kNormed + loss_layer();
  expect_same_bits({.settings = kAdam, .layers = net, .ranks = GetParam(), .dtype = DType::kF32});
  expect_same_bits({.settings = kAdam + "iter_size: 2 ", .layers = net, .ranks = GetParam(), .dtype = DType::kF32},
                   {"states"});
}

TEST_P(Sharded, GridsRingsAndSmallBucketsHaveTheSameBits) {
  const int ranks = GetParam();
  for (const std::string& ddl : {"-mode b:2x" + std::to_string(ranks / 2), "-mode r:" + std::to_string(ranks),
                                 std::string("-bucket_mb 0.0001")}) {
    for (const int hosts : {1, 2}) {
      expect_same_bits(
          {.settings = kAdam, .layers = kNet, .ranks = ranks, .dtype = DType::kF32, .ddl = ddl, .hosts = hosts});
      expect_same_bits({.settings = kAdam,
                        .layers = kConv + deep(30) + loss_layer(),
                        .ranks = ranks,
                        .dtype = DType::kF32,
                        .ddl = ddl,
                        .hosts = hosts});
    }
  }
}

/// Norms are sums over ranks: of the parts of each parameter, in another order than of the whole.
TEST_P(Sharded, NormsAreThoseOfAll) {
  const std::string larc = kFixed + "larc: true larc_eta: 0.1 ";
  for (const std::string& settings : {kFixed + "clip_gradients: 0.3 ", larc, larc + "clip_gradients: 0.3 ",
                                      kFixed + "local_lr_auto: true local_gw_ratio: 0.1 "}) {
    const Outcome one = train({.settings = settings, .layers = kNet, .ranks = 1});
    for (const std::string ddl : {"-shard states", "-shard gradients -bucket_mb 0.0001"})
      expect_same(train({.settings = settings, .layers = kNet, .ranks = GetParam(), .ddl = ddl}), one, 1e-6);
  }
}

TEST_P(Sharded, AParameterWithoutAGradientIsUpdatedByAll) {
  const std::string frozen = R"(
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' param { lr_mult: 0 } param { lr_mult: 0 }
    convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: 'msra' } } } )";
  expect_same_bits({.settings = kFixed + "clip_gradients: 0.3 ",
                    .layers = frozen + kDropped + loss_layer(),
                    .ranks = GetParam(),
                    .dtype = DType::kF32});
}

INSTANTIATE_TEST_SUITE_P(Numbers, Sharded, testing::Values(2, 4, 8));

class ShardedTraining : public Sharded {
 protected:
  /// The histories, one after the other.
  static ArrayMessage message_of(Updater& updater) {
    ArrayMessage message;
    for (const HistoryId id : updater.history_ids()) {
      message.add_blob(caffe::SolverState::kHistoryFieldNumber, {.shape = updater.history_param(id).desc.shape.dims(),
                                                                 .data = [&updater, id] { return updater.history(id); },
                                                                 .diff = nullptr});
    }
    return message;
  }
};

/// Whoever looks at gradients before the update sees those of all elements.
TEST_F(ShardedTraining, GradientsAreWholeForWhoeverLooks) {
  const auto gradients = [](const std::string& ddl) {
    std::mutex mutex;
    std::vector<std::vector<float>> seen(4);
    run_thread_ranks(4, [&](Communicator& world) {
      Ranks group(world, parse_ddl_options(ddl));
      SolverOptions options;
      options.ranks = &group;
      const auto solver = toy("momentum: 0.9", options);
      solver->on_gradients = [&] {
        for (const ParamPtr& param : solver->train_net().params()) {
          const auto values = param->gradient().as<const float>();
          const std::lock_guard lock(mutex);
          auto& mine = seen[static_cast<size_t>(world.rank())];
          mine.insert(mine.end(), values, values + param->desc.count());
        }
      };
      solver->step(3);
      solver->finish_updates();
    });
    return seen;
  };
  const auto sharded = gradients("-shard states");
  EXPECT_EQ(sharded, gradients(""));
  for (const auto& of_rank : sharded) EXPECT_EQ(of_rank, sharded[0]);
}

/// A rank keeps its share of the histories and of the average, up to what aligns the parts.
TEST_F(ShardedTraining, StatesTakeAShareOfTheMemory) {
  const auto bytes = [](const std::string& ddl) {
    std::atomic<size_t> most = 0;
    run_thread_ranks(4, [&](Communicator& world) {
      Ranks group(world, parse_ddl_options(ddl));
      SolverOptions options;
      options.ranks = &group;
      const std::string net = "net_param { " + data_layer(4) + kConv +
                              "layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' inner_product_param { "
                              "num_output: 4000 weight_filler { type: 'xavier' } } } " +
                              loss_layer() + "}";
      Solver solver(parse_solver(kAdam + "ema_decay: 0.9 momentum: 0.9 random_seed: 1 " + net, "toy"), options);
      size_t mine = solver.updater().state_bytes(), before = most;
      while (before < mine && !most.compare_exchange_weak(before, mine)) {}
    });
    return most.load();
  };
  EXPECT_EQ(bytes("-shard gradients"), bytes("-shard states"));
  const size_t whole = bytes(""), shared = bytes("-shard states");
  EXPECT_GT(whole, size_t{4} << 20);
  EXPECT_LT(shared, whole / 4 + (size_t{4} << 10));
}

/// Buckets lie where earlier ones lay: of eight layers of 160 KB, and a larger one, three at a time.
TEST_F(ShardedTraining, GradientsTakeTheMemoryOfAFewBuckets) {
  const auto bytes = [](const std::string& ddl) {
    std::atomic<size_t> of_root = 0;
    run_thread_ranks(4, [&](Communicator& world) {
      Ranks group(world, parse_ddl_options(ddl));
      SolverOptions options;
      options.ranks = &group;
      const std::string net = "net_param { " + data_layer(4) + kConv + deep(200) + loss_layer() + "}";
      Solver solver(parse_solver(kFixed + "random_seed: 1 " + net, "toy"), options);
      if (group.root()) of_root = solver.train_net().param_memory().gradient_bytes();
    });
    return of_root.load();
  };
  const size_t whole = bytes("-shard states -bucket_mb 0.1"), shared = bytes("-shard gradients -bucket_mb 0.1");
  EXPECT_GT(whole, size_t{1000} << 10);
  EXPECT_LT(shared, whole / 2);
}

/// A state is the same file with and without, and goes on with any number of ranks.
TEST_F(ShardedTraining, SnapshotsAreWholeAndResumeAnywhere) {
  const TempDir folder;
  const std::string settings = kAdam + "ema_decay: 0.9 snapshot_prefix: '" + (folder / "r") + "' ";
  Run first{.settings = settings, .layers = kNet, .ranks = 4, .dtype = DType::kF32, .ddl = "-shard states"};
  first.snapshot = true;
  train(first);
  const std::string state = folder / "r_iter_6.solverstate", sharded = read_file(state),
                    averaged = read_file(folder / "r_iter_6_ema.caffemodel");
  Run plain = first;
  for (const std::string ddl : {"-shard gradients -bucket_mb 0.0001", ""}) {
    plain.ddl = ddl;
    train(plain);
    EXPECT_EQ(read_file(state), sharded) << ddl;
    EXPECT_EQ(read_file(folder / "r_iter_6_ema.caffemodel"), averaged) << ddl;
  }

  const Outcome whole =
      train({.settings = settings, .layers = kNet, .ranks = 4, .iterations = 12, .dtype = DType::kF32});
  for (const std::string ddl : {"-shard states", "-shard gradients", ""}) {
    Run second = first;
    second.snapshot = false;
    second.resume = state;
    second.ddl = ddl;
    EXPECT_EQ(train(second).numbers, whole.numbers) << ddl;
    second.ranks = 2;
    expect_same({{}, train(second).numbers, {}}, {{}, whole.numbers, {}}, 1e-4);
  }
}

/// Each rank writes what it has; a format of another form is rank 0's alone.
TEST_F(ShardedTraining, AllRanksWriteTheState) {
  const TempDir folder;
  for (const std::string format : {"BINARYPROTO", "HDF5"}) {
    std::atomic<int> together = 0;
    run_thread_ranks(4, [&](Communicator& world) {
      Ranks group(world, parse_ddl_options("-shard states"));
      SolverOptions options;
      options.ranks = &group;
      const auto solver = toy("type: 'Adam'", options);
      solver->step(2);
      solver->finish_updates();
      Updater& updater = solver->updater();
      const bool is_message = format == "BINARYPROTO";
      const bool written = write_parted_state(group, updater, [&] {
        PartedState state{folder / "together", std::nullopt};
        if (is_message) state.message = message_of(updater);
        return state;
      });
      together += written ? 1 : 0;
      const TellingHistories whole(updater);
      if (is_message && group.root()) message_of(updater).write(folder / "alone");
    });
    EXPECT_EQ(together, format == "BINARYPROTO" ? 4 : 0);
  }
  EXPECT_GT(read_file(folder / "together").size(), 400);
  EXPECT_EQ(read_file(folder / "together"), read_file(folder / "alone"));
}

/// Where rank 0 cannot write, the others are not left with what they would hand over.
TEST_F(ShardedTraining, AStateThatCannotBeWrittenHoldsUpNobody) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "r_iter_2.solverstate");
  std::filesystem::create_directory(folder / "r_iter_2.solverstate/in_the_way");
  run_thread_ranks(4, [&](Communicator& world) {
    Ranks group(world, parse_ddl_options("-shard states"));
    SolverOptions options;
    options.ranks = &group;
    const auto solver = toy("type: 'Adam' snapshot: 2 snapshot_prefix: '" + (folder / "r") + "'", options);
    solver->step(4);
    solver->finish_updates();
  });
  EXPECT_FALSE(std::filesystem::is_regular_file(folder / "r_iter_2.solverstate"));
  EXPECT_TRUE(std::filesystem::exists(folder / "r_iter_4.solverstate")) << "tried again";
}

/// The average is tested, and exchanged, on all ranks together.
TEST_F(ShardedTraining, AveragedWeightsAreTestedAsWithout) {
  const std::string settings = kAdam + "ema_decay: 0.9 test_iter: 5 test_interval: 2 ";
  expect_same_bits({.settings = settings, .layers = test_data_layer() + kNet, .ranks = 4, .dtype = DType::kF32});
}

TEST_F(ShardedTraining, EightBitsKeepWhatTheyLeaveOut) {
  const Outcome exact = train(kFixed, kNet, 4, 6, DType::kF32, "-shard states", 2),
                rounded = train(kFixed, kNet, 4, 6, DType::kF32, "-shard states -compress int8", 2);
  EXPECT_NE(rounded.numbers, exact.numbers);
  expect_same({{}, rounded.numbers, {}}, {{}, exact.numbers, {}}, 2e-2);
}

/// By way of host memory, as a ring is.
TEST_F(ShardedTraining, OnGpusHasTheBitsOfTheSameRing) {
  if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
  const SimNccl gpus("4:16M");
  const std::string net = kConv + deep(30) + loss_layer(), settings = kAdam + "ema_decay: 0.9 ";
  expect_same_bits(
      {.settings = settings, .layers = net, .ranks = 4, .ddl = "-mode r:4 -bucket_mb 0.0001", .gpus = true});
  for (const std::string kind : {"states", "gradients"}) {
    const std::string ddl = "-mode b:2x2 -shard " + kind;
    expect_same(train({.settings = kFixed, .layers = net, .ranks = 4, .ddl = ddl, .gpus = true}), train(kFixed, net, 1),
                1e-6);
  }
}

/// A rank that is done with its training may not leave the others without the weights that it has updated.
TEST_F(ShardedTraining, WeightsArriveThoughNobodyAsksForThem) {
  for (int round = 0; round < 20; ++round) {
    run_thread_ranks(4, [&](Communicator& world) {
      const std::string kind = round % 2 == 0 ? "states" : "gradients";
      Ranks group(world, parse_ddl_options("-bucket_mb 0.0001 -shard " + kind));
      SolverOptions options;
      options.ranks = &group;
      const auto solver = toy("momentum: 0.9", options);
      solver->step(2);
      if (world.rank() == round % 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
}

TEST_F(ShardedTraining, ALossThatIsNotFiniteEndsAll) {
  for (int round = 0; round < 5; ++round) {
    const Error error = error_of([&] {
      train({.settings = "base_lr: 1e30 lr_policy: 'fixed' ",
             .layers = kNet,
             .ranks = 4,
             .dtype = DType::kF32,
             .ddl = str("-bucket_mb 0.0001 -shard ", round % 2 == 0 ? "states" : "gradients")});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric) << error.what();
  }
}

TEST_F(ShardedTraining, RefusesWhatWantsWholeParameters) {
  const auto refusal = [](const std::string& settings, const std::string& ddl) {
    return error_of([&] { train({.settings = settings, .layers = kNet, .ranks = 2, .ddl = ddl}); });
  };
  const Error lamb = refusal(kFixed + "type: 'LAMB' ", "-shard states");
  EXPECT_EQ(lamb.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(lamb.what(), "-shard with solver type LAMB")) << lamb.what();
  const Error diff = refusal(kFixed + "snapshot_diff: true ", "-shard states");
  EXPECT_TRUE(contains(diff.what(), "-shard with snapshot_diff")) << diff.what();
  const Error again = refusal(kFixed + "iter_size: 2 ", "-shard gradients");
  EXPECT_EQ(again.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(again.what(), "-shard gradients with iter_size 2")) << again.what();
  const Error debug = refusal(kFixed + "debug_info: true display: 1 ", "-shard gradients");
  EXPECT_TRUE(contains(debug.what(), "-shard gradients with debug_info")) << debug.what();
  const Error eight = error_of([] { parse_ddl_options("-shard gradients -compress int8"); });
  EXPECT_TRUE(contains(eight.what(), "reuses the memory of gradients")) << eight.what();
  const Error library = refusal(kFixed, "-shard states -mode m:2");
  EXPECT_EQ(library.kind(), ErrorKind::kUsage);
  EXPECT_TRUE(contains(library.what(), "sums in two halves")) << library.what();
}

}  // namespace
}  // namespace robusta::test::sharded_test
