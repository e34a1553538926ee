/// Trainings on threads as ranks, each with its part of a global batch, for tests.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <string>
#include <vector>

#include "comm/thread_ranks.h"
#include "data/sample_db.h"
#include "device/gpus.h"
#include "solver/ranks/ranks.h"
#include "solver/toy_solver.h"
#include "support/files.h"

namespace robusta::test {

inline constexpr int kGlobalBatch = 16, kRecords = 40, kClasses = 4, kIgnored = 3;

/// What a training leaves behind, as rank 0 sees it.
struct Outcome {
  std::vector<double> losses;
  std::vector<float> numbers;  ///< parameters and histories
  std::vector<double> tested;  ///< outputs of every test
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
    return "layer { name: 'data' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN } data_param { source: "
           "'" +
           (*folder_ / "db") + "' batch_size: " + std::to_string(batch) +
           " shuffle: true } transform_param { crop_size: 6 mirror: true scale: 0.01 } } ";
  }

  /// The same records in batches of three, for tests.
  static std::string test_data_layer() {
    return "layer { name: 'held' type: 'Data' top: 'data' top: 'label' include { phase: TEST } data_param { source: '" +
           (*folder_ / "db") + "' batch_size: 3 } transform_param { crop_size: 6 scale: 0.01 } } ";
  }

  struct Run {
    std::string settings, layers;
    int ranks = 1;
    int iterations = 6;
    DType dtype = DType::kF64;
    std::string ddl = "";
    int hosts = 1;
    int global_batch = kGlobalBatch;
    std::string resume = "";
    bool accept_batch_change = false;
    bool snapshot = false;  ///< at the end
    std::string data = "";  ///< the data layer, where it is another
    bool gpus = false;      ///< a fake one for each rank
  };

  /// Trains on threads as ranks, each with its part of the global batch.
  static Outcome train(const Run& run) {
    Outcome outcome;
    const auto body = [&](Communicator& world) {
      omp_set_num_threads(1);
      Ranks group(world, parse_ddl_options(run.ddl));
      const std::shared_ptr<Device> gpu = run.gpus ? open_gpu(world.rank()) : nullptr;
      SolverOptions options;
      if (gpu) options.device = gpu.get();
      options.dtype = run.dtype;
      options.ranks = &group;
      options.snapshot = run.resume;
      options.accept_batch_change = run.accept_batch_change;
      const std::string text = run.settings + " momentum: 0.9 weight_decay: 0.001 random_seed: 3 net_param { " +
                               (run.data.empty() ? data_layer(run.global_batch / run.ranks) : run.data) + run.layers +
                               "}";
      Solver solver(parse_solver(text, "ranks.prototxt"), options);
      Outcome mine;
      solver.on_iteration = [&](int, double loss, double) { mine.losses.push_back(loss); };
      solver.on_test = [&](int, const std::vector<OutputBlob>& means) {
        for (const OutputBlob& blob : means)
          mine.tested.insert(mine.tested.end(), blob.values.begin(), blob.values.end());
      };
      solver.step(run.iterations);
      if (run.snapshot) solver.snapshot();
      solver.finish_updates();
      mine.numbers = everything(solver);
      if (world.rank() == 0) outcome = mine;
    };
    // The error itself is what is looked at, not the end of the others that follows from it.
    const auto own_errors = [&](Communicator& world) {
      try {
        body(world);
      } catch (const EndedByPeer&) {}
    };
    run_thread_ranks(run.ranks, own_errors, run.hosts);
    return outcome;
  }

  static Outcome train(const std::string& settings, const std::string& layers, int ranks, int iterations = 6,
                       DType dtype = DType::kF64, const std::string& ddl = "", int hosts = 1) {
    return train(Run{settings, layers, ranks, iterations, dtype, ddl, hosts});
  }

  static void expect_same(const Outcome& got, const Outcome& want, double tolerance) {
    ASSERT_EQ(got.losses.size(), want.losses.size());
    for (size_t i = 0; i < got.losses.size(); ++i) {
      EXPECT_NEAR(got.losses[i], want.losses[i], tolerance * (1 + std::abs(want.losses[i]))) << "iteration " << i;
    }
    ASSERT_EQ(got.tested.size(), want.tested.size());
    for (size_t i = 0; i < got.tested.size(); ++i) {
      EXPECT_NEAR(got.tested[i], want.tested[i], tolerance) << "output " << i << " of the tests";
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

inline TempDir* Training::folder_ = nullptr;

inline const std::string kFixed = "base_lr: 0.05 lr_policy: 'fixed' ", kSlow = "base_lr: 0.002 lr_policy: 'fixed' ";
inline const std::string kConv = R"(
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
    convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: 'msra' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' } )";
inline const std::string kDropped = R"(
  layer { name: 'drop' type: 'Dropout' bottom: 'conv' top: 'conv' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } } )";
inline const std::string kNormed = R"(
  layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'bn' batch_norm_param { sync: true } }
  layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'bn' top: 'ip'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } } )";

inline std::string loss_layer(const std::string& loss_param = "") {
  return "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' loss_param { " +
         loss_param + " } } ";
}

}  // namespace robusta::test
