// Passes of large model support that are recorded with their copies: the bits, the copies and the memory of others, and
// no wait of the host's.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "net/run/gradient_sink.h"
#include "support/lms.h"
#include "support/nets.h"

namespace robusta::test::lms_graphs_test {
namespace {

constexpr int kPasses = 7;

struct Found {
  std::vector<float> values;
  GraphUse graphs;
  CopyTotals copies;
  size_t peak = 0, limit = 0;
  Offloading plan;
};

/// All values move, though there is room: what comes back waits for nothing but its way out.
constexpr double kAll = -1;

/// Under the plan of a net that has no room for all; every third pass adds to the gradients before. `share`: of the
/// room that may be missing; 1: nothing moves.
Found passes(SimDevice& device, double share, bool graphs, GradientSink* sink = nullptr) {
  SimDevice plenty(kPlenty, 0, "emulated");
  Net resident(net_def(kBranchyNet), resident_options(plenty));
  NetOptions options = with_share(resident_options(plenty), resident, std::max(share, 0.0));
  if (share == 1 || share == kAll) options = resident_options(plenty);
  if (share == kAll) options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = 0};
  device.set_graphs(graphs);
  options.device = &device;
  options.poison = true;
  Net net(net_def(kBranchyNet), options);
  fill_inputs(net, 1);
  Found found;
  for (int i = 0; i < kPasses; ++i) {
    const auto first = static_cast<uint64_t>(i * net.batch());
    const Pass pass{.seed = 3, .first_sample = first, .next_sample = first + 4, .batch = net.batch()};
    net.start_forward(pass);
    net.backward(pass, i % 3 == 2, sink);
    found.values.push_back(static_cast<float>(net.finish_forward()));
    for (const ParamPtr& param : net.params()) {
      for (const float g : net.blobs().read_param_diff(*param)) found.values.push_back(g);
    }
  }
  net.stream().synchronize();
  found.graphs = net.diagnostics().graphs();
  found.copies = net.diagnostics().copies();
  found.plan = net.plan().offloading;
  found.peak = device.peak_bytes();
  found.limit = options.budget ? options.budget->limit : kPlenty;
  return found;
}

// Copies that are late, and steps that are: with an edge missing somebody would read poison, or what was there before.
TEST(LmsGraphs, HaveTheBitsOfStepsWhoeverIsLate) {
  SimDevice roomy(kPlenty, 0, "emulated");
  const Found resident = passes(roomy, 1, false);
  for (const double share : {0.5, 0.2, 0.0, kAll}) {
    for (const auto& [copies_us, work_us] : {std::pair{0, 0}, {400, 0}, {0, 100}, {150, 60}}) {
      SimDevice stepwise(kPlenty, 0, "emulated"), recording(kPlenty, 0, "emulated");
      recording.set_lateness(copies_us, work_us);
      const Found steps = passes(stepwise, share, false), graphs = passes(recording, share, true);
      EXPECT_EQ(steps.values, resident.values);
      EXPECT_EQ(graphs.values, resident.values) << share << ": copies wait " << copies_us << " us, work " << work_us;
      EXPECT_EQ(graphs.graphs.why_not, "");
      EXPECT_EQ(graphs.graphs.recordings, 3);  // forward, backward, backward that adds
      EXPECT_EQ(steps.graphs.recordings, 0);
      EXPECT_LE(graphs.peak, graphs.limit);
      ASSERT_GT(graphs.plan.moved, 0);
      EXPECT_EQ(graphs.copies.bytes_out, kPasses * graphs.plan.bytes_out);
      EXPECT_EQ(graphs.copies.bytes_in, kPasses * graphs.plan.bytes_in);
      EXPECT_EQ(graphs.copies.bytes_out, steps.copies.bytes_out);
    }
  }
}

TEST(LmsGraphs, CountTheWaitsOfAllPasses) {
  // What else the machine does only adds to a wait: the least of three counts.
  double waited[] = {1e9, 1e9};
  for (int round = 0; round < 3; ++round) {
    for (const bool graphs : {false, true}) {
      SimDevice device(kPlenty, 0, "emulated");
      device.set_lateness(1000, 0);
      waited[graphs] = std::min(waited[graphs], passes(device, 0.0, graphs).copies.exposed_ms);
    }
  }
  EXPECT_GT(waited[1], 0.7 * waited[0]);
  EXPECT_LT(waited[1], 1.5 * waited[0]);
}

TEST(LmsGraphs, ASteadyPassIsFewLaunchesAndWaitsForNoStream) {
  SimDevice plenty(kPlenty, 0, "emulated"), device(kPlenty, 0, "emulated");
  Net resident(net_def(kBranchyNet), resident_options(plenty));
  NetOptions options = with_share(resident_options(plenty), resident, 0.2);
  options.device = &device;
  Net net(net_def(kBranchyNet), options);
  fill_inputs(net, 1);
  uint64_t launches = 0, synchronizations = 0, memory = 0;
  for (uint64_t i = 0; i < 6; ++i) {
    if (i == 4) {
      launches = device.launches(), synchronizations = device.synchronizations();
      memory = device.bytes_in_use();
    }
    const Pass pass{.seed = 3, .first_sample = 4 * i, .next_sample = 4 * i + 4, .batch = net.batch()};
    net.start_forward(pass);
    net.backward(pass, false);
    net.finish_forward();
  }
  EXPECT_EQ(device.synchronizations(), synchronizations);
  EXPECT_EQ(device.bytes_in_use(), memory);
  EXPECT_LE(device.launches() - launches, 2 * 8u);
}

/// With another seed all is recorded anew: two passes have each, of which the second is launched. `each` is called
/// behind a pass.
double waited_with_seeds(const std::function<void(Net&, uint64_t)>& each) {
  constexpr uint64_t kSeeds = 5;
  SimDevice plenty(kPlenty, 0, "emulated"), device(kPlenty, 0, "emulated");
  device.set_lateness(1000, 0);
  NetOptions options = resident_options(plenty);
  options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = 0};
  options.device = &device;
  Net net(net_def(kBranchyNet), options);
  fill_inputs(net, 1);
  for (uint64_t i = 0; i < 2 * kSeeds; ++i) {
    const Pass pass{.seed = i / 2, .first_sample = 4 * i, .next_sample = 4 * i + 4, .batch = net.batch()};
    net.start_forward(pass);
    net.backward(pass, false);
    net.finish_forward();
    each(net, i + 1);
  }
  net.stream().synchronize();
  return net.diagnostics().copies().exposed_ms;
}

TEST(LmsGraphs, ForgetCopiesOfRecordingsThatAreGone) {
  waited_with_seeds([](Net& net, uint64_t passes) {
    const CopyTotals copies = net.diagnostics().copies();
    EXPECT_EQ(copies.recordings, static_cast<size_t>(net.diagnostics().graphs().recordings)) << passes;
    EXPECT_EQ(copies.bytes_out, passes * net.plan().offloading.bytes_out);
  });
}

/// Whoever asks after each pass is told of its waits; who asks at the end has those of all.
TEST(LmsGraphs, CountTheWaitsOfRecordingsThatAreGone) {
  // What else the machine does only adds to a wait: the least of three counts.
  double asked = 1e9, all = 1e9;
  for (int round = 0; round < 3; ++round) {
    asked = std::min(asked, waited_with_seeds([](Net& net, uint64_t) {
                       net.stream().synchronize();
                       net.diagnostics().copies();
                     }));
    all = std::min(all, waited_with_seeds([](Net&, uint64_t) {}));
  }
  EXPECT_GT(all, 0.8 * asked);
}

/// Who hears of gradients gets them in the midst of copies.
struct Listener : GradientSink {
  void ready(Param&) override { ++heard; }
  int heard = 0;
};

TEST(LmsGraphs, BackwardThatIsListenedToIsNotRecorded) {
  for (const double share : {0.2, kAll}) {
    SimDevice roomy(kPlenty, 0, "emulated"), device(kPlenty, 0, "emulated");
    device.set_lateness(200, 0);
    Listener listener, other;
    const Found resident = passes(roomy, 1, false, &other), found = passes(device, share, true, &listener);
    EXPECT_EQ(found.values, resident.values) << share;
    EXPECT_EQ(found.graphs.recordings, 1);
    EXPECT_EQ(listener.heard, other.heard);
    EXPECT_GT(listener.heard, 0);
  }
}

/// Where somebody looks at the steps of forward alone its copies may be under way when backward is launched.
TEST(LmsGraphs, FollowForwardThatRanStepByStep) {
  SimDevice plenty(kPlenty, 0, "emulated");
  const auto gradients = [&](bool looks) {
    SimDevice device(kPlenty, 0, "emulated");
    device.set_lateness(looks ? 1500 : 0, 0);
    NetOptions options = resident_options(plenty);
    options.lms = {.mode = LmsOptions::Mode::kThreshold, .min_bytes = 0};
    options.device = &device;
    options.poison = true;
    Net net(net_def(kBranchyNet), options);
    fill_inputs(net, 1);
    std::vector<float> found;
    for (uint64_t i = 0; i < 5; ++i) {
      const Pass pass{.seed = 3, .first_sample = 4 * i, .next_sample = 4 * i + 4, .batch = net.batch()};
      if (looks && i == 4) net.diagnostics().set_step_watch([](const std::string&, bool) {});
      net.start_forward(pass);
      net.diagnostics().set_step_watch(nullptr);
      net.backward(pass, false);
      net.finish_forward();
      for (const ParamPtr& param : net.params()) {
        for (const float g : net.blobs().read_param_diff(*param)) found.push_back(g);
      }
    }
    EXPECT_EQ(net.diagnostics().graphs().recordings, 2);
    return found;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

/// A pass that failed leaves nothing behind that the next one trips over.
TEST(LmsGraphs, GoOnAfterAFailedPass) {
  SimDevice plenty(kPlenty, 0, "emulated"), device(kPlenty, 0, "emulated");
  Net resident(net_def(kBranchyNet), resident_options(plenty));
  NetOptions options = with_share(resident_options(plenty), resident, 0.2);
  options.device = &device;
  options.poison = true;
  Net net(net_def(kBranchyNet), options);
  fill_inputs(net, 1);
  const Pass pass{.seed = 3, .first_sample = 0, .next_sample = 4, .batch = net.batch()};
  std::vector<double> losses;
  for (int i = 0; i < 6; ++i) {
    net.start_forward(pass);
    if (i == 4) net.stream().run([] { throw std::runtime_error("the test's"); });
    net.backward(pass, false);
    if (i == 4) {
      EXPECT_THROW(net.stream().synchronize(), std::runtime_error);
    }
    losses.push_back(net.finish_forward());
  }
  for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
}

}  // namespace
}  // namespace robusta::test::lms_graphs_test
