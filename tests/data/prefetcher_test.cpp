// Batches ahead: order, memory, failures, ends.

#include "data/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>

namespace robusta::prefetcher_test {
namespace {

/// Sample p has the value p + 1000 * seed. May fail at some samples, and counts.
class CountingFiller : public BatchFiller {
 public:
  BatchLayout layout(const BatchPlan& plan) const override {
    if (plan.first == fails_to_open_) throw Error(ErrorKind::kData, "cannot open");
    ++opened_;
    return BatchLayout({Shape{plan.size}});
  }
  void fill(Batch& batch, int64_t begin, int64_t end) const override {
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t position = batch.plan.first + static_cast<uint64_t>(i);
      if (position % 100 >= 100 - fails_per_hundred_)
        throw Error(ErrorKind::kData, "sample " + std::to_string(position));
      batch.numbers(0)[i] = static_cast<float>(position + 1000 * batch.plan.seed);
    }
  }

  bool slow_ = false;
  uint64_t fails_per_hundred_ = 0, fails_to_open_ = ~uint64_t{0};
  mutable std::atomic<int> opened_ = 0;
};

void expect_batch(const Batch& batch, const BatchPlan& plan) {
  ASSERT_EQ(batch.plan, plan);
  ASSERT_EQ(batch.layout.tops()[0].count(), plan.size);
  for (int64_t i = 0; i < plan.size; ++i) {
    ASSERT_EQ(batch.numbers(0)[i], static_cast<float>(plan.first + static_cast<uint64_t>(i) + 1000 * plan.seed));
  }
}

TEST(PrefetcherTest, InOrderForAnyThreadsAndDepth) {
  for (int threads : {1, 2, 5}) {
    for (int depth : {1, 3}) {
      const CountingFiller filler;
      Prefetcher prefetcher(filler, depth, threads);
      for (uint64_t first = 0; first < 700; first += 7)
        expect_batch(prefetcher.take({3, first, 7}, first + 7), {3, first, 7});
    }
  }
}

TEST(PrefetcherTest, ReadsAheadAndNoFurther) {
  const CountingFiller filler;
  Prefetcher prefetcher(filler, 3, 2);
  EXPECT_EQ(filler.opened_, 0);
  prefetcher.take({1, 0, 4}, 4);
  for (int wait = 0; wait < 1000 && filler.opened_ < 4; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(filler.opened_, 4);  // the one taken and three ahead
}

TEST(PrefetcherTest, StridesOfRanks) {
  const CountingFiller filler;
  Prefetcher prefetcher(filler, 4, 2);
  for (uint64_t first = 8; first < 800; first += 24)
    expect_batch(prefetcher.take({1, first, 8}, first + 24), {1, first, 8});
  EXPECT_LE(filler.opened_, 33 + 4);  // nothing was made in vain
}

TEST(PrefetcherTest, JumpsAnywhere) {
  CountingFiller filler;
  filler.slow_ = true;
  Prefetcher prefetcher(filler, 3, 3);
  for (uint64_t round = 0; round < 12; ++round) {
    for (uint64_t first : {50 * round, 50 * round + 5, uint64_t{0}, uint64_t{3}}) {
      const BatchPlan plan{round % 2, first, static_cast<int64_t>(1 + round)};
      expect_batch(prefetcher.take(plan, first + 5), plan);
    }
  }
}

TEST(PrefetcherTest, FollowsAForetoldReturn) {
  const CountingFiller filler;
  Prefetcher prefetcher(filler, 2, 2);
  for (int round = 0; round < 5; ++round) {
    for (uint64_t first : {0, 4, 8})
      expect_batch(prefetcher.take({1, first, 4}, first == 8 ? 0 : first + 4), {1, first, 4});
  }
}

TEST(PrefetcherTest, TheFirstFailureIsTold) {
  for (int round = 0; round < 30; ++round) {
    CountingFiller filler;
    filler.fails_per_hundred_ = 60;
    Prefetcher prefetcher(filler, 2, 4);
    try {
      prefetcher.take({1, 0, 100}, 100);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.cause(), "sample 40");
    }
    expect_batch(prefetcher.take({1, 100, 20}, 120), {1, 100, 20});
  }
}

TEST(PrefetcherTest, FailureToOpen) {
  CountingFiller filler;
  filler.fails_to_open_ = 8;
  Prefetcher prefetcher(filler, 4, 2);
  expect_batch(prefetcher.take({1, 0, 4}, 4), {1, 0, 4});
  expect_batch(prefetcher.take({1, 4, 4}, 8), {1, 4, 4});
  EXPECT_THROW(prefetcher.take({1, 8, 4}, 12), Error);
  EXPECT_THROW(prefetcher.take({1, 8, 4}, 12), Error);
  expect_batch(prefetcher.take({1, 12, 4}, 16), {1, 12, 4});
}

TEST(PrefetcherTest, CountsTheWait) {
  CountingFiller filler;
  filler.slow_ = true;
  Prefetcher prefetcher(filler, 1, 1);
  for (uint64_t first = 0; first < 40; first += 4) prefetcher.take({1, first, 4}, first + 4);
  EXPECT_GT(prefetcher.seconds_waited(), 10 * 2 * 0.002 * 0.5);
}

/// A copy to a device that the test ends by hand.
class HeldEvent : public Event {
 public:
  void wait() override {
    while (!done_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  bool reached() override { return done_; }
  void end() { done_ = true; }

 private:
  std::atomic<bool> done_ = false;
};

TEST(PrefetcherTest, MemoryThatIsStillBeingCopiedIsNotWrittenOver) {
  const CountingFiller filler;
  Prefetcher prefetcher(filler, 2, 2);
  std::vector<std::shared_ptr<HeldEvent>> copies;
  std::vector<const float*> memory;
  std::set<const void*> all;
  for (uint64_t first = 0; first < 400; first += 4) {
    if (copies.size() == 2) {  // what is still copied is as it was
      const auto value = static_cast<float>(first - 8 + 1000);
      EXPECT_EQ(memory[0][0], value);
      EXPECT_EQ(memory[1][3], value + 4 + 3);
      copies.front()->end();
      copies.erase(copies.begin());
      memory.erase(memory.begin());
    }
    Batch& batch = prefetcher.take({1, first, 4}, first + 4);
    expect_batch(batch, {1, first, 4});
    batch.reader = copies.emplace_back(std::make_shared<HeldEvent>());
    memory.push_back(batch.numbers(0));
    all.insert(batch.numbers(0));
  }
  EXPECT_LE(all.size(), 2U + 3U);
  for (const auto& copy : copies) copy->end();
}

TEST(PrefetcherTest, EndsInTheMiddle) {
  for (int round = 0; round < 50; ++round) {
    CountingFiller filler;
    filler.slow_ = round % 2;
    Prefetcher prefetcher(filler, 4, 3);
    if (round % 3) prefetcher.take({1, 0, 3}, 3);
  }
}

}  // namespace
}  // namespace robusta::prefetcher_test
