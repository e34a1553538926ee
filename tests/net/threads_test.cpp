// Nets of different options in one process, each driven by a thread of its own.

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <thread>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// Builds a net and runs it on two batches.
std::vector<float> build_and_run(const NetOptions& options) {
  Net net(net_def(kBranchyNet), options);
  std::vector<float> results;
  for (const uint64_t seed : {1, 2}) {
    fill_inputs(net, seed);
    const std::vector<float> once = run_once(net);
    results.insert(results.end(), once.begin(), once.end());
  }
  return results;
}

std::vector<float> on_host(const std::string& kernels, bool fuse, uint64_t seed) {
  NetOptions options;
  options.kernels = kernels;
  options.fuse = fuse;
  options.seed = seed;
  return build_and_run(options);
}

/// 16 bits by the GPU's kernels, in a budget that makes contents leave the device.
std::vector<float> on_emulated_gpu() {
  SimDevice device(size_t{64} << 20, 0, "emulated");
  NetOptions options;
  options.device = &device;
  options.precision = DType::kBF16;
  options.lms.mode = LmsOptions::Mode::kThreshold;
  options.lms.min_bytes = 1;
  return build_and_run(options);
}

TEST(Threads, NetsOfDifferentOptionsDoNotKnowOfEachOther) {
  const std::vector<std::function<std::vector<float>()>> trainings = {
      [] { return on_host("auto", true, 1); },
      [] { return on_host("reference", false, 2); },
      on_emulated_gpu,
  };
  std::vector<std::vector<float>> alone;
  for (const auto& training : trainings) alone.push_back(training());
  EXPECT_NE(alone[0], alone[1]);

  std::vector<std::vector<float>> together(trainings.size());
  std::latch start(static_cast<std::ptrdiff_t>(trainings.size()));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < trainings.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        for (int round = 0; round < 3; ++round) together[i] = trainings[i]();
      });
    }
  }
  for (size_t i = 0; i < trainings.size(); ++i) EXPECT_EQ(together[i], alone[i]) << "training " << i;
}

}  // namespace
}  // namespace robusta::test
