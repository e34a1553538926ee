// What plan_residency promises: small cases worked out by hand, and what must hold for any.

#include "memory/plan_residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/philox.h"
#include "memory/placement.h"

namespace robusta::test {
namespace {

/// A block with its uses: at which step, and whether that writes.
MemoryBlock block(size_t bytes, const std::vector<std::pair<int, bool>>& uses) {
  MemoryBlock block{.bytes = bytes};
  for (const auto& [step, writes] : uses) block.uses.push_back({StepId(step), writes});
  return block;
}

/// What one step makes again: that which reads other blocks at these steps.
MemoryBlock::Repeat repeat(int made, double seconds, size_t scratch, const std::vector<std::pair<int, int>>& needs) {
  MemoryBlock::Repeat repeat{.made = StepId(made), .seconds = seconds, .scratch = scratch};
  for (const auto& [block, step] : needs) repeat.needs.push_back({BlockId(block), StepId(step)});
  return repeat;
}

/// A chain of layers: forward step i writes value i from value i - 1, backward reads them in reverse. Every value has
/// `bytes`, every step takes a second.
ResidencyProblem chain(int layers, size_t bytes) {
  ResidencyProblem problem;
  problem.step_seconds.assign(static_cast<size_t>(2 * layers), 1);
  problem.across = StepId(layers);
  for (int i = 0; i < layers; ++i) {
    std::vector<std::pair<int, bool>> uses{{i, true}};
    if (i + 1 < layers) uses.push_back({i + 1, false});
    uses.push_back({2 * layers - 1 - i, false});
    problem.blocks.push_back(block(bytes, uses));
  }
  return problem;
}

/// All that has to hold for whatever the planner returns.
void expect_sound(const ResidencyProblem& problem, const Residency& residency) {
  std::map<BlockId, std::vector<Stay>> stays;
  std::map<BlockId, std::vector<Absence>> absences;
  for (const Stay& stay : residency.stays) stays[stay.block].push_back(stay);
  for (const Absence& absence : residency.absences) absences[absence.block].push_back(absence);
  const auto there = [&](BlockId b, StepId step) {
    return std::any_of(stays[b].begin(), stays[b].end(),
                       [&](const Stay& stay) { return stay.first <= step && step <= stay.last; });
  };

  size_t out = 0, in = 0;
  for (const BlockId b : problem.blocks.ids()) {
    const MemoryBlock& block = problem.blocks[b];
    ASSERT_EQ(stays[b].size(), absences[b].size() + 1);
    EXPECT_EQ(stays[b].front().first, block.uses.front().step);
    const StepId last_wanted = absences[b].empty() ? StepId(0) : absences[b].back().before;
    EXPECT_EQ(stays[b].back().last, std::max(block.uses.back().step, last_wanted));
    for (const BlockUse& use : block.uses) EXPECT_TRUE(there(b, use.step)) << "block " << b << " at " << use.step;
    StepId host_has_since;  // the last step whose content the host holds
    for (size_t i = 0; i < absences[b].size(); ++i) {
      const Absence& absence = absences[b][i];
      EXPECT_TRUE(block.movable);
      EXPECT_LT(absence.released, absence.fetched);
      EXPECT_EQ(stays[b][i].last, absence.released);
      EXPECT_EQ(stays[b][i + 1].first, absence.fetched);
      EXPECT_LE(absence.after, absence.released);
      EXPECT_LE(absence.fetched, absence.before);
      if (absence.repeated) {
        ASSERT_TRUE(block.repeat.has_value());
        EXPECT_LE(block.repeat->made, absence.after);
        for (const auto& [need, read] : block.repeat->needs) {
          EXPECT_TRUE(there(need, absence.before)) << "block " << b << " needs " << need << " at " << absence.before;
          for (const BlockUse& use : problem.blocks[need].uses) {
            EXPECT_FALSE(use.writes && use.step > read && use.step < absence.before);
          }
        }
        continue;
      }
      if (absence.copied_out) host_has_since = absence.after, out += block.bytes;
      EXPECT_TRUE(host_has_since);
      for (const BlockUse& use : block.uses) {
        EXPECT_FALSE(use.writes && use.step > host_has_since && use.step <= absence.after) << "the host's copy is old";
      }
      in += block.bytes;
    }
  }
  EXPECT_EQ(residency.bytes_out, out);
  EXPECT_EQ(residency.bytes_in, in);

  for (size_t i = 0; i < residency.stays.size(); ++i) {
    const Stay& a = residency.stays[i];
    const size_t a_end = a.offset + problem.blocks[a.block].bytes;
    EXPECT_LE(a_end, residency.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const Stay& b = residency.stays[j];
      const bool meet = a.first <= b.last && b.first <= a.last;
      const bool overlap = a.offset < b.offset + problem.blocks[b.block].bytes && b.offset < a_end;
      EXPECT_FALSE(meet && overlap) << "stays of " << a.block << " and " << b.block;
    }
  }
}

TEST(Residency, NothingMovesWhenAllFits) {
  ResidencyProblem problem = chain(4, 64);
  problem.budget = 256;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_TRUE(residency.absences.empty());
  EXPECT_EQ(residency.arena_bytes, 256u);
  EXPECT_EQ(residency.cost(), 0);
}

// Steps 0 1 2 3 | 4 5 6 7; value 0 is used at 0, 1 and 7, value 1 at 1, 2 and 6. One has to go: that which is needed
// furthest in the future. It leaves after step 1 and, at 64 bytes per second, has left when step 2 ends; the copy back
// takes step 6. So step 2 still sees all four... which there are only from step 3 on.
TEST(Residency, EvictsTheFurthestNextUse) {
  ResidencyProblem problem = chain(4, 64);
  problem.budget = 192;
  problem.out_rate = problem.in_rate = 64;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  ASSERT_EQ(residency.absences.size(), 1u);
  const Absence& away = residency.absences[0];
  EXPECT_EQ(away.block, BlockId(0));
  EXPECT_EQ(away.after, StepId(1));
  EXPECT_EQ(away.released, StepId(2));
  EXPECT_EQ(away.fetched, StepId(6));
  EXPECT_EQ(away.before, StepId(7));
  EXPECT_EQ(residency.exposed_seconds, 0);
  EXPECT_EQ(residency.bytes_out, 64u);
  EXPECT_EQ(residency.bytes_in, 64u);
}

// The same at half the rate and with no room to spare: two seconds out, of which step 2 hides one... the memory is
// wanted at step 3. The copy in may begin before step 5, when value 3 and 2 have gone, and is hidden.
TEST(Residency, SaysHowLongStepsWait) {
  ResidencyProblem problem = chain(4, 64);
  problem.budget = 192;
  problem.out_rate = problem.in_rate = 32;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  ASSERT_EQ(residency.absences.size(), 1u);
  EXPECT_EQ(residency.absences[0].released, StepId(2));
  EXPECT_EQ(residency.absences[0].fetched, StepId(5));
  EXPECT_DOUBLE_EQ(residency.exposed_seconds, 1);
}

// A large value used soon, a small one used late: freeing the large one is worth its transfer, as the small one alone
// would not make room.
TEST(Residency, WeighsBytes) {
  ResidencyProblem problem;
  problem.step_seconds.assign(8, 1);
  problem.blocks = {block(64, {{0, true}, {7, false}}), block(640, {{0, true}, {6, false}}),
                    block(640, {{3, true}, {4, false}})};
  problem.budget = 704;
  problem.out_rate = problem.in_rate = 640;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_LE(residency.arena_bytes, 704u);
  ASSERT_EQ(residency.absences.size(), 1u);
  EXPECT_EQ(residency.absences[0].block, BlockId(1));
}

// Value 1 is made from value 0 by a cheap step 1. Both are wanted at the end; 0 has to be there then anyway. In steps 3
// and 4 there is one value too many.
ResidencyProblem repeatable() {
  ResidencyProblem problem;
  problem.step_seconds.assign(8, 1);
  problem.blocks = {block(64, {{0, true}, {1, false}, {7, false}}), block(64, {{1, true}, {2, false}, {6, false}}),
                    block(64, {{3, true}, {4, false}})};
  problem.blocks[BlockId(1)].repeat = repeat(1, 0.1, 0, {{0, 1}});
  problem.budget = 128;
  problem.out_rate = problem.in_rate = 16;
  return problem;
}

TEST(Residency, RepeatsWhatIsCheaperThanItsTransfer) {
  const ResidencyProblem problem = repeatable();
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_LE(residency.arena_bytes, 128u);
  ASSERT_EQ(residency.absences.size(), 1u);
  EXPECT_EQ(residency.absences[0].block, BlockId(1));
  EXPECT_TRUE(residency.absences[0].repeated);
  EXPECT_EQ(residency.bytes_out + residency.bytes_in, 0u);
  EXPECT_DOUBLE_EQ(residency.cost(), 0.1);
}

TEST(Residency, RepeatsNothingThatCostsMoreThanItsTransfer) {
  ResidencyProblem problem = repeatable();
  problem.blocks[BlockId(1)].repeat->seconds = 100;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  ASSERT_EQ(residency.absences.size(), 1u);
  EXPECT_FALSE(residency.absences[0].repeated);
}

TEST(Residency, RepeatsNothingWhoseInputIsOverwritten) {
  ResidencyProblem problem = repeatable();
  problem.blocks[BlockId(0)].uses[1].writes = true;  // step 1 works in place
  problem.blocks[BlockId(0)].uses.insert(problem.blocks[BlockId(0)].uses.begin() + 2, {StepId(2), true});
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  for (const Absence& absence : residency.absences) EXPECT_FALSE(absence.repeated);
}

// Value 2 is made from values 0 and 1, and 1 from 0, which alone is wanted afterwards: 1 is made again for 2's sake.
TEST(Residency, RepeatsWhatARepeatedStepReads) {
  ResidencyProblem problem;
  problem.step_seconds.assign(9, 1);
  problem.blocks = {block(64, {{0, true}, {1, false}, {2, false}, {8, false}}), block(64, {{1, true}, {2, false}}),
                    block(64, {{2, true}, {3, false}, {7, false}}), block(128, {{4, true}, {5, false}})};
  problem.blocks[BlockId(1)].repeat = repeat(1, 0.1, 0, {{0, 1}});
  problem.blocks[BlockId(2)].repeat = repeat(2, 0.2, 0, {{0, 2}, {1, 2}});
  problem.budget = 192;
  problem.out_rate = problem.in_rate = 8;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_LE(residency.arena_bytes, 192u);
  ASSERT_EQ(residency.absences.size(), 2u);
  EXPECT_EQ(residency.absences[0].block, BlockId(1));
  EXPECT_EQ(residency.absences[0].before, StepId(7));
  EXPECT_EQ(residency.absences[1].block, BlockId(2));
  EXPECT_TRUE(residency.absences[0].repeated && residency.absences[1].repeated);
  EXPECT_EQ(residency.bytes_out + residency.bytes_in, 0u);
  EXPECT_NEAR(residency.cost(), 0.3, 1e-12);
}

// The second time the content leaves, the host still has it.
TEST(Residency, CopiesOutOnce) {
  ResidencyProblem problem;
  problem.step_seconds.assign(9, 1);
  problem.blocks = {block(64, {{0, true}, {4, false}, {8, false}}), block(64, {{1, true}, {3, false}}),
                    block(64, {{5, true}, {7, false}})};
  problem.budget = 64;
  for (MemoryBlock& b : problem.blocks) b.movable = &b == &problem.blocks[BlockId(0)];
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_EQ(residency.arena_bytes, 64u);
  ASSERT_EQ(residency.absences.size(), 2u);
  EXPECT_TRUE(residency.absences[0].copied_out);
  EXPECT_FALSE(residency.absences[1].copied_out);
  EXPECT_EQ(residency.bytes_in, 2 * residency.bytes_out);
}

TEST(Residency, ThresholdMovesAllLargeBlocksBetweenForwardAndBackward) {
  ResidencyProblem problem = chain(5, 128);
  problem.blocks[BlockId(1)].bytes = 64;
  problem.goal = 0;
  problem.min_bytes = 100;
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  std::vector<BlockId> moved;
  for (const Absence& absence : residency.absences) moved.push_back(absence.block);
  EXPECT_EQ(moved,
            (std::vector<BlockId>{BlockId(0), BlockId(2), BlockId(3)}));  // 4 is used by the first step of backward
}

TEST(Residency, SaysWhatIsTheLeastWhenNothingFits) {
  ResidencyProblem problem = chain(6, 64);
  problem.budget = 64;  // a step uses two values
  const Residency residency = plan_residency(problem);
  expect_sound(problem, residency);
  EXPECT_EQ(residency.arena_bytes, 128u);
}

/// A net of random shape: values of random size, used in forward once or twice and in backward up to twice.
ResidencyProblem random_problem(uint64_t seed) {
  PhiloxStream random(random_key(seed, "net", "residency"));
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<uint64_t>(n))); };
  ResidencyProblem problem;
  const int forward = 6 + below(20), steps = 2 * forward;
  for (int s = 0; s < steps; ++s) problem.step_seconds.push_back(1e-3 * (1 + below(10)));
  for (int s = 0; s < forward; ++s) {
    std::vector<std::pair<int, bool>> uses{{s, true}};
    const auto use = [&](int step) {
      if (step > uses.back().first && step < steps) uses.push_back({step, below(8) == 0});
    };
    use(s + 1 + below(2));
    use(s + 3 + below(3));
    use(steps - 1 - s - below(2));
    if (below(2)) use(uses.back().first + 1 + below(3));
    problem.blocks.push_back(block(static_cast<size_t>(64 * (1 + below(40))), uses));
    if (s > 0 && below(3) == 0) {
      problem.blocks.back().repeat = repeat(s, 1e-4, static_cast<size_t>(64 * below(3)), {{s - 1, s}});
    }
    if (below(10) == 0) problem.blocks.back().movable = false;
  }
  problem.out_rate = problem.in_rate = 1e4 * (1 + below(100));
  return problem;
}

class RandomNets : public testing::TestWithParam<int> {};

TEST_P(RandomNets, KeepToTheBudgetWithEveryUseResident) {
  ResidencyProblem problem = random_problem(static_cast<uint64_t>(GetParam()));
  const size_t resident = plan_residency(problem).arena_bytes;
  problem.budget = 0;
  const size_t least = plan_residency(problem).arena_bytes;
  EXPECT_LE(least, resident);
  for (const double share : {0.0, 0.25, 0.5, 0.9}) {
    problem.budget = least + static_cast<size_t>(share * static_cast<double>(resident - least));
    const Residency residency = plan_residency(problem);
    expect_sound(problem, residency);
    EXPECT_LE(residency.arena_bytes, problem.budget) << "share " << share;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNets, testing::Range(0, 60));

}  // namespace
}  // namespace robusta::test
