// Copies and steps that touch the same memory are ordered by the plan, whatever the streams' speeds: proved on the plan
// itself, pair by pair.

#include <gtest/gtest.h>

#include <array>

#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/lms.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// A range of the arena, or of the host's memory, that a step touches.
struct Access {
  bool host;
  size_t begin, end;
  bool writes;
  bool meets(const Access& other) const {
    return host == other.host && begin < other.end && other.begin < end && (writes || other.writes);
  }
};

size_t stream_of(const Step& step) {
  return step.kind == StepKind::kOffload ? 1 : step.kind == StepKind::kPrefetch ? 2 : 0;
}

std::vector<Access> accesses_of(const Plan& plan, const Step& step) {
  std::vector<Access> all;
  const auto touch = [&](int index, bool writes) {
    if (index < 0 || plan.values[static_cast<size_t>(index)].persistent) return;
    const Value& value = plan.values[static_cast<size_t>(index)];
    all.push_back({false, value.offset, value.offset + value.bytes, writes});
    if (is_copy(step.kind)) all.push_back({true, step.host_offset, step.host_offset + value.bytes, !writes});
  };
  for (const int value : step.bottoms) touch(value, step.kind != StepKind::kOffload);
  for (const auto* values : {&step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (const int value : *values) touch(value, true);
  }
  touch(step.saved, true);
  touch(step.scratch, true);
  return all;
}

/// For every step, up to which step of each stream all is surely done when it begins.
std::vector<std::array<int, 3>> knowledge(const Plan& plan) {
  std::vector<std::array<int, 3>> known(plan.steps.size(), {-1, -1, -1});
  std::array<int, 3> last{-1, -1, -1};
  const auto learn = [&](std::array<int, 3>& mine, int step) {
    const auto& theirs = known[static_cast<size_t>(step)];
    for (size_t i = 0; i < 3; ++i) mine[i] = std::max(mine[i], theirs[i]);
    int& own = mine[stream_of(plan.steps[static_cast<size_t>(step)])];
    own = std::max(own, step);
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const size_t stream = stream_of(plan.steps[s]);
    if (last[stream] >= 0) learn(known[s], last[stream]);
    for (const int wait : plan.steps[s].waits) learn(known[s], wait);
    last[stream] = static_cast<int>(s);
  }
  return known;
}

/// Pairs of steps of different streams that touch the same memory without order.
int races(const Plan& plan) {
  const auto known = knowledge(plan);
  std::vector<std::vector<Access>> accesses;
  for (const Step& step : plan.steps) accesses.push_back(accesses_of(plan, step));
  int found = 0;
  for (size_t b = 0; b < plan.steps.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      const size_t stream = stream_of(plan.steps[a]);
      if (known[b][stream] >= static_cast<int>(a) || stream == stream_of(plan.steps[b])) continue;
      for (const Access& x : accesses[a]) {
        for (const Access& y : accesses[b]) found += x.meets(y);
      }
    }
  }
  return found;
}

Plan plan_with(const std::string& model, double share) {
  SimDevice device(size_t{1} << 40);
  NetOptions options = resident_options(device, model.empty() ? 0 : 2);
  options.plan_only = true;
  const auto def = [&] { return model.empty() ? net_def(kBranchyNet) : model_def(model); };
  const Net resident(def(), options);
  const Net moved(def(), with_share(options, resident, share));
  EXPECT_GT(moved.plan().offloading.moved + moved.plan().offloading.repeated, 0);
  EXPECT_EQ(races(resident.plan()), 0);
  const Plan& plan = moved.plan();
  Plan copy;
  copy.values = plan.values;
  copy.steps = plan.steps;
  return copy;
}

TEST(CopyOrder, LeavesNoRace) {
  for (const double share : {0.7, 0.4, 0.1, 0.0}) {
    EXPECT_EQ(races(plan_with("", share)), 0) << "branchy net, " << share;
    EXPECT_EQ(races(plan_with("lenet", share)), 0) << "LeNet, " << share;
    EXPECT_EQ(races(plan_with("resnet50", share)), 0) << "ResNet-50, " << share;
    EXPECT_EQ(races(plan_with("bvlc_googlenet", share)), 0) << "GoogLeNet, " << share;
  }
}

// The proof sees every one of the waits: without any one of them there is a race.
TEST(CopyOrder, WaitsForNothingThatIsNotNeeded) {
  Plan plan = plan_with("", 0.3);
  int waits = 0;
  for (Step& step : plan.steps) {
    for (size_t i = 0; i < step.waits.size(); ++i, ++waits) {
      const std::vector<int> all = step.waits;
      step.waits.erase(step.waits.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_GT(races(plan), 0) << "step " << &step - plan.steps.data() << " need not wait for " << all[i];
      step.waits = all;
    }
  }
  EXPECT_GT(waits, 4);
}

}  // namespace
}  // namespace robusta::test
