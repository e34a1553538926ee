#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <mutex>

#include "comm/thread_ranks.h"
#include "data/sample_db.h"
#include "solver/ranks/ranks.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test {
namespace {

constexpr int kGlobalBatch = 16, kRecords = 40, kClasses = 4, kIgnored = 3;

/// What a training leaves behind, as rank 0 sees it.
struct Outcome {
  std::vector<double> losses;
  std::vector<float> numbers;      ///< parameters and histories
  std::vector<float> test_losses;  ///< unused where there is no test
};

/// Images with labels that they have something to do with.
class Training : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    write_database(*folder_ / "db", kRecords, [](int i) {
      return raw_datum({3, 8, 8}, i * 7 % kClasses, static_cast<uint64_t>(i * 7 % kClasses + 1));
    });
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string data_layer(int batch) {
    return "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: '" + (*folder_ / "db") +
           "' batch_size: " + std::to_string(batch) +
           " shuffle: true } transform_param { crop_size: 6 mirror: true scale: 0.01 } } ";
  }

  /// Trains on `ranks` threads, each with its part of the global batch.
  static Outcome train(const std::string& settings, const std::string& layers, int ranks, int iterations = 6,
                       DType dtype = DType::kF64, const std::string& ddl = "", int hosts = 1) {
    Outcome outcome;
    run_thread_ranks(
        ranks,
        [&](Communicator& world) {
          omp_set_num_threads(1);
          Ranks group(world, parse_ddl_options(ddl));
          SolverOptions options;
          options.dtype = dtype;
          options.ranks = &group;
          const std::string text = settings + " momentum: 0.9 weight_decay: 0.001 random_seed: 3 " + " net_param { " +
                                   data_layer(kGlobalBatch / ranks) + layers + "}";
          Solver solver(parse_solver(text, "ranks.prototxt"), options);
          std::vector<double> losses;
          solver.on_iteration = [&](int, double loss, double) { losses.push_back(loss); };
          solver.step(iterations);
          solver.finish_updates();
          if (world.rank() == 0) outcome = {losses, everything(solver), {}};
        },
        hosts);
    return outcome;
  }

  static void expect_same(const Outcome& got, const Outcome& want, double tolerance) {
    ASSERT_EQ(got.losses.size(), want.losses.size());
    for (size_t i = 0; i < got.losses.size(); ++i) {
      EXPECT_NEAR(got.losses[i], want.losses[i], tolerance * (1 + std::abs(want.losses[i]))) << "iteration " << i;
    }
    ASSERT_EQ(got.numbers.size(), want.numbers.size());
    double largest = 0;
    for (size_t i = 0; i < got.numbers.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(got.numbers[i]) - want.numbers[i]));
    }
    EXPECT_LT(largest, tolerance);
  }

  static TempDir* folder_;
};

TempDir* Training::folder_ = nullptr;

const std::string kFixed = "base_lr: 0.05 lr_policy: 'fixed' ", kSlow = "base_lr: 0.002 lr_policy: 'fixed' ";
const std::string kConv = R"(
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
    convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: 'msra' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' } )";
const std::string kDropped = R"(
  layer { name: 'drop' type: 'Dropout' bottom: 'conv' top: 'conv' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } } )";
const std::string kNormed = R"(
  layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'bn' batch_norm_param { sync: true } }
  layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'bn' top: 'ip'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } } )";

std::string loss_layer(const std::string& loss_param = "") {
  return "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' loss_param { " +
         loss_param + " } } ";
}

class ManyRanks : public Training, public testing::WithParamInterface<int> {};

TEST_P(ManyRanks, WithDropoutCropAndMirrorEqualOneRankWithTheGlobalBatch) {
  const std::string net = kConv + kDropped + loss_layer();
  expect_same(train(kFixed, net, GetParam()), train(kFixed, net, 1), 1e-6);
}

TEST_P(ManyRanks, WithSynchronisedBatchNormEqualOneRank) {
  const std::string net = kConv + kNormed + loss_layer();
  expect_same(train(kFixed, net, GetParam()), train(kFixed, net, 1), 1e-6);
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

}  // namespace
}  // namespace robusta::test
