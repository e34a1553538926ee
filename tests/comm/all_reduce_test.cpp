// Sums over ranks by every mode, against the sums made one after the other.
#include "comm/all_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/str.h"
#include "comm/rank_file.h"
#include "comm/thread_ranks.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/ranks.h"

namespace robusta::test::all_reduce_test {
namespace {

constexpr size_t kLargest = 1'000'000;
const int64_t kCounts[] = {0, 1, 2, 15, 17, 100, 1023, 4096, 20'011, 200'003};

/// Small whole numbers: every order of summing is exact.
template <typename T>
T whole(int rank, int64_t i) {
  return static_cast<T>((i & 127) * (rank + 1) - 300);
}
template <typename T>
T all_wholes(int ranks, int64_t i) {
  return static_cast<T>((i & 127) * ranks * (ranks + 1) / 2 - 300 * ranks);
}

/// Fractions, whose sum depends on the order in its last bits.
template <typename T>
T fraction(int rank, int64_t i) {
  return static_cast<T>(std::sin(static_cast<double>(i * 31 + rank * 7 + 1)));
}

/// A rank that merely stopped would leave its peers waiting.
[[noreturn]] void fail(const std::string& what) { throw std::logic_error(what); }

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
      const T expected = all_wholes<T>(comm.size(), i);
      if (data[i] != expected)
        fail(str(all_reduce.describe(), ": element ", i, " of ", count, " is ", data[i], ", not ", expected));
    }
  }
}

/// All ranks get the same bits, twice the same, near the true sum.
void check_bits(Communicator& comm, AllReduce& all_reduce, float* data, double tolerance) {
  constexpr int64_t kCount = 5'011;
  std::vector<float> first(kCount), all(static_cast<size_t>(kCount * comm.size()));
  for (int run = 0; run < 2; ++run) {
    for (int64_t i = 0; i < kCount; ++i) data[i] = fraction<float>(comm.rank(), i);
    all_reduce.sum(data, kCount, DType::kF32);
    comm.all_gather(data, kCount * sizeof(float), all.data());
    for (int rank = 0; rank < comm.size(); ++rank) {
      const bool same = std::memcmp(all.data() + kCount * rank, data, kCount * sizeof(float)) == 0;
      if (!same) fail(str(all_reduce.describe(), ": ranks ", rank, " and ", comm.rank(), " have other bits"));
    }
    if (run == 0) std::copy(data, data + kCount, first.begin());
  }
  if (std::memcmp(first.data(), data, kCount * sizeof(float))) fail("not the same from run to run");
  for (int64_t i = 0; i < kCount; ++i) {
    double expected = 0;
    for (int rank = 0; rank < comm.size(); ++rank) expected += fraction<float>(rank, i);
    const double off = std::abs(data[i] - expected);
    if (!(off <= tolerance * comm.size())) fail(str(all_reduce.describe(), ": element ", i, " is off by ", off));
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
  if (comm.size() != 3 && comm.size() != 8) return;
  check_mode(comm, str("-mode p:", comm.size()));
  check_mode(comm, "auto");
}

/// Measured choices of the tests stay with the tests.
class AllReduceTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  TempDir folder_;
};

/// What rank 0 says at start.
std::vector<std::string> notes_of(int ranks, int hosts, const std::string& ddl) {
  std::vector<std::string> notes;
  const auto body = [&](Communicator& comm) {
    const Reduction reduction(comm, ddl);
    if (comm.rank() == 0) notes = reduction.all_reduce->notes();
  };
  run_thread_ranks(ranks, body, hosts);
  return notes;
}

}  // namespace

TEST_F(AllReduceTest, Threads) {
  for (const int ranks : {1, 2, 3, 4, 6}) run_thread_ranks(ranks, check_modes);
}

TEST_F(AllReduceTest, ThreadsExhaustive) {
  for (const int ranks : {5, 7, 8}) run_thread_ranks(ranks, check_modes);
}

TEST_F(AllReduceTest, ThreadsOnSeveralHosts) {
  run_thread_ranks(4, check_modes, 2);
  run_thread_ranks(5, check_modes, 2);
  run_thread_ranks(6, check_modes, 3);
}

TEST_F(AllReduceTest, World) { check_modes(world()); }

TEST_F(AllReduceTest, Times) {
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

TEST_F(AllReduceTest, BytesAreThoseOnTheWire) {
  run_thread_ranks(
      4,
      [](Communicator& comm) {
        constexpr int64_t kCount = 1024, kExact = 8;
        const auto sent = [&](const std::string& mode) {
          const Reduction reduction(comm, mode);
          reduction.all_reduce->sum(reduction.memory->data(), kCount, DType::kF32, kExact);
          const double bytes = reduction.all_reduce->take_times().back().bytes;
          return bytes / (2 * 3 / 4.0);  // of four members each sends 3/4 of the data, and again
        };
        EXPECT_EQ(sent("-mode r:4"), kCount * 4);
        EXPECT_EQ(sent("-mode r:4 -compress bf16"), (kCount - kExact) * 2 + kExact * 4);
        EXPECT_EQ(sent("-mode b:4 -compress int8"), (kCount - kExact) + 4 * 4 + kExact * 4) << "four scales";
        EXPECT_EQ(sent("-mode b:4 -compress topk:0.125"), 127 * (4 + 2) + kExact * 4) << "values and places";
      },
      2);
}

// The last elements keep all bits and the range of f32, wherever the cuts between pieces and segments fall.
TEST_F(AllReduceTest, TheExactTailIsNotCompressed) {
  constexpr int64_t kExact = 7;
  const auto value = [](int64_t i) { return static_cast<float>(1'000'003 + i); };
  const auto body = [&](Communicator& comm) {
    for (const std::string format : {"bf16", "fp16", "int8", "topk:0.01"}) {
      for (const std::string& mode : {str("b:2x", comm.size() / 2), str("r:", comm.size()), str("b:", comm.size())}) {
        if (format != "bf16" && format != "fp16" && mode[0] == 'r') continue;
        Reduction reduction(comm, str("-mode ", mode, " -compress ", format));
        float* data = static_cast<float*>(reduction.memory->data());
        for (const int64_t count : {7, 8, 33, 100, 15'365, 61'441, 200'003}) {
          for (int64_t i = 0; i < count; ++i) data[i] = i < count - kExact ? fraction<float>(comm.rank(), i) : value(i);
          reduction.all_reduce->sum(data, count, DType::kF32, kExact);
          for (int64_t i = count - kExact; i < count; ++i) {
            if (data[i] != value(i) * static_cast<float>(comm.size())) {
              fail(str(mode, " ", format, ": element ", i, " of ", count, " is ", data[i]));
            }
          }
        }
      }
    }
  };
  run_thread_ranks(4, body, 2);
  run_thread_ranks(8, body, 4);
}

// Sums in f32 of values that were rounded on their way, once for each hop.
TEST_F(AllReduceTest, Compressed) {
  const auto body = [](Communicator& comm) {
    for (const auto& [format, tolerance] : {std::pair{"bf16", 1.5e-2}, std::pair{"fp16", 2e-3}}) {
      for (const std::string& mode : {str("b:2x", comm.size() / 2), str("r:", comm.size())}) {
        Reduction reduction(comm, str("-mode ", mode, " -compress ", format));
        float* data = static_cast<float*>(reduction.memory->data());
        check_bits(comm, *reduction.all_reduce, data, tolerance);
        // f64 is for checks and is never rounded.
        check_exact(comm, *reduction.all_reduce, reinterpret_cast<double*>(data));
        // Fractions are rounded, so that this is about 16 bits at all.
        std::vector<float> plain(2000);
        for (int64_t i = 0; i < 2000; ++i) data[i] = plain[static_cast<size_t>(i)] = fraction<float>(comm.rank(), i);
        comm.all_reduce(plain.data(), 2000, DType::kF32);
        reduction.all_reduce->sum(data, 2000, DType::kF32);
        if (std::equal(plain.begin(), plain.end(), data)) fail("nothing was compressed");
      }
    }
  };
  run_thread_ranks(4, body, 2);
  run_thread_ranks(8, body, 4);
}

/// What int8 has left out so far, over all ranks.
std::vector<double> left_of(Communicator& comm, AllReduce& all_reduce, float* data, int64_t count) {
  std::vector<float> left(static_cast<size_t>(count));
  if (!all_reduce.add_left(data, count, left.data())) fail("nothing is kept");
  std::vector<double> all(left.begin(), left.end());
  comm.all_reduce(all.data(), count, DType::kF64);
  return all;
}

/// Sums the same fractions `rounds` times, and adds what came out to `total`.
void sum_fractions(Communicator& comm, Reduction& reduction, int64_t count, int rounds, std::vector<double>& total) {
  auto* const data = static_cast<float*>(reduction.memory->data());
  for (int round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < count; ++i) data[i] = fraction<float>(comm.rank(), i);
    reduction.all_reduce->sum(data, count, DType::kF32);
    std::vector<float> first(data, data + count);
    comm.broadcast(first.data(), first.size() * sizeof(float), 0);
    if (!std::equal(first.begin(), first.end(), data)) fail("ranks have other bits");
    for (int64_t i = 0; i < count; ++i) total[static_cast<size_t>(i)] += data[i];
  }
}

/// Own elements are those of one rank each, hold the bits of the whole sum after the first half, and reach all by the
/// second.
void check_halves(Communicator& comm, const std::string& text) {
  Reduction whole(comm, text), halves(comm, text);
  if (!halves.all_reduce->has_halves()) fail(text + " has no halves");
  auto* const summed = static_cast<float*>(whole.memory->data());
  auto* const data = static_cast<float*>(halves.memory->data());
  for (const int64_t count : kCounts) {
    const ElementRange own = halves.all_reduce->own(count);
    const std::vector<ElementRange> all = comm.gather(own);
    std::vector<int> owners(static_cast<size_t>(count));
    for (const ElementRange& range : all) {
      for (int64_t i = range.begin; i < range.end; ++i) ++owners[static_cast<size_t>(i)];
    }
    if (std::any_of(owners.begin(), owners.end(), [](int n) { return n != 1; })) fail(text + ": not one owner each");
    for (int64_t i = 0; i < count; ++i) summed[i] = data[i] = fraction<float>(comm.rank(), i);
    whole.all_reduce->sum(summed, count, DType::kF32);
    halves.all_reduce->reduce_scatter(data, count, DType::kF32, 0);
    for (int64_t i = own.begin; i < own.end; ++i) {
      if (data[i] != summed[i]) fail(str(text, ": element ", i, " of ", count, " is ", data[i], ", not ", summed[i]));
      data[i] += static_cast<float>(comm.rank());
    }
    halves.all_reduce->all_gather(data, count, DType::kF32);
    for (int rank = 0; rank < comm.size(); ++rank) {
      for (int64_t i = all[static_cast<size_t>(rank)].begin; i < all[static_cast<size_t>(rank)].end; ++i) {
        if (data[i] != summed[i] + static_cast<float>(rank)) fail(str(text, ": element ", i, " was not handed on"));
      }
    }
  }
}

TEST_F(AllReduceTest, Halves) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const int hosts : {1, 2}) {
      run_thread_ranks(
          ranks,
          [&](Communicator& comm) {
            check_halves(comm, "");
            check_halves(comm, str("-mode r:", ranks));
            if (ranks == 8) check_halves(comm, "-mode b:2x2x2");
            if (ranks == 3) check_halves(comm, "-mode p:3");
            if (ranks == 3) check_halves(comm, "auto -shard states");
          },
          hosts);
    }
  }
}

/// What is handed on is not rounded, whatever -compress makes of sums.
TEST_F(AllReduceTest, HalvesHandOnWhatTheyAreGiven) {
  for (const char* format : {"bf16", "fp16", "int8", "topk:0.1"}) {
    run_thread_ranks(
        4,
        [&](Communicator& comm) {
          Reduction reduction(comm, str("-mode b:2x2 -compress ", format));
          constexpr int64_t kCount = 4096;
          auto* const data = static_cast<float*>(reduction.memory->data());
          const ElementRange own = reduction.all_reduce->own(kCount);
          for (int64_t i = own.begin; i < own.end; ++i) data[i] = fraction<float>(0, i);
          reduction.all_reduce->all_gather(data, kCount, DType::kF32);
          for (int64_t i = 0; i < kCount; ++i) {
            if (data[i] != fraction<float>(0, i)) fail(str(format, ": element ", i, " is ", data[i]));
          }
        },
        2);
  }
}

// Nothing is lost: what comes out of many sums and what is left are together what went in.
TEST_F(AllReduceTest, WhatIsLeftOutIsGivenBack) {
  constexpr int kRounds = 40;
  // Of 8 bits a step for each rank may be left. Of ten elements nine wait, until they are the largest.
  struct Format {
    const char* name;
    double most_left;
  };
  const auto with_format = [](Communicator& comm, const Format& format) {
    const int hosts = comm.size() / 2;
    for (const std::string& mode :
         {str("b:2x", hosts), str("b:", comm.size()), str("b:1x2x", comm.size() / 2), str("p:2x", hosts)}) {
      for (const int64_t count : {1, 17, 300, 20'011}) {
        Reduction reduction(comm, str("-mode ", mode, " -compress ", format.name));
        auto* const data = static_cast<float*>(reduction.memory->data());
        std::vector<double> total(static_cast<size_t>(count));
        sum_fractions(comm, reduction, count, kRounds, total);
        // As a snapshot does, in the middle.
        const std::vector<double> left = left_of(comm, *reduction.all_reduce, data, count);
        reduction.all_reduce->give_left(data, count, std::vector<float>(left.begin(), left.end()).data());
        sum_fractions(comm, reduction, count, 1, total);
        const std::vector<double> rest = left_of(comm, *reduction.all_reduce, data, count);
        double largest = 0;
        for (int64_t i = 0; i < count; ++i) {
          double exact = 0;
          for (int rank = 0; rank < comm.size(); ++rank) exact += fraction<float>(rank, i);
          const auto at = static_cast<size_t>(i);
          const double wrong = total[at] + rest[at] - (kRounds + 1) * exact;
          if (std::abs(wrong) > 2e-4) fail(str(mode, ": element ", i, " of ", count, " is wrong by ", wrong));
          largest = std::max(largest, std::abs(rest[at]));
        }
        if (count > 1 && largest == 0) fail(str(mode, ": nothing was left out"));
        if (largest > format.most_left * comm.size()) fail(str(mode, ' ', format.name, ": ", largest, " is left"));
      }
    }
  };
  const auto body = [&](Communicator& comm) {
    for (const Format& format : {Format{"int8", 0.1}, Format{"topk:0.1", 20}}) with_format(comm, format);
  };
  run_thread_ranks(4, body, 2);
  run_thread_ranks(8, body, 4);
}

TEST_F(AllReduceTest, WhatKeepsLeftoversGoesByDimension) {
  run_thread_ranks(
      4,
      [](Communicator& comm) {
        for (const char* mode : {"r:4", "m:4", "n:4"}) {
          for (const std::string format : {"int8", "topk"}) {
            const std::string option = format == "topk" ? "topk:0.1" : format;
            const Error error = error_of([&] { Reduction(comm, str("-mode ", mode, " -compress ", option)); });
            if (!contains(error.what(), str("-compress ", format, " sums by dimension"))) fail(error.what());
          }
        }
        Reduction half(comm, "-mode b:2x2 -compress bf16");
        std::vector<float> left(4);
        if (half.all_reduce->add_left(half.memory->data(), 4, left.data())) fail("bf16 keeps nothing");
      },
      2);
}

TEST_F(AllReduceTest, CompressionSparesTheHost) {
  run_thread_ranks(4, [](Communicator& comm) {
    Reduction reduction(comm, "-mode r:4 -compress bf16");
    check_bits(comm, *reduction.all_reduce, static_cast<float*>(reduction.memory->data()), 1e-6);
  });
}

TEST_F(AllReduceTest, NcclFallsToARing) {
  const std::vector<std::string> notes = notes_of(2, 1, "-mode n:2");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(contains(notes[0], "NCCL, which is for GPUs: one ring over the 2 ranks instead"));
  EXPECT_TRUE(notes_of(2, 1, "-mode r:2").empty());
}

TEST_F(AllReduceTest, ExploringIsSaidAndRemembered) {
  const std::vector<std::string> first = notes_of(4, 2, "-mode p:2x2"), second = notes_of(4, 2, "-mode p:2x2");
  ASSERT_GE(first.size(), 2u);
  EXPECT_TRUE(contains(first[0], "X (2 ranks, within a host), 4 KB: shared memory "));
  EXPECT_TRUE(contains(first[0], ", direct "));
  EXPECT_TRUE(contains(first[0], "; takes "));
  EXPECT_TRUE(contains(first.back(), "Y (2 ranks, between hosts), "));
  for (const std::string& note : second) EXPECT_TRUE(contains(note, " (as before)"));
  // Other hosts are measured anew.
  EXPECT_FALSE(contains(notes_of(4, 1, "-mode p:2x2")[0], "as before"));
}

TEST_F(AllReduceTest, ARememberedChoiceIsTaken) {
  notes_of(2, 1, "-mode p:2");
  const std::string file = folder_ / "robusta/all_reduce";
  std::ostringstream lines;
  std::ifstream in(file);
  for (std::string key, choice; in >> key >> choice;) lines << key << " direct\n";
  in.close();
  ASSERT_FALSE(lines.str().empty());
  std::ofstream(file) << lines.str();
  run_thread_ranks(2, [](Communicator& comm) {
    const Reduction reduction(comm, "-mode p:2");
    EXPECT_TRUE(contains(reduction.all_reduce->describe(), ": direct"));
  });
}

TEST_F(AllReduceTest, AutoOffersItsRankFile) {
  const std::vector<std::string> notes = notes_of(8, 4, "auto");
  ASSERT_GE(notes.size(), 5u);
  EXPECT_TRUE(contains(notes[0], "auto: b:2x4: 64 KB in "));
  EXPECT_TRUE(contains(notes[1], "auto: b:2x2x2:"));
  EXPECT_TRUE(contains(notes[2], "auto: r:8:"));
  EXPECT_TRUE(contains(notes[3], "auto: m:8:"));
  EXPECT_TRUE(contains(notes[4], "auto takes -mode "));
  if (contains(notes[4], "-mode b")) {
    const size_t mode = notes[4].find("-mode "), end = notes[4].find(". ");
    const std::vector<int> dims = parse_ddl_options(notes[4].substr(mode, end - mode)).dims;
    EXPECT_EQ(notes[4].substr(end + 2), rank_file_note(dims, {"host0", "host1", "host2", "host3"}, count_cores()));
  }
  EXPECT_TRUE(contains(notes_of(8, 4, "auto")[0], "(as before)"));
}

}  // namespace robusta::test::all_reduce_test
