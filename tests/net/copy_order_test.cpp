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
  const auto touch = [&](ValueId index, bool writes) {
    if (!index || plan.values[index].persistent) return;
    const Value& value = plan.values[index];
    all.push_back({false, value.offset, value.offset + value.bytes, writes});
    if (is_copy(step.kind)) all.push_back({true, step.host_offset, step.host_offset + value.bytes, !writes});
  };
  for (const ValueId value : step.bottoms) touch(value, step.kind != StepKind::kOffload);
  for (const auto* values : {&step.tops, &step.bottom_diffs, &step.top_diffs}) {
    for (const ValueId value : *values) touch(value, true);
  }
  touch(step.saved, true);
  touch(step.scratch, true);
  return all;
}

/// For every step, up to which step of each stream all is surely done when it begins.
IdVector<StepId, std::array<StepId, 3>> knowledge(const Plan& plan) {
  IdVector<StepId, std::array<StepId, 3>> known(plan.steps.size());
  std::array<StepId, 3> last;
  const auto learn = [&](std::array<StepId, 3>& mine, StepId step) {
    const auto& theirs = known[step];
    for (size_t i = 0; i < 3; ++i) mine[i] = std::max(mine[i], theirs[i]);
    StepId& own = mine[stream_of(plan.steps[step])];
    own = std::max(own, step);
  };
  for (const StepId s : plan.steps.ids()) {
    const size_t stream = stream_of(plan.steps[s]);
    if (last[stream]) learn(known[s], last[stream]);
    for (const StepId wait : plan.steps[s].waits) learn(known[s], wait);
    last[stream] = s;
  }
  return known;
}

/// Pairs of steps of different streams that touch the same memory without order.
int races(const Plan& plan) {
  const auto known = knowledge(plan);
  IdVector<StepId, std::vector<Access>> accesses;
  for (const Step& step : plan.steps) accesses.push_back(accesses_of(plan, step));
  int found = 0;
  for (const StepId b : plan.steps.ids()) {
    for (StepId a(0); a < b; ++a) {
      const size_t stream = stream_of(plan.steps[a]);
      if (known[b][stream] >= a || stream == stream_of(plan.steps[b])) continue;
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
  for (const StepId s : plan.steps.ids()) {
    Step& step = plan.steps[s];
    for (size_t i = 0; i < step.waits.size(); ++i, ++waits) {
      const std::vector<StepId> all = step.waits;
      step.waits.erase(step.waits.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_GT(races(plan), 0) << "step " << s << " need not wait for " << all[i];
      step.waits = all;
    }
  }
  EXPECT_GT(waits, 4);
}

}  // namespace
}  // namespace robusta::test
