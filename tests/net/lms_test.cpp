// Large model support: passes under a budget have the bits of the resident pass, whatever the streams' speeds, and copy
// what the plan has predicted.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/lms.h"
#include "support/nets.h"
#include "support/sanitizers.h"

namespace robusta::test {
namespace {

/// Loss, outputs, parameters and gradients of the second of two passes: what the first leaves behind must not matter.
std::vector<float> two_passes(Net& net) {
  fill_inputs(net, 1);
  run_once(net);
  return run_once(net);
}

Net branchy(const NetOptions& options) { return Net(net_def(kBranchyNet), options); }

class LmsKernels : public testing::TestWithParam<const char*> {};

TEST_P(LmsKernels, SameBitsUnderAnyBudget) {
  SimDevice plenty(kPlenty);
  NetOptions options = resident_options(plenty);
  options.kernels = GetParam();
  Net resident = branchy(options);
  const std::vector<float> expected = two_passes(resident);
  for (const double share : {0.9, 0.5, 0.0}) {
    NetOptions small = with_share(options, resident, share);
    SimDevice device(small.budget->limit, 20);
    small.device = &device;
    small.poison = true;
    Net net = branchy(small);
    EXPECT_GT(net.plan().offloading.moved + net.plan().offloading.repeated, 0);
    EXPECT_EQ(two_passes(net), expected) << "share " << share;
    EXPECT_LE(device.peak_bytes(), small.budget->limit);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LmsKernels, testing::Values("reference", "native", "auto"),
                         [](const auto& info) { return std::string(info.param); });

// Copies that are slower than the steps by orders of magnitude, and steps slower than copies: with a wait missing,
// somebody would read poison.
TEST(Lms, SameBitsWhoeverIsLate) {
  SimDevice plenty(kPlenty);
  Net resident = branchy(resident_options(plenty));
  const std::vector<float> expected = two_passes(resident);
  NetOptions small = with_share(resident_options(plenty), resident, 0.2);
  for (const auto& [copies_us, work_us] : {std::pair{0, 0}, {200, 0}, {1000, 0}, {0, 200}, {300, 100}}) {
    SimDevice device(kPlenty);
    device.set_lateness(copies_us, work_us);
    small.device = &device;
    small.poison = true;
    small.budget = std::make_shared<MemoryBudget>(*small.budget);
    small.budget->taken = 0;
    Net net = branchy(small);
    EXPECT_EQ(two_passes(net), expected) << "copies wait " << copies_us << " us, work " << work_us << " us";
    EXPECT_GE(net.diagnostics().copies().exposed_ms, 1e-3 * copies_us);
  }
}

/// Arithmetic alone: kernels that index or wait by what lies in memory would crash or hang on poison.
std::string arithmetic_net() {
  std::string text = R"(
input: "data" input_shape { dim: 16 dim: 32 }
input: "target" input_shape { dim: 16 dim: 32 })";
  std::string bottom = "data";
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    text += "\nlayer { name: 'ip" + n + "' type: 'InnerProduct' bottom: '" + bottom + "' top: 'ip" + n +
            "' inner_product_param { num_output: 32 weight_filler { type: 'xavier' } } }" + "\nlayer { name: 'tanh" +
            n + "' type: 'TanH' bottom: 'ip" + n + "' top: 'tanh" + n + "' }";
    bottom = "tanh" + n;
  }
  return text + "\nlayer { name: 'loss' type: 'EuclideanLoss' bottom: '" + bottom + "' bottom: 'target' top: 'loss' }";
}

// That this is what such a test would see: without the waits of the plan, results change.
TEST(Lms, MissingWaitsShow) {
#if ROBUSTA_THREAD_SANITIZER
  GTEST_SKIP() << "takes waits away, which is a data race on purpose";
#endif
  SimDevice plenty(kPlenty);
  NetOptions options = resident_options(plenty);
  options.kernels = "reference";
  Net resident(net_def(arithmetic_net()), options);
  const std::vector<float> expected = two_passes(resident);
  NetOptions small = with_share(options, resident, 0.2);
  for (const auto& [copies_us, work_us] : {std::pair{1000, 0}, {0, 1000}}) {
    SimDevice device(kPlenty);
    device.set_lateness(copies_us, work_us);
    small.device = &device;
    small.poison = true;
    small.budget = std::make_shared<MemoryBudget>(*small.budget);
    small.budget->taken = 0;
    Net net(net_def(arithmetic_net()), small);
    ASSERT_GT(net.plan().offloading.moved, 0);
    for (const Step& step : net.plan().steps) const_cast<Step&>(step).waits.clear();
    EXPECT_NE(two_passes(net), expected);
  }
}

TEST(Lms, CountsWhatThePlanPredicts) {
  SimDevice plenty(kPlenty);
  Net resident = branchy(resident_options(plenty));
  two_passes(resident);
  SimDevice device(kPlenty);
  NetOptions small = with_share(resident_options(plenty), resident, 0.2);
  small.device = &device;
  Net net = branchy(small);
  two_passes(net);
  const Offloading& predicted = net.plan().offloading;
  EXPECT_GT(predicted.bytes_out, 0u);
  EXPECT_EQ(net.diagnostics().copies().bytes_out, 2 * predicted.bytes_out);
  EXPECT_EQ(net.diagnostics().copies().bytes_in, 2 * predicted.bytes_in);
  // And nothing else has been copied but what the resident net copies, too.
  EXPECT_EQ(device.bytes_to_host() - plenty.bytes_to_host(), 2 * predicted.bytes_out);
  EXPECT_EQ(device.bytes_to_device() - plenty.bytes_to_device(), 2 * predicted.bytes_in);
}

TEST(Lms, ASteadyPassAllocatesNothing) {
  SimDevice plenty(kPlenty);
  Net resident = branchy(resident_options(plenty));
  SimDevice device(kPlenty);
  NetOptions small = with_share(resident_options(plenty), resident, 0.2);
  small.device = &device;
  Net net = branchy(small);
  const size_t planned = device.peak_bytes();
  EXPECT_EQ(planned, fixed_memory(net) + net.plan().arena_bytes);
  two_passes(net);
  EXPECT_EQ(device.peak_bytes(), planned);
}

// Forward alone leaves copies under way that nobody fetches back; the next pass, of this net or of one that shares its
// arena, must not trip over them.
TEST(Lms, ForwardAloneDisturbsNobody) {
  const auto passes = [](const NetOptions& options) {
    Net net = branchy(options);
    NetOptions testing = options;
    testing.phase = caffe::TEST;
    testing.backward = false;
    testing.share_params = &net;
    Net test(net_def(kBranchyNet, caffe::TEST), testing);
    fill_inputs(net, 1);
    fill_inputs(test, 1);
    const Pass pass{.seed = 3, .first_sample = 40, .next_sample = 44, .batch = net.batch()};
    std::vector<float> losses;
    for (int i = 0; i < 2; ++i) {
      losses.push_back(static_cast<float>(net.forward(pass)));
      losses.push_back(static_cast<float>(test.forward(pass)));
    }
    net.forward(pass);
    const std::vector<float> last = run_once(net);
    losses.insert(losses.end(), last.begin(), last.end());
    return losses;
  };
  SimDevice plenty(kPlenty);
  NetOptions options = resident_options(plenty);
  options.arena = std::make_shared<Arena>(plenty);
  const std::vector<float> expected = passes(options);

  SimDevice device(kPlenty);
  device.set_lateness(2000, 0);
  NetOptions small = with_share(resident_options(plenty), branchy(resident_options(plenty)), 0.2);
  small.budget->limit += 4096;  // for what the test net keeps
  small.device = &device;
  small.arena = std::make_shared<Arena>(device);
  EXPECT_EQ(passes(small), expected);
}

TEST(Lms, AThresholdMovesWhatIsAtLeastAsLarge) {
  SimDevice device(kPlenty);
  Net resident = branchy(resident_options(device));
  const std::vector<float> expected = two_passes(resident);
  size_t moved_before = 1000;
  for (const size_t kib : {0, 8, 32, 1000}) {
    NetOptions options = resident_options(device);
    options.lms.mode = LmsOptions::Mode::kThreshold;
    options.lms.min_bytes = kib * 1024;
    Net net = branchy(options);
    size_t moved = 0;
    for (const Step& step : net.plan().steps) {
      if (step.kind != StepKind::kPrefetch && step.kind != StepKind::kRepeat) continue;
      ++moved;
      EXPECT_GE(net.plan().values[step.tops[0]].bytes, kib * 1024);
    }
    EXPECT_LE(moved, moved_before);
    moved_before = moved;
    EXPECT_EQ(two_passes(net), expected) << kib << " KiB";
  }
  EXPECT_EQ(moved_before, 0u);
}

TEST(Lms, AFractionKeepsThatMuchOnTheDevice) {
  SimDevice device(kPlenty);
  Net resident = branchy(resident_options(device));
  const auto planned = [&](double fraction) {
    NetOptions options = with_share(resident_options(device), resident, 1);
    options.lms.mode = LmsOptions::Mode::kThreshold;
    options.lms.fraction = fraction;
    options.plan_only = true;
    const Offloading plan = branchy(options).plan().offloading;
    return plan.moved + plan.repeated;
  };
  EXPECT_EQ(planned(1.0), 0);
  EXPECT_GT(planned(0.9), 0);
  EXPECT_GT(planned(0.0), planned(0.9));
}

TEST(Lms, NothingMovesOnTheHost) {
  NetOptions options;
  options.lms.mode = LmsOptions::Mode::kThreshold;
  const Net net = branchy(options);
  EXPECT_FALSE(net.plan().offloading.planned);
}

TEST(Lms, RefusesMoreHostMemoryThanThereIs) {
  SimDevice device(kPlenty);
  NetOptions options = resident_options(device);
  options.lms.mode = LmsOptions::Mode::kThreshold;
  options.lms.processes = 1 << 30;
  const Error error = error_of([&] { branchy(options); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_TRUE(contains(error.cause(), "for each of 1073741824 processes"));
}

}  // namespace
}  // namespace robusta::test
