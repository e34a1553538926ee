// Memory whose pages come when they are written, and go when they are given up.
#include "device/cpu/sparse_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace robusta::test::sparse_memory_test {
namespace {

bool is_zero(const void* data, size_t bytes) {
  const auto* const begin = static_cast<const char*>(data);
  return std::all_of(begin, begin + bytes, [](char byte) { return byte == 0; });
}

TEST(SparseMemory, TakesRoomForWhatIsWritten) {
  constexpr size_t kBytes = size_t{64} << 20;
  const SparseMemory memory(kBytes);
  EXPECT_EQ(memory.resident(), 0u);
  auto* const data = static_cast<char*>(memory.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  std::memset(data + kBytes / 4, 7, kBytes / 4);
  EXPECT_GE(memory.resident(), kBytes / 4);
  EXPECT_LE(memory.resident(), kBytes / 4 + (size_t{4} << 20));
  EXPECT_TRUE(is_zero(data, kBytes / 4));
}

TEST(SparseMemory, WhatIsGivenUpReadsAsZeros) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const SparseMemory memory(8 * page);
  auto* const data = static_cast<char*>(memory.data());
  std::memset(data, 7, 8 * page);
  memory.give_up(page + 1, 4 * page + 1);
  EXPECT_EQ(memory.resident(), 6 * page);
  data[2 * page] = 5;
  EXPECT_EQ(memory.resident(), 7 * page);
  data[2 * page] = 0;
  EXPECT_TRUE(is_zero(data + 2 * page, 2 * page));
  for (const size_t kept : {size_t{0}, page, page + 1, 2 * page - 1, 4 * page, 4 * page + 1, 8 * page - 1})
    EXPECT_EQ(data[kept], 7) << kept;
}

/// Less than a page, or nothing.
TEST(SparseMemory, NothingIsGivenUpOfPagesThatAreShared) {
  const SparseMemory memory(100);
  auto* const data = static_cast<char*>(memory.data());
  std::memset(data, 7, 100);
  memory.give_up(0, 99);
  memory.give_up(50, 50);
  EXPECT_EQ(std::count(data, data + 100, 7), 100);
}

}  // namespace
}  // namespace robusta::test::sparse_memory_test
