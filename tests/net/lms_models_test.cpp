// Large model support on nets that people train: the same bits in a part of the memory.

#include <gtest/gtest.h>

#include <chrono>

#include "device/sim/sim_device.h"
#include "support/errors.h"
#include "support/lms.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

struct Case {
  const char* model;
  int64_t batch;
  bool fuse;  ///< fused kernels of the CPU want scratch of the size of their gradients
};

class LmsModels : public testing::TestWithParam<Case> {
 protected:
  NetOptions options(Device& device) const {
    NetOptions options = resident_options(device, GetParam().batch);
    options.fuse = GetParam().fuse;
    return options;
  }
};

/// Every budget of 60, 40 and 25 % of what the resident net takes for a pass; where that is less than a single layer
/// needs, the least that serves.
TEST_P(LmsModels, SameBitsInAPartOfTheMemory) {
  SimDevice plenty(kPlenty);
  Net resident(model_def(GetParam().model), options(plenty));
  const std::vector<float> expected = run_once(resident);
  const size_t peak = resident.plan().arena_bytes, least = least_arena(resident);
  const uint64_t out_resident = plenty.bytes_to_host(), in_resident = plenty.bytes_to_device();
  size_t before = 0;
  for (const int percent : {60, 40, 25}) {
    const size_t wanted = peak * static_cast<size_t>(percent) / 100, arena = std::max(wanted, least);
    if (arena == before) continue;
    before = arena;
    NetOptions small = with_arena(options(plenty), resident, arena);
    SimDevice device(small.budget->limit, 0);
    small.device = &device;
    small.poison = true;
    Net net(model_def(GetParam().model), small);
    const Offloading& predicted = net.plan().offloading;
    std::printf("[ %4.1f %%  ] %s: moves %d values, repeats %d; out %.1f MiB, in %.1f MiB of a peak of %.1f MiB\n",
                100.0 * static_cast<double>(net.plan().arena_bytes) / static_cast<double>(peak), GetParam().model,
                predicted.moved, predicted.repeated, static_cast<double>(predicted.bytes_out) / 0x1p20,
                static_cast<double>(predicted.bytes_in) / 0x1p20, static_cast<double>(peak) / 0x1p20);
    EXPECT_TRUE(run_once(net) == expected) << "at " << percent << " %";
    EXPECT_LE(net.plan().arena_bytes, arena);
    EXPECT_LE(device.peak_bytes(), small.budget->limit);
    EXPECT_EQ(net.diagnostics().copies().bytes_out, predicted.bytes_out);
    EXPECT_EQ(net.diagnostics().copies().bytes_in, predicted.bytes_in);
    EXPECT_EQ(device.bytes_to_host() - out_resident, predicted.bytes_out);
    EXPECT_EQ(device.bytes_to_device() - in_resident, predicted.bytes_in);
  }
}

TEST_P(LmsModels, BelowTheLeastSaysWhatItIs) {
  SimDevice plenty(kPlenty);
  NetOptions planning = options(plenty);
  planning.plan_only = true;
  const Net resident(model_def(GetParam().model), planning);
  NetOptions small = with_arena(options(plenty), resident, least_arena(resident) * 9 / 10);
  const Error error = error_of([&] { Net(model_def(GetParam().model), small); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_TRUE(contains(error.cause(), "the largest values at the peak are "));
  EXPECT_TRUE(contains(error.fix(), "not even -lms auto makes it fit: layer "));
  EXPECT_EQ(plenty.bytes_in_use(), 0u);  // found before anything was taken
}

INSTANTIATE_TEST_SUITE_P(Nets, LmsModels,
                         testing::Values(Case{"lenet", 64, true}, Case{"resnet50", 1, true},
                                         Case{"bvlc_googlenet", 4, false}),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace robusta::test
