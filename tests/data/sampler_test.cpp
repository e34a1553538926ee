// The order of records: each once per epoch, whoever asks.

#include "data/sampler.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace robusta::sampler_test {
namespace {

std::vector<int64_t> epoch_of(const Sampler& sampler, int64_t count, uint64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.push_back(sampler.index(epoch * static_cast<uint64_t>(count) + static_cast<uint64_t>(i)));
  return order;
}

TEST(SamplerTest, KeyOrderAgainAndAgain) {
  const Sampler sampler(3, false, 1);
  const std::vector<int64_t> want{0, 1, 2, 0, 1, 2, 0};
  for (size_t p = 0; p < want.size(); ++p) EXPECT_EQ(sampler.index(p), want[p]);
}

TEST(SamplerTest, EachShuffledEpochHoldsEachRecordOnce) {
  for (int64_t count : {1, 2, 3, 5, 10, 16, 17, 64, 1000, 65536, 65537}) {
    const Sampler sampler(count, true, 42);
    for (uint64_t epoch : {0, 1, 1000000}) {
      const auto order = epoch_of(sampler, count, epoch);
      const std::set<int64_t> seen(order.begin(), order.end());
      EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
  }
}

TEST(SamplerTest, EpochsAndKeysGiveOtherOrders) {
  const int64_t count = 100;
  const Sampler a(count, true, 1), b(count, true, 2);
  EXPECT_NE(epoch_of(a, count, 0), epoch_of(a, count, 1));
  EXPECT_NE(epoch_of(a, count, 0), epoch_of(b, count, 0));
  EXPECT_EQ(epoch_of(a, count, 7), epoch_of(Sampler(count, true, 1), count, 7));
}

// Each record should come at each place equally often. With 8 records and 4000 epochs a cell expects 500 and has a
// standard deviation of 21.
TEST(SamplerTest, PlacesAreUniform) {
  const int64_t count = 8, epochs = 4000;
  const Sampler sampler(count, true, 3);
  std::vector<std::vector<int>> cells(8, std::vector<int>(8, 0));
  for (int64_t e = 0; e < epochs; ++e) {
    const auto order = epoch_of(sampler, count, static_cast<uint64_t>(e));
    for (size_t place = 0; place < order.size(); ++place) ++cells[place][static_cast<size_t>(order[place])];
  }
  for (const auto& row : cells) {
    for (int hits : row) EXPECT_NEAR(hits, 500, 110);
  }
}

// Two neighbours stay neighbours no more often than by chance (2/count of all pairs).
TEST(SamplerTest, NeighboursPart) {
  const int64_t count = 1000;
  const Sampler sampler(count, true, 3);
  int together = 0;
  for (uint64_t e = 0; e < 20; ++e) {
    const auto order = epoch_of(sampler, count, e);
    for (size_t i = 1; i < order.size(); ++i) together += std::abs(order[i] - order[i - 1]) == 1;
  }
  EXPECT_NEAR(together, 40, 30);
}

TEST(SamplerTest, HugeSets) {
  const uint64_t count = (uint64_t{1} << 61) + 3;
  std::set<uint64_t> seen;
  for (uint64_t v = 0; v < 1000; ++v) {
    const uint64_t to = permuted(v, count, 9, 1);
    EXPECT_LT(to, count);
    seen.insert(to);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace robusta::sampler_test
