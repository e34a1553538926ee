// Collectives that are made of exchanges, for all small numbers of ranks, as threads.
#include "comm/sockets/collectives.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "comm/thread_ranks.h"

namespace robusta::test::collectives_test {
namespace {

/// No sum of them is exact in f32: another order would give other bits.
template <typename T>
std::vector<T> numbers_of(int rank, int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<T>(std::sin(1.0 + 3.0 * rank + 0.1 * static_cast<double>(i)));
  return numbers;
}

template <typename T>
void check_sum(Communicator& ranks, int64_t count, DType type) {
  std::vector<T> sum = numbers_of<T>(ranks.rank(), count), first = sum;
  std::vector<double> exact(sum.size());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<T> its = numbers_of<T>(rank, count);
    for (size_t i = 0; i < its.size(); ++i) exact[i] += its[i];
  }
  exchange_all_reduce(ranks, sum.data(), count, type);
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], exact[i], 1e-5) << ranks.size() << " ranks, " << i;
  first = sum;
  ranks.broadcast(first.data(), first.size() * sizeof(T), 0);
  ASSERT_EQ(sum, first) << "the same bits on all ranks";
}

}  // namespace

TEST(CollectivesTest, SumsOfEveryLength) {
  for (int size = 1; size <= 9; ++size) {
    run_thread_ranks(size, [](Communicator& ranks) {
      for (const int64_t count : {0, 1, 5, 1000, 50'001}) {
        check_sum<float>(ranks, count, DType::kF32);
        check_sum<double>(ranks, count, DType::kF64);
      }
    });
  }
}

TEST(CollectivesTest, BroadcastFromEveryRank) {
  for (int size = 1; size <= 9; ++size) {
    run_thread_ranks(size, [](Communicator& ranks) {
      for (int root = 0; root < ranks.size(); ++root) {
        std::vector<float> data = numbers_of<float>(ranks.rank(), 77);
        exchange_broadcast(ranks, data.data(), data.size() * sizeof(float), root);
        ASSERT_EQ(data, numbers_of<float>(root, 77));
      }
    });
  }
}

TEST(CollectivesTest, GatherInTheOrderOfRanks) {
  for (int size = 1; size <= 9; ++size) {
    run_thread_ranks(size, [](Communicator& ranks) {
      const std::vector<float> mine = numbers_of<float>(ranks.rank(), 13);
      std::vector<float> all(13 * static_cast<size_t>(ranks.size())), wanted;
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const std::vector<float> its = numbers_of<float>(rank, 13);
        wanted.insert(wanted.end(), its.begin(), its.end());
      }
      exchange_all_gather(ranks, mine.data(), 13 * sizeof(float), all.data());
      ASSERT_EQ(all, wanted);
      exchange_all_gather(ranks, nullptr, 0, nullptr);
    });
  }
}

TEST(CollectivesTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (int size = 1; size <= 9; ++size) {
    std::atomic<int> came{0};
    run_thread_ranks(size, [&](Communicator& ranks) {
      for (int round = 1; round <= 20; ++round) {
        ++came;
        exchange_barrier(ranks);
        ASSERT_GE(came, round * size);
        ranks.barrier();
      }
    });
  }
}

}  // namespace robusta::test::collectives_test
