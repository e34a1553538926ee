#include "memory/placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/philox.h"

namespace robusta {
namespace {

/// A value of so many bytes, alive from step `first` to step `last`.
Lifetime life(size_t bytes, int first, int last) { return {bytes, StepId(first), StepId(last)}; }

TEST(Placement, ValuesThatNeverMeetShareTheSamePlace) {
  const Placement p = place({life(640, 0, 1), life(640, 2, 3), life(640, 4, 4)});
  EXPECT_EQ(p.bytes, 640u);
}

TEST(Placement, ValuesThatMeetAtOneStepAreApart) {
  const Placement p = place({life(64, 0, 2), life(64, 2, 3)});
  EXPECT_EQ(p.bytes, 128u);
  EXPECT_NE(p.offsets[0], p.offsets[1]);
}

TEST(Placement, SmallValuesFillTheGapsOfLargeOnes) {
  // 0..1 and 3..4 hold a large value; the small ones live beside them.
  const Placement p = place({life(6400, 0, 1), life(64, 0, 4), life(6400, 3, 4), life(6400, 2, 2)});
  EXPECT_EQ(p.bytes, 6464u);
}

/// What is alive at one step, at most.
size_t most_alive(const std::vector<Lifetime>& values, int steps) {
  size_t most = 0;
  for (StepId step(0); step < StepId(steps); ++step) {
    size_t alive = 0;
    for (const Lifetime& value : values) alive += value.first <= step && step <= value.last ? value.bytes : 0;
    most = std::max(most, alive);
  }
  return most;
}

/// What a training step of LeNet has at a batch of 64. Largest first leaves gaps: it takes 5,529,600 bytes.
TEST(Placement, AnotherOrderIsTriedWhereOneLeavesGaps) {
  const std::vector<Lifetime> values = {
      life(3538944, 1, 2),  life(884736, 2, 16),  life(221184, 2, 17),   life(917504, 3, 4),
      life(1449472, 3, 3),  life(229376, 4, 5),   life(57344, 4, 15),    life(204800, 5, 13),
      life(128000, 6, 12),  life(128000, 11, 13), life(204800, 13, 14),  life(229376, 14, 15),
      life(917504, 15, 16), life(884736, 16, 17), life(1645952, 16, 16), life(3538944, 17, 18)};
  EXPECT_EQ(most_alive(values, 19), 4644864u);
  EXPECT_EQ(place(values).bytes, 4644864u);
}

TEST(Placement, NothingThatMeetsOverlapsInRandomCases) {
  PhiloxStream random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Lifetime> values;
    size_t apart = 0;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random.below(40));
      values.push_back(life(random.below(5000), first, first + static_cast<int>(random.below(12))));
      apart += align_up(values.back().bytes);
    }
    const Placement p = place(values);
    EXPECT_LE(p.bytes, apart);
    for (size_t a = 0; a < values.size(); ++a) {
      EXPECT_EQ(p.offsets[a] % kMemoryAlignment, 0u);
      EXPECT_LE(p.offsets[a] + values[a].bytes, p.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool meet = values[a].first <= values[b].last && values[b].first <= values[a].last;
        const bool overlap =
            p.offsets[a] < p.offsets[b] + values[b].bytes && p.offsets[b] < p.offsets[a] + values[a].bytes;
        EXPECT_FALSE(meet && overlap && values[a].bytes > 0 && values[b].bytes > 0);
      }
    }
  }
}

TEST(Placement, ApartNeverShares) {
  const Placement p = place_apart({life(100, 0, 0), life(100, 5, 5)});
  EXPECT_EQ(p.offsets[1], 128u);
  EXPECT_EQ(p.bytes, 256u);
}

}  // namespace
}  // namespace robusta
