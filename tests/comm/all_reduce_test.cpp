// Sums over ranks by every mode, against the sums made one after the other.
#include "comm/all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/str.h"
#include "comm/thread_ranks.h"
#include "support/ranks.h"

namespace robusta::test {
namespace {

constexpr size_t kLargest = 3'000'000;
const int64_t kCounts[] = {0, 1, 2, 15, 17, 100, 1023, 4096, 65'536, 100'003, 700'001};

/// Small whole numbers: every order of summing is exact.
template <typename T>
T whole(int rank, int64_t i) {
  return static_cast<T>((i * 37 + rank * 101) % 1009 - 500);
}

/// Fractions, whose sum depends on the order in its last bits.
template <typename T>
T fraction(int rank, int64_t i) {
  return static_cast<T>(std::sin(static_cast<double>(i * 31 + rank * 7 + 1)));
}

DdlOptions options_of(const std::string& text) { return parse_ddl_options(text); }

struct Reduction {
  std::shared_ptr<SharedMemory> memory;
  std::unique_ptr<AllReduce> all_reduce;

  Reduction(Communicator& comm, const std::string& text) {
    const DdlOptions options = options_of(text);
    memory = comm.allocate(kLargest);
    all_reduce = make_all_reduce(comm, find_topology(comm, options), options, memory, kLargest);
  }
};

template <typename T>
void check_exact(Communicator& comm, AllReduce& all_reduce, T* data) {
  for (const int64_t count : kCounts) {
    if (static_cast<size_t>(count) * sizeof(T) > kLargest) continue;
    for (int64_t i = 0; i < count; ++i) data[i] = whole<T>(comm.rank(), i);
    all_reduce.sum(data, count, dtype_of<T>());
    for (int64_t i = 0; i < count; ++i) {
      T expected = 0;
      for (int rank = 0; rank < comm.size(); ++rank) expected += whole<T>(rank, i);
      ASSERT_EQ(data[i], expected) << all_reduce.describe() << ", element " << i << " of " << count;
    }
  }
}

/// All ranks get the same bits, twice the same, near the true sum.
void check_bits(Communicator& comm, AllReduce& all_reduce, float* data, double tolerance) {
  constexpr int64_t kCount = 30'011;
  std::vector<float> first(kCount), all(static_cast<size_t>(kCount * comm.size()));
  for (int run = 0; run < 2; ++run) {
    for (int64_t i = 0; i < kCount; ++i) data[i] = fraction<float>(comm.rank(), i);
    all_reduce.sum(data, kCount, DType::kF32);
    comm.all_gather(data, kCount * sizeof(float), all.data());
    for (int rank = 0; rank < comm.size(); ++rank) {
      ASSERT_EQ(std::memcmp(all.data() + kCount * rank, data, kCount * sizeof(float)), 0) << all_reduce.describe();
    }
    if (run == 0) std::copy(data, data + kCount, first.begin());
  }
  ASSERT_EQ(std::memcmp(first.data(), data, kCount * sizeof(float)), 0) << "not the same from run to run";
  for (int64_t i = 0; i < kCount; ++i) {
    double expected = 0;
    for (int rank = 0; rank < comm.size(); ++rank) expected += fraction<float>(rank, i);
    ASSERT_NEAR(data[i], expected, tolerance * comm.size()) << all_reduce.describe();
  }
}

/// In the shared memory, beside it, and at an odd place in it.
void check_mode(Communicator& comm, const std::string& text) {
  Reduction reduction(comm, text);
  std::vector<float> outside(kLargest / sizeof(float));
  std::vector<double> outside64(kLargest / sizeof(double));
  check_exact(comm, *reduction.all_reduce, static_cast<float*>(reduction.memory->data()));
  check_exact(comm, *reduction.all_reduce, outside.data());
  check_exact(comm, *reduction.all_reduce, outside64.data());
  check_exact(comm, *reduction.all_reduce, static_cast<double*>(reduction.memory->data()));
  check_bits(comm, *reduction.all_reduce, static_cast<float*>(reduction.memory->data()) + 5, 1e-6);
  check_bits(comm, *reduction.all_reduce, outside.data(), 1e-6);
}

/// All modes that the number of ranks allows.
void check_modes(Communicator& comm) {
  check_mode(comm, "");
  for (const char* mode : {"m", "r", "n", "b"}) check_mode(comm, str("-mode ", mode, ":", comm.size()));
  for (int x = 1; x <= comm.size(); ++x) {
    if (comm.size() % x == 0) check_mode(comm, str("-mode c:", x, "x", comm.size() / x));
  }
  if (comm.size() == 8) check_mode(comm, "-mode b:2x2x2");
}

}  // namespace

TEST(AllReduceTest, Threads) {
  for (int ranks = 1; ranks <= 8; ++ranks) run_thread_ranks(ranks, check_modes);
}

TEST(AllReduceTest, ThreadsOnSeveralHosts) {
  run_thread_ranks(4, check_modes, 2);
  run_thread_ranks(5, check_modes, 2);
  run_thread_ranks(6, check_modes, 3);
}

TEST(AllReduceTest, World) { check_modes(world()); }

TEST(AllReduceTest, Times) {
  run_thread_ranks(
      4,
      [](Communicator& comm) {
        const Reduction reduction(comm, "-mode r:4");
        float* data = static_cast<float*>(reduction.memory->data());
        reduction.all_reduce->sum(data, 1024, DType::kF32);
        const auto times = reduction.all_reduce->take_times();
        ASSERT_EQ(times.size(), 1u);
        EXPECT_EQ(times[0].algorithm, "ring");
        EXPECT_EQ(times[0].dimension, "all (4 ranks, between hosts)");
        EXPECT_EQ(times[0].bytes, 4096 * 2 * 3 / 4);
        EXPECT_GT(times[0].seconds, 0);
        EXPECT_EQ(reduction.all_reduce->take_times()[0].bytes, 0);
      },
      2);
}

}  // namespace robusta::test
