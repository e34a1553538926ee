// Results made by several threads and taken in their order.

#include "data/convert/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "base/philox.h"

namespace robusta::in_order_test {
namespace {

TEST(InOrderTest, GivesAllInTheirOrder) {
  for (const int threads : {0, 1, 2, 7}) {
    InOrder<int64_t> numbers({.count = 500,
                              .make =
                                  [](int64_t i) {
                                    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    return i * i;
                                  },
                              .bytes = [](const int64_t&) { return sizeof(int64_t); }},
                             threads, 100);
    for (int64_t i = 0; i < 500; ++i) ASSERT_EQ(numbers.next(), i * i) << threads;
  }
}

/// One that takes itself off a count when it ends.
class Counted {
 public:
  Counted(std::atomic<int>& alive, std::atomic<int>& most) : alive_(&alive) {
    const int now = ++alive;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
  }
  Counted(Counted&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  ~Counted() {
    if (alive_) --*alive_;
  }

 private:
  std::atomic<int>* alive_;
};

TEST(InOrderTest, KeepsNoMoreThanItMay) {
  constexpr int kThreads = 4, kMostWaiting = 10;
  std::atomic<int> alive = 0, most = 0;
  {
    InOrder<Counted> items({.count = 300,
                            .make = [&](int64_t) { return Counted(alive, most); },
                            .bytes = [](const Counted&) { return size_t{1}; }},
                           kThreads, kMostWaiting);
    for (int i = 0; i < 100; ++i) {
      const Counted taken = items.next();
      if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_LE(most, kMostWaiting + kThreads + 1);
    EXPECT_GT(most, 1);
  }  // ends before all have been made
  EXPECT_EQ(alive, 0);
}

TEST(InOrderTest, OneResultLargerThanTheBudgetIsMade) {
  InOrder<int64_t> numbers(
      {.count = 50, .make = [](int64_t i) { return i; }, .bytes = [](const int64_t&) { return size_t{1000}; }}, 3, 1);
  for (int64_t i = 0; i < 50; ++i) ASSERT_EQ(numbers.next(), i);
}

}  // namespace
}  // namespace robusta::in_order_test
