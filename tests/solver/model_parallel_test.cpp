// Layers whose outputs ranks share out (model_parts): the numbers of one rank, from a part of the layer on each.
#include <atomic>
#include <mutex>

#include "base/log.h"
#include "solver/ranked_training.h"
#include "solver/ranks/model/cut_net.h"
#include "solver/ranks/model/model_cuts.h"
#include "support/errors.h"

namespace robusta::test::model_parallel_test {
namespace {

const std::string kAdam = "base_lr: 0.01 lr_policy: 'fixed' type: 'Adam' ";

std::string classifying(const std::string& name, const std::string& bottom, int outputs, const std::string& more) {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name + "' " + more +
         " inner_product_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.1 } } } ";
}

std::string parts(int count) { return "multinode { model_parts: " + std::to_string(count) + " }"; }

/// Convolutions of whole batches, then two layers with these fields.
std::string classifier(const std::string& hidden, const std::string& last) {
  return kConv + "layer { name: 'drop' type: 'Dropout' bottom: 'conv' top: 'conv' } " +
         classifying("hidden", "conv", 8, hidden) +
         "layer { name: 'rectified' type: 'ReLU' bottom: 'hidden' top: 'hidden' } " +
         classifying("ip", "hidden", 4, last) + loss_layer();
}

const std::string kCut = classifier(parts(0), parts(0)), kWhole = classifier("", "");

class ModelParallel : public Training {
 protected:
  static void expect_those_of_one_rank(const Run& run, double tolerance = 1e-6) {
    Run one = run;
    one.ranks = 1;
    one.ddl = "";
    one.hosts = 1;
    expect_same(train(run), train(one), tolerance);
  }
};

class Parts : public ModelParallel, public testing::WithParamInterface<int> {};

TEST_P(Parts, EveryRuleHasTheNumbersOfOneRank) {
  for (const std::string type : {"SGD", "Nesterov", "Adam", "AdamW", "SAG"})
    expect_those_of_one_rank({.settings = kSlow + "type: '" + type + "' ", .layers = kCut, .ranks = GetParam()});
}

TEST_P(Parts, NormsAreThoseOfAll) {
  const std::string larc = kFixed + "larc: true larc_eta: 0.1 ";
  for (const std::string& settings : {kFixed + "clip_gradients: 0.3 ", larc, larc + "clip_gradients: 0.3 ",
                                      kFixed + "local_lr_auto: true local_gw_ratio: 0.1 "}) {
    for (const std::string& net : {kCut, classifier(parts(2), parts(0))})
      expect_those_of_one_rank({.settings = settings, .layers = net, .ranks = GetParam()});
  }
}

TEST_P(Parts, SubIterationsBucketsRingsAndHostsHaveTheNumbersOfOneRank) {
  for (const std::string& ddl : {std::string("-bucket_mb 0.0001"), "-mode r:" + std::to_string(GetParam())}) {
    for (const int hosts : {1, 2}) {
      expect_those_of_one_rank(
          {.settings = kFixed + "iter_size: 2 ", .layers = kCut, .ranks = GetParam(), .ddl = ddl, .hosts = hosts});
    }
  }
}

/// Also where nothing else has a gradient, and none of what goes into it is wanted.
TEST_P(Parts, TheFirstLayerMayBeCut) {
  const std::string net = classifying("hidden", "data", 8, parts(0)) +
                          "layer { name: 'rectified' type: 'ReLU' bottom: 'hidden' top: 'hidden' } " +
                          classifying("ip", "hidden", 4, parts(0)) + loss_layer();
  expect_those_of_one_rank({.settings = kFixed, .layers = net, .ranks = GetParam()});
}

TEST_P(Parts, ALayerThatDoesNotLearnMayBeCut) {
  const std::string frozen = "param { lr_mult: 0 } param { lr_mult: 0 } ";
  for (const std::string& net : {classifier(frozen + parts(0), parts(0)), classifier(parts(0), frozen + parts(0)),
                                 classifier("param { lr_mult: 0 } " + parts(0), "")})
    expect_those_of_one_rank({.settings = kFixed, .layers = net, .ranks = GetParam()});
}

TEST_P(Parts, TestsSeeWholeWeights) {
  for (const std::string more : {"", "ema_decay: 0.9 "}) {
    expect_those_of_one_rank({.settings = kAdam + "test_iter: 5 test_interval: 2 " + more,
                              .layers = test_data_layer() + kCut,
                              .ranks = GetParam()});
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, Parts, testing::Values(2, 4));

/// Two groups of two that have all parts, four parts of one layer and two of the next, one layer of two.
TEST_F(ModelParallel, GroupsAreDataParallelAmongThem) {
  for (const std::string& net :
       {classifier(parts(2), parts(2)), classifier(parts(4), parts(2)), classifier("", parts(2))}) {
    for (const std::string& settings : {kFixed, kAdam + "clip_gradients: 0.3 "})
      expect_those_of_one_rank({.settings = settings, .layers = net, .ranks = 4});
  }
}

/// -check_iter compares all weights of all ranks: those of a part are the same on each that has it.
TEST_F(ModelParallel, RanksOfOnePartHaveTheSameBits) {
  const Run run{.settings = kAdam + "clip_gradients: 0.3 ",
                .layers = classifier(parts(2), parts(4)),
                .ranks = 8,
                .dtype = DType::kF32,
                .ddl = "-check_iter 1",
                .hosts = 2};
  expect_those_of_one_rank(run, 1e-4);
}

/// Which is stored in 16 bits around the layer, and in 32 in it. (With seed 3 a sum is so near to zero that its
/// rounding decides what passes a ReLU.)
TEST_F(ModelParallel, ActivationsMayBeOf16Bits) {
  const auto losses = [](const std::string& net) {
    std::vector<double> losses;
    run_thread_ranks(2, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.precision = DType::kBF16;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 5 net_param { " + data_layer(8) + net + "}", "m"), options);
      solver.on_iteration = [&](int, double loss, double) {
        if (world.rank() == 0) losses.push_back(loss);
      };
      solver.step(4);
    });
    return losses;
  };
  const std::vector<double> cut = losses(kCut), whole = losses(kWhole);
  ASSERT_EQ(cut.size(), whole.size());
  for (size_t i = 0; i < cut.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 5e-3 * whole[i]) << "iteration " << i;
}

TEST_F(ModelParallel, ARangeOfTheNetMeansTheSameAsItsLayers) {
  const std::string range = "multinode { model_parallel { layer_from: 'conv' layer_to: 'ip' model_parts: 2 } } ";
  const std::string own = "multinode { model_parts: 2 } convolution_param";
  std::string layers = classifier(parts(2), parts(2));
  layers.replace(layers.find("convolution_param"), std::string("convolution_param").size(), own);
  EXPECT_EQ(train(kFixed, range + kWhole, 4).numbers, train(kFixed, layers, 4).numbers);
}

TEST_F(ModelParallel, InSinglePrecisionRunsRepeatTheirBits) {
  const Run run{.settings = kAdam, .layers = classifier(parts(2), parts(0)), .ranks = 4, .dtype = DType::kF32};
  EXPECT_EQ(train(run).numbers, train(run).numbers);
  expect_those_of_one_rank(run, 1e-4);
}

TEST_F(ModelParallel, SnapshotsAreWholeAndResumeAnywhere) {
  const TempDir folder;
  const std::string settings = kAdam + "ema_decay: 0.9 snapshot_prefix: '" + (folder / "m") + "' ";
  Run first{.settings = settings, .layers = kCut, .ranks = 4, .dtype = DType::kF32};
  first.snapshot = true;
  train(first);
  Run whole = first;
  whole.snapshot = false;
  whole.iterations = 12;
  const Outcome undisturbed = train(whole);
  Run second = first;
  second.snapshot = false;
  second.resume = folder / "m_iter_6.solverstate";
  EXPECT_EQ(train(second).numbers, undisturbed.numbers);
  for (const auto& [ranks, net] : {std::pair(2, kCut), std::pair(1, kCut), std::pair(4, kWhole)}) {
    second.ranks = ranks;
    second.layers = net;
    expect_same({{}, train(second).numbers, {}}, {{}, undisturbed.numbers, {}}, 1e-4);
  }
}

/// What the net has compressed of others keeps what is left out; parts travel as they are.
TEST_F(ModelParallel, OtherGradientsMayBeCompressed) {
  const TempDir folder;
  const std::string types =
      "multinode { compress_layer_type_list { layer_type: 'Convolution' layer_type: "
      "'InnerProduct' } } ";
  const Run run{.settings = kAdam + "snapshot: 6 snapshot_prefix: '" + (folder / "c") + "' ",
                .layers = types + classifier(parts(2), parts(4)),
                .ranks = 4,
                .iterations = 12,
                .dtype = DType::kF32,
                .hosts = 2};
  const Outcome compressed = train(run);
  Run resumed = run;
  resumed.resume = folder / "c_iter_6.solverstate";
  resumed.iterations = 6;
  EXPECT_EQ(train(resumed).numbers, compressed.numbers);
  Run exact = run;
  exact.layers = classifier(parts(2), parts(4));
  const Outcome uncompressed = train(exact);
  EXPECT_NE(compressed.numbers, uncompressed.numbers);
  expect_same({{}, compressed.numbers, {}}, {{}, uncompressed.numbers, {}}, 5e-2);
}

/// Whoever looks at gradients or weights in an iteration sees those of all parts.
TEST_F(ModelParallel, WhoeverLooksSeesAllParts) {
  std::mutex mutex;
  const auto seen_by = [&](const std::string& net) {
    std::vector<std::vector<double>> seen(4);
    run_thread_ranks(4, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.dtype = DType::kF64;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(4) + net + "}", "m"), options);
      solver.step(2);
      solver.on_gradients = [&] {
        for (const ParamPtr& param : solver.train_net().params()) {
          for (const Tensor& array : {param->gradient(), param->tensor()}) {
            const auto* const values = array.as<const double>();
            const std::lock_guard lock(mutex);
            auto& mine = seen[static_cast<size_t>(world.rank())];
            mine.insert(mine.end(), values, values + param->desc.count());
          }
        }
      };
      solver.step(2);
      solver.finish_updates();
    });
    return seen;
  };
  const auto cut = seen_by(classifier(parts(2), parts(0))), whole = seen_by(kWhole);
  for (size_t rank = 0; rank < 4; ++rank) {
    ASSERT_EQ(cut[rank].size(), whole[0].size());
    for (size_t i = 0; i < whole[0].size(); ++i) ASSERT_NEAR(cut[rank][i], whole[0][i], 1e-12) << rank << ", " << i;
  }
}

/// A program may run passes of its own on one rank: nobody is asked.
TEST_F(ModelParallel, APassWithoutRanksIsOfAllParts) {
  std::mutex mutex;
  const auto pass_of_one = [&](const std::string& net) {
    std::vector<double> numbers;
    run_thread_ranks(2, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.dtype = DType::kF64;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(8) + net + "}", "m"), options);
      solver.step(2);
      solver.finish_updates();
      if (world.rank() == 0) return;
      const Pass pass{.seed = 3, .first_sample = 5, .next_sample = 13, .batch = 8};
      const std::lock_guard lock(mutex);
      numbers.push_back(solver.train_net().forward(pass));
      solver.train_net().backward(pass, false);
      for (const ParamPtr& param : solver.train_net().params()) {
        const auto* const values = param->gradient().as<const double>();
        numbers.insert(numbers.end(), values, values + param->desc.count());
      }
    });
    return numbers;
  };
  const std::vector<double> cut = pass_of_one(kCut), whole = pass_of_one(kWhole);
  ASSERT_EQ(cut.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 1e-12) << i;
}

/// A rank has histories, gradients and weights of its part alone, until somebody asks for all weights.
TEST_F(ModelParallel, ARankHasItsOwnPart) {
  std::atomic<size_t> bytes_cut = 0, bytes_whole = 0;
  for (const bool cut : {true, false}) {
    run_thread_ranks(4, [&](Communicator& world) {
      Ranks group(world, {});
      SolverOptions options;
      options.ranks = &group;
      Solver solver(parse_solver(kAdam + "momentum: 0.9 random_seed: 3 net_param { " + data_layer(4) +
                                     classifying("ip", "data", 4000, cut ? parts(0) : "") +
                                     "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' } }",
                                 "m"),
                    options);
      (cut ? bytes_cut : bytes_whole) = solver.updater().state_bytes();
      const Param& weights = *solver.train_net().params()[ParamId(0)];
      const auto values = [&] {
        const auto* const begin = weights.tensor().as<const float>();
        return std::vector<float>(begin, begin + weights.desc.count());
      };
      const std::vector<float> before = values();
      const auto taken = [&] { return solver.train_net().param_memory().shared_out_bytes(); };
      solver.step(1);
      const size_t of_parts = taken();  // before pages of others are read
      const std::vector<float> stepped = values();
      solver.finish_updates();
      const std::vector<float> settled = values();
      const size_t weights_bytes = before.size() * sizeof(float), part = before.size() / 4,
                   own = static_cast<size_t>(world.rank());
      constexpr size_t kPages = 10 * 4096;  // which a part shares with others, and those of the bias
      if (cut) {
        EXPECT_GE(of_parts, 2 * weights_bytes / 4);
        EXPECT_LE(of_parts, 2 * weights_bytes / 4 + kPages);
        EXPECT_GE(taken(), weights_bytes);
        EXPECT_LE(taken(), weights_bytes + weights_bytes / 4 + kPages);
      } else {
        EXPECT_EQ(taken(), 0u);
      }
      for (size_t p = 0; cut && p < 4; ++p) {
        const auto begin = static_cast<std::ptrdiff_t>(p * part), end = begin + static_cast<std::ptrdiff_t>(part);
        // Its own one is updated when the next forward asks for it; of those of others the pages at their ends stay.
        if (p != own) {
          EXPECT_LT(std::count_if(stepped.begin() + begin, stepped.begin() + end, [](float w) { return w != 0; }),
                    2 * 4096 / 4)
              << "part " << p << " on rank " << own;
        }
        EXPECT_FALSE(std::equal(before.begin() + begin, before.begin() + end, settled.begin() + begin))
            << "part " << p << " on rank " << own;
      }
    });
  }
  EXPECT_LT(bytes_cut, bytes_whole / 4 + 4096);
}

/// AlexNet's proportions: what is sent is what is predicted, and less than gradients would be.
TEST_F(ModelParallel, BytesAreThoseThatArePredicted) {
  for (const int count : {2, 4}) {
    run_thread_ranks(4, [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, {});
      SolverOptions options;
      options.ranks = &group;
      Solver solver(parse_solver(kFixed + "random_seed: 3 net_param { " + data_layer(4) + kConv +
                                     classifying("hidden", "conv", 512, parts(count)) +
                                     classifying("ip", "hidden", 4, "") + loss_layer() + "}",
                                 "m"),
                    options);
      const ModelCut cut = solver.model_ranks()->cuts()[0];
      const CutTraffic traffic = traffic_of(solver.train_net(), cut, 4);
      solver.step(3);
      EXPECT_EQ(solver.model_ranks()->exchanged().bytes, 3 * traffic.activations);
      // As -dump_iter shows them: of all other gradients, then of the sums of parts, and of activations.
      const std::vector<DimensionTime> times = solver.ranked_update()->reducer().sums().take_times();
      ASSERT_EQ(times.size(), count == 4 ? 2u : 3u);
      // conv and ip, to sum and summed; the votes and what aligns parameters are little.
      const double others = 3 * 2.0 * 3 / 4 * (6 * 27 + 6 + 4 * 512 + 4) * sizeof(float);
      EXPECT_GE(times[0].bytes, others);
      EXPECT_LT(times[0].bytes, 1.05 * others);
      if (count == 2) {
        EXPECT_EQ(times[1].bytes, 3 * traffic.gradients);
      }
      EXPECT_EQ(times.back().algorithm, "activations");
      EXPECT_EQ(times.back().bytes, 3 * traffic.activations);
      EXPECT_GT(times.back().seconds, 0);
      // 4 rows of 6 x 4 x 4 inputs, 4 of 512 / P outputs, both ways.
      EXPECT_EQ(traffic.activations, 2.0 * (count - 1) * (4 * 96 + 4 * 512 / count) * sizeof(float));
      EXPECT_EQ(traffic.data_parallel, 2.0 * 3 / 4 * (96 + 1) * 512 * sizeof(float));
      EXPECT_LT(traffic.activations + traffic.gradients, traffic.data_parallel / 2);
    });
  }
}

TEST_F(ModelParallel, ALossThatIsNotFiniteEndsAll) {
  const Error error = error_of([] {
    train({.settings = "base_lr: 1e30 lr_policy: 'fixed' ", .layers = kCut, .ranks = 4, .dtype = DType::kF32});
  });
  EXPECT_EQ(error.kind(), ErrorKind::kNumeric) << error.what();
}

TEST_F(ModelParallel, RefusesWhatCannotBe) {
  const auto refusal = [](const std::string& net, const std::string& ddl = "", const std::string& settings = "") {
    return error_of([&] { train({.settings = kFixed + settings, .layers = net, .ranks = 2, .ddl = ddl}); });
  };
  const auto expect = [](const Error& error, ErrorKind kind, const std::string& words) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(contains(error.what(), words)) << error.what();
    EXPECT_TRUE(contains(error.location(), "ranks.prototxt")) << error.what();
  };
  const auto with = [](const std::string& fields) {
    return kConv + "layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' " + parts(0) +
           " inner_product_param { " + fields + " } } " + loss_layer();
  };
  expect(refusal(with("num_output: 5")), ErrorKind::kConfig, "num_output 5 cannot be cut into 2 equal parts");
  expect(refusal(with("num_output: 4 transpose: true")), ErrorKind::kConfig, "transpose with model_parts");
  expect(refusal(with("num_output: 4 normalize: true")), ErrorKind::kConfig, "normalize with model_parts");
  for (const std::string ddl :
       {"-shard states", "-mode b:1x2 -sync_every 4", "-op adasum", "-compress int8", "-elastic 1:2"})
    expect(refusal(kCut, ddl), ErrorKind::kConfig, "model_parts with -ddl");
  expect(refusal(kCut, "", "type: 'LAMB' "), ErrorKind::kConfig, "model_parts with solver type LAMB");
  expect(refusal(kCut, "", "snapshot_diff: true "), ErrorKind::kConfig, "model_parts with snapshot_diff");
  const std::string shared = classifying("a", "data", 4, "param { name: 'w' } param { name: 'b' } " + parts(0)) +
                             classifying("ip", "data", 4, "param { name: 'w' } param { name: 'b' }") +
                             "layer { name: 'unread' type: 'Silence' bottom: 'a' } " + loss_layer();
  expect(refusal(shared), ErrorKind::kConfig, "another layer shares its parameters");
  const std::string filtered = "layer { name: 'filter' type: 'Filter' bottom: 'data' bottom: 'label' top: 'some' } " +
                               classifying("ip", "some", 4, parts(0)) +
                               "layer { name: 'sum' type: 'Reduction' bottom: 'ip' top: 'sum' loss_weight: 1 } ";
  expect(refusal(filtered), ErrorKind::kConfig, "how many rows its bottom has follows from values");
}

/// Of a net in which each layer reads the one before.
std::vector<ModelCut> cuts_of(const std::string& fields, int ranks, const std::string& of_last = "") {
  return model_cuts(parse_net(fields +
                                  "\nlayer { name: 'data' type: 'Input' top: 'data' }\n"
                                  "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' }\n"
                                  "layer { name: 'fc6' type: 'InnerProduct' bottom: 'conv' top: 'fc6' }\n"
                                  "layer { name: 'relu6' type: 'ReLU' bottom: 'fc6' top: 'fc6' }\n"
                                  "layer { name: 'aside' type: 'InnerProduct' bottom: 'conv' top: 'aside' }\n"
                                  "layer { name: 'fc7' type: 'InnerProduct' bottom: 'fc6' top: 'fc7' " +
                                  of_last + " }\n",
                              "n.prototxt"),
                    ranks);
}

std::string names(const std::vector<ModelCut>& cuts) {
  std::string text;
  for (const ModelCut& cut : cuts) text += cut.layer + ":" + std::to_string(cut.parts) + " ";
  return text;
}

std::string range(const std::string& fields) { return "multinode { model_parallel { " + fields + " } }"; }

TEST(ModelCuts, FollowBlobsFromALayerToAnother) {
  EXPECT_EQ(names(cuts_of("", 4)), "");
  EXPECT_EQ(names(cuts_of(range("layer_from: 'fc6' model_parts: 2"), 4)), "fc6:2 fc7:2 ");
  EXPECT_EQ(names(cuts_of(range("layer_from: 'fc6' layer_to: 'relu6'"), 4)), "fc6:4 ");
  EXPECT_EQ(names(cuts_of(range("layer_from: 'fc6' layer_to: 'fc6' model_parts: 9"), 4)), "fc6:4 ");
  EXPECT_EQ(names(cuts_of(range("layer_from: 'conv' num_nodes: 4"), 4)), "conv:4 fc6:4 aside:4 fc7:4 ");
  EXPECT_EQ(cuts_of("\n" + range("layer_from: 'fc7'"), 2)[0].where, "n.prototxt:2");
}

TEST(ModelCuts, OneRankHasAll) { EXPECT_EQ(names(cuts_of(range("layer_from: 'conv' num_nodes: 4"), 1)), ""); }

TEST(ModelCuts, ALayersOwnFieldsGoFirst) {
  const std::string all = range("layer_from: 'fc6'");
  EXPECT_EQ(names(cuts_of(all, 4, "multinode { model_parts: 2 }")), "fc6:4 fc7:2 ");
  EXPECT_EQ(names(cuts_of(all, 4, "multinode { num_nodes: 4 }")), "fc6:4 ");
  EXPECT_EQ(cuts_of("", 4, "multinode { model_parts: 0 }")[0].where, "n.prototxt:7");
}

/// What is said of a layer with these fields that is to be cut into two; "": it is cut.
std::string warning_of(const std::string& layer) {
  std::vector<std::string> lines;
  const LogScope scope([&](const LogLine& line) { lines.emplace_back(line.text); });
  const NetDef net = parse_net("layer { name: 'data' type: 'Input' top: 'data' top: 'more' }\nlayer { name: 'cut' " +
                                   parts(2) + " " + layer + " }",
                               "n.prototxt");
  const size_t cuts = model_cuts(net, 2).size();
  EXPECT_EQ(lines.size() + cuts, 1u);
  return lines.empty() ? "" : lines[0];
}

TEST(ModelCuts, APartHasWholeGroupsOfChannels) {
  const std::string convolution = "type: 'Convolution' bottom: 'data' top: 'conv' convolution_param { num_output: 12 ";
  EXPECT_EQ(warning_of(convolution + "}"), "");
  EXPECT_EQ(warning_of(convolution + "group: 4 }"), "");
  const std::string uneven = warning_of(convolution + "group: 3 }");
  EXPECT_TRUE(contains(uneven,
                       "n.prototxt:2: layer \"cut\" (Convolution): model_parts changes nothing here, as its 3 "
                       "groups of channels cannot be dealt out to 2 parts: it is trained data parallel"))
      << uneven;
}

TEST(ModelCuts, OtherLayersAreLeftWholeWithAWarning) {
  const std::string two = warning_of("type: 'Convolution' bottom: 'data' bottom: 'more' top: 'a' top: 'b'");
  EXPECT_TRUE(contains(two, "as it has several bottoms")) << two;
  for (const std::string type : {"Deconvolution", "DepthwiseConvolution", "LSTM"}) {
    const std::string other = warning_of("type: '" + type + "' bottom: 'data' top: 'a'");
    EXPECT_TRUE(contains(other, "(" + type + "): model_parts changes nothing here, as only InnerProduct and Conv"))
        << other;
  }
}

TEST(ModelCuts, RefuseWhatNoRankCanHave) {
  const auto refusal = [](const std::string& fields) { return error_of([&] { cuts_of(range(fields), 4); }); };
  const auto expect = [](const Error& error, ErrorKind kind, const std::string& text) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(contains(error.what(), text)) << error.what();
    EXPECT_EQ(error.location(), "n.prototxt:1");
  };
  expect(refusal("layer_from: 'fc6' model_parts: 3"), ErrorKind::kConfig, "does not divide the 4 ranks");
  expect(refusal("layer_from: 'fc6' num_nodes: 2"), ErrorKind::kUnsupported, "start 2 ranks");
  expect(refusal("layer_from: 'fc'"), ErrorKind::kConfig, "no layer \"fc\" (did you mean \"fc");
  expect(refusal("layer_from: 'fc6' layer_to: 'aside'"), ErrorKind::kConfig, "is not reached");
  expect(refusal("model_parts: 2"), ErrorKind::kConfig, "without layer_from");
}

}  // namespace
}  // namespace robusta::test::model_parallel_test
