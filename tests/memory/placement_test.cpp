#include "memory/placement.h"

#include <gtest/gtest.h>

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
