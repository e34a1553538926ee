#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>

#include "solver/ranked_training.h"
#include "support/errors.h"
#include "support/nccl/sim_nccl.h"

namespace robusta::test {
namespace {

class ManyRanks : public Training, public testing::WithParamInterface<int> {};

TEST_P(ManyRanks, WithDropoutCropAndMirrorEqualOneRankWithTheGlobalBatch) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed, net, GetParam()), train(kFixed, net, 1), 1e-6);
}

TEST_P(ManyRanks, WithSynchronisedBatchNormEqualOneRank) {
  const std::string net = kConv + kNormed + loss_layer();
  expect_same(train(kFixed, net, GetParam()), train(kFixed, net, 1), 1e-6);
}

/// Adam's histories move with the statistics that an iteration leaves, though no gradient reaches these.
TEST_P(ManyRanks, HistoriesOfStatisticsEqualThoseOfOneRank) {
  const std::string net = kConv + kNormed + loss_layer(), settings = kSlow + "type: 'Adam' delta: 1e-3 iter_size: 2 ";
  expect_same(train(settings, net, GetParam()), train(settings, net, 1), 1e-6);
}

TEST_P(ManyRanks, WithIgnoredLabelsEqualOneRank) {
  const std::string net = kConv + kDropped + loss_layer("ignore_label: " + std::to_string(kIgnored));
  expect_same(train(kFixed, net, GetParam()), train(kFixed, net, 1), 1e-6);
}

TEST_P(ManyRanks, WithoutNormalisationEqualOneRank) {
  const std::string net = kConv + kDropped + loss_layer("normalization: NONE");
  expect_same(train(kSlow, net, GetParam()), train(kSlow, net, 1), 1e-5);
}

TEST_P(ManyRanks, ClippingSeesTheAverage) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed + "clip_gradients: 0.3", net, GetParam()), train(kFixed + "clip_gradients: 0.3", net, 1),
              1e-6);
}

TEST_P(ManyRanks, DisabledUpdatesLeaveEverything) {
  const std::string net = kConv + kDropped + loss_layer(), settings = kFixed + "disabled_update: true ";
  EXPECT_EQ(train(settings, net, GetParam()).numbers, train(settings, net, GetParam(), 1).numbers);
}

TEST_P(ManyRanks, DecoupledDecayEqualsOneRank) {
  const std::string net = kConv + kDropped + loss_layer(), settings = kFixed + "regularization_type: 'WD' ";
  expect_same(train(settings, net, GetParam()), train(settings, net, 1), 1e-6);
}

TEST_P(ManyRanks, LambSeesTheAverage) {
  const std::string net = kConv + kDropped + loss_layer(), settings = kSlow + "type: 'LAMB' delta: 1e-3 ";
  expect_same(train(settings, net, GetParam()), train(settings, net, 1), 1e-6);
}

TEST_P(ManyRanks, LarcSeesTheAverage) {
  const std::string net = kConv + kDropped + loss_layer(), larc = kFixed + "larc: true larc_eta: 0.1 ";
  for (const std::string policy : {"larc_policy: 'clip'", "iter_size: 2 clip_gradients: 0.3"}) {
    expect_same(train(larc + policy, net, GetParam()), train(larc + policy, net, 1), 1e-6);
  }
}

TEST_P(ManyRanks, ReduceOnceForSeveralSubIterations) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed + "iter_size: 3", net, GetParam()), train(kFixed + "iter_size: 3", net, 1), 1e-6);
}

TEST_P(ManyRanks, PlateauSeesTheLossOfAll) {
  const std::string settings = "base_lr: 0.05 lr_policy: 'plateau' gamma: 0.1 plateau_winsize: 2 plateau_winsize: 2";
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(settings, net, GetParam(), 12), train(settings, net, 1, 12), 1e-6);
}

TEST_P(ManyRanks, InSinglePrecisionWithFastKernelsAreClose) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed, net, GetParam(), 6, DType::kF32), train(kFixed, net, 1, 6, DType::kF32), 1e-4);
}

TEST_P(ManyRanks, GiveTheSameBitsAgain) {
  const std::string net = kConv + kNormed + loss_layer();
  const Outcome first = train(kFixed, net, GetParam(), 6, DType::kF32),
                second = train(kFixed, net, GetParam(), 6, DType::kF32);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.numbers, second.numbers);
}

INSTANTIATE_TEST_SUITE_P(Numbers, ManyRanks, testing::Values(2, 4, 8));

TEST_F(Training, SmallBucketsChangeNothing) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed, net, 4, 6, DType::kF64, "-mode r:4 -bucket_mb 0.0001"), train(kFixed, net, 1), 1e-6);
}

TEST_F(Training, TwoDimensionsOverTwoHostsChangeNothing) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed, net, 4, 6, DType::kF64, "-mode b:2x2", 2), train(kFixed, net, 1), 1e-6);
}

TEST_F(Training, ByNcclEqualsOneRankWithTheGlobalBatch) {
  if (!SimNccl::is_there()) GTEST_SKIP() << "no " << fake_nccl();
  const SimNccl gpus("4:16M");
  const std::string net = kConv + kNormed + loss_layer();
  const Outcome alone = train(kFixed, net, 1);
  const Run two{.settings = kFixed, .layers = net, .ranks = 2, .ddl = "-bucket_mb 0.0001", .gpus = true};
  expect_same(train(two), alone, 1e-6);
  const Run four{.settings = kFixed, .layers = net, .ranks = 4, .ddl = "-mode n:4", .gpus = true};
  expect_same(train(four), alone, 1e-6);
  const Run mixed{
      .settings = kFixed, .layers = net, .ranks = 4, .ddl = "-mode b:2x2 -compress fp16", .hosts = 1, .gpus = true};
  expect_same(train(mixed), alone, 1e-6);
}

/// The first loss is from before any gradient was rounded; it rides behind the gradients.
TEST_F(Training, CompressionSparesTheLoss) {
  const std::string net = kConv + kDropped + loss_layer();
  const double want = train(kFixed, net, 1, 1, DType::kF32).losses.at(0);
  for (const std::string format : {"bf16", "fp16", "int8"}) {
    const double got = train(kFixed, net, 4, 1, DType::kF32, "-compress " + format, 2).losses.at(0);
    EXPECT_NEAR(got, want, 1e-6 * want) << format;
  }
}

/// With 8 bits a training goes where it would have gone: what they leave out comes later.
TEST_F(Training, EightBitsLeadToTheSameWeights) {
  const std::string net = kConv + kDropped + loss_layer();
  const Outcome exact = train(kSlow, net, 4, 40, DType::kF32, "", 2);
  const Outcome packed = train(kSlow, net, 4, 40, DType::kF32, "-compress int8", 2);
  EXPECT_NE(packed.numbers, exact.numbers) << "nothing was rounded";
  expect_same(packed, exact, 5e-3);
}

/// A tenth of the gradients each time, and nearly as far down.
TEST_F(Training, TheLargestGradientsLeadDown) {
  const std::string net = kConv + kDropped + loss_layer();
  const Outcome exact = train(kFixed, net, 4, 100, DType::kF32, "", 2),
                sparse = train(kFixed, net, 4, 100, DType::kF32, "-compress topk:0.1", 2);
  EXPECT_NE(sparse.numbers, exact.numbers);
  const auto way_down = [](const Outcome& outcome) {
    return outcome.losses[0] - std::accumulate(outcome.losses.end() - 10, outcome.losses.end(), 0.0) / 10;
  };
  EXPECT_GT(way_down(exact), 0.4);
  EXPECT_GT(way_down(sparse), 0.75 * way_down(exact));
}

/// Intel's fields say which gradients travel in 8 bits: those of a layer, or the weights of a type.
TEST_F(Training, APrototxtNamesWhatIsCompressed) {
  const auto net_with = [](const std::string& convolution, const std::string& whole) {
    std::string conv = kConv;
    conv.insert(conv.find("convolution_param"), convolution);
    return whole + conv + kDropped + loss_layer();
  };
  const auto trained = [&](const std::string& convolution, const std::string& whole, const std::string& ddl = "") {
    return train(kSlow, net_with(convolution, whole), 4, 1, DType::kF32, ddl, 2).numbers;
  };
  const std::vector<float> exact = trained("", ""), all = trained("", "", "-compress int8");
  const std::string none = "mn_grad_compress_param { param_grad_compress_enable: false } ",
                    both = "mn_grad_compress_param { param_grad_compress_enable: [ true, true ] } ",
                    types = "multinode { compress_layer_type_list { layer_type: 'Convolution' } } ";
  EXPECT_EQ(trained(none, ""), exact);
  EXPECT_EQ(trained(none, types), exact) << "what the layer says counts";
  const std::vector<float> of_layer = trained(both, ""), of_type = trained("", types);
  EXPECT_NE(of_layer, exact);
  EXPECT_NE(of_type, exact);
  // Weights of the convolution come first, then its biases, then those of the inner product.
  constexpr size_t kWeights = 6 * 3 * 3 * 3, kBiases = 6;
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b, size_t from, size_t to) {
    return std::equal(a.begin() + static_cast<std::ptrdiff_t>(from), a.begin() + static_cast<std::ptrdiff_t>(to),
                      b.begin() + static_cast<std::ptrdiff_t>(from));
  };
  EXPECT_FALSE(same(of_type, exact, 0, kWeights));
  EXPECT_TRUE(same(of_type, exact, kWeights, exact.size() / 2)) << "neither biases nor other types";
  EXPECT_FALSE(same(of_layer, exact, kWeights, kWeights + kBiases));
  EXPECT_TRUE(same(of_layer, exact, kWeights + kBiases, exact.size() / 2));
  EXPECT_FALSE(same(all, exact, kWeights + kBiases, exact.size() / 2)) << "with -compress all are";
}

/// A snapshot has what was left out, and all go on from there: those that wrote it, too.
TEST_F(Training, WhatCompressionLeavesOutResumesBitByBit) {
  const std::string net = kConv + kDropped + loss_layer();
  for (const auto& [ddl, format] :
       {std::pair{"-compress int8", ""}, std::pair{"-compress int8", "snapshot_format: HDF5 "},
        std::pair{"-compress topk:0.1", ""}}) {
    const TempDir folder;
    const std::string settings = kFixed + format + "snapshot_prefix: '" + (folder / "r") + "' ";
    Run first{settings, net, 4, 6, DType::kF32, ddl, 2};
    first.snapshot = true;
    try {
      train(first);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUnsupported) continue;  // a build without HDF5
      throw;
    }
    Run second = first;
    second.resume = folder / (*format ? "r_iter_6.solverstate.h5" : "r_iter_6.solverstate");
    second.snapshot = false;
    const Outcome whole = train(Run{settings + "snapshot: 6", net, 4, 12, DType::kF32, ddl, 2});
    EXPECT_EQ(train(second).numbers, whole.numbers) << ddl << ' ' << format;
    if (std::string_view(ddl) != "-compress int8") continue;
    // Two ranks take up what four have left out, and round other parts of it.
    second.ranks = 2;
    expect_same({{}, train(second).numbers, {}}, {{}, whole.numbers, {}}, 2e-2);
  }
}

/// Five batches over up to eight ranks: some have one more than others, some none.
TEST_P(ManyRanks, DealOutTheBatchesOfATest) {
  const std::string net = test_data_layer() + kConv + kDropped + loss_layer();
  const std::string settings = kFixed + "test_iter: 5 test_interval: 2";
  const Outcome got = train(settings, net, GetParam()), want = train(settings, net, 1);
  ASSERT_EQ(want.tested.size(), 3u);
  expect_same(got, want, 1e-6);
}

TEST_F(Training, ResumesOnAnotherNumberOfRanks) {
  const std::string net = kConv + kDropped + loss_layer();
  for (const int then : {1, 2, 4}) {
    const TempDir folder;
    const std::string settings = kFixed + "snapshot_prefix: '" + (folder / "r") + "' ";
    Run first{settings, net, 2};
    first.snapshot = true;
    train(first);
    Run second{settings, net, then};
    second.resume = folder / "r_iter_6.solverstate";
    const Outcome whole = train(Run{settings, net, 2, 12}), resumed = train(second);
    ASSERT_EQ(resumed.losses.size(), 6u);
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(resumed.losses[i], whole.losses[i + 6], 1e-6);
    expect_same({{}, resumed.numbers, {}}, {{}, whole.numbers, {}}, 1e-6);
  }
}

TEST_F(Training, ResumesBitByBitOnTheSameRanks) {
  const std::string net = kConv + kNormed + loss_layer();
  const TempDir folder;
  const std::string settings = kFixed + "snapshot_prefix: '" + (folder / "r") + "' ";
  Run first{settings, net, 4, 6, DType::kF32};
  first.snapshot = true;
  train(first);
  Run second = first;
  second.resume = folder / "r_iter_6.solverstate";
  second.snapshot = false;
  const Outcome whole = train(Run{settings, net, 4, 12, DType::kF32});
  EXPECT_EQ(train(second).numbers, whole.numbers);
}

/// Batches of eight, dealt out by hand: even ones to rank 0, odd ones to rank 1.
TEST_F(Training, RanksWithSourcesOfTheirOwnEqualOneRankWithAll) {
  const TempDir folder;
  const auto sample = [](int i) {
    return raw_datum({3, 8, 8}, i * 7 % kClasses, static_cast<uint64_t>(i * 7 % kClasses + 1));
  };
  write_database(folder / "all", 32, sample);
  for (int rank : {0, 1}) {
    write_database(folder / ("part_" + std::to_string(rank) + "_of_2"), 16,
                   [&](int i) { return sample(i / 8 * 16 + rank * 8 + i % 8); });
  }
  Run run{kFixed, kConv + kDropped + loss_layer()};
  const auto data = [&](const std::string& name, int batch) {
    return "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { backend: LMDB source: '" +
           (folder / name) + "' batch_size: " + std::to_string(batch) + " } transform_param { scale: 0.01 } } ";
  };
  run.data = data("all", 16);
  const Outcome one = train(run);
  run.ranks = 2;
  run.data = data("part_%#_of_%*", 8);
  expect_same(train(run), one, 1e-6);
}

TEST_F(Training, AChangedGlobalBatchIsRefusedUnlessAccepted) {
  const std::string net = kConv + kDropped + loss_layer();
  const TempDir folder;
  const std::string settings = kFixed + "snapshot_prefix: '" + (folder / "r") + "' ";
  Run first{settings, net, 2};
  first.snapshot = true;
  train(first);
  Run second{settings, net, 2};
  second.resume = folder / "r_iter_6.solverstate";
  second.global_batch = 2 * kGlobalBatch;
  const Error error = error_of([&] { train(second); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "32 (2 ranks x batch 16 x iter_size 1)"));
  EXPECT_TRUE(contains(error.what(), "-accept_batch_change"));
  second.accept_batch_change = true;
  EXPECT_EQ(train(second).losses.size(), 6u);
}

/// The forward pass that shows the loss after the last update has no bucket in which a rank could tell the others.
TEST(LastLoss, ThatIsNotFiniteOnOneRankEndsAll) {
  const TempDir folder;
  std::atomic<int> ended = 0;
  const Error error = error_of([&] {
    run_thread_ranks(3, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.ranks = &group;
      const std::string prefix = "snapshot_prefix: '" + (folder / "toy") + "'";
      Solver solver(toy_def("max_iter: 4 display: 4 snapshot_after_train: false " + prefix), options);
      solver.on_iteration = [&](int iteration, double, double) {
        if (group.rank() != 1 || iteration != 3) return;
        const ParamPtr weights = solver.train_net().layer_params("ip2")[0];
        static_cast<float*>(weights->data)[0] = std::numeric_limits<float>::infinity();
      };
      try {
        solver.solve();
      } catch (const EndedByPeer&) {
        ++ended;
      }
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
  EXPECT_TRUE(contains(error.what(), "on rank 1"));
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace robusta::test
