// Collectives made of exchanges: what each rank gets, and in which order sums are made.
#include "comm/pairwise.h"

#include <gtest/gtest.h>

#include "comm/thread_ranks.h"

namespace robusta::test::pairwise_test {
namespace {

TEST(Pairwise, EachRankGetsItsPieceOfAll) {
  for (const int size : {1, 2, 3, 5}) {
    run_thread_ranks(size, [size](Communicator& ranks) {
      const int mine = ranks.rank();
      std::vector<int> out, in(static_cast<size_t>(2 * size)), want;
      for (int r = 0; r < size; ++r) {
        out.insert(out.end(), {100 * mine + r, -mine});
        want.insert(want.end(), {100 * r + mine, -r});
      }
      all_to_all(ranks, out.data(), 2 * sizeof(int), in.data());
      EXPECT_EQ(in, want) << "rank " << mine << " of " << size;
    });
  }
}

/// Also where the ranks do not divide the elements, or are more than these.
TEST(Pairwise, SumsHaveTheBitsOfTheOrderOfRanks) {
  const auto value = [](int rank, size_t i) { return 1.0f / static_cast<float>(3 * rank + 1 + static_cast<int>(i)); };
  for (const int size : {2, 3, 5}) {
    for (const size_t count : {1, 3, 10, 17}) {
      run_thread_ranks(size, [&](Communicator& ranks) {
        std::vector<float> data(count), want(count);
        for (size_t i = 0; i < count; ++i) {
          data[i] = value(ranks.rank(), i);
          want[i] = value(0, i);
          for (int r = 1; r < size; ++r) want[i] += value(r, i);
        }
        std::vector<std::byte> scratch;
        sum_in_order(ranks, data.data(), static_cast<int64_t>(count), DType::kF32, scratch);
        EXPECT_EQ(data, want) << "rank " << ranks.rank() << " of " << size;
      });
    }
  }
}

}  // namespace
}  // namespace robusta::test::pairwise_test
