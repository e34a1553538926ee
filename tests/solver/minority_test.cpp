// Who is named when ranks do not agree.
#include "solver/ranks/minority.h"

#include <gtest/gtest.h>

namespace robusta::test {
namespace {

TEST(Minority, NamesThoseThatDifferFromMost) {
  EXPECT_EQ(minority({7, 7, 9, 7}), "rank 2");
  EXPECT_EQ(minority({1, 7, 9, 7}), "ranks 0, 2");
  EXPECT_EQ(minority({4, 5}), "rank 1");
  EXPECT_EQ(minority(std::vector<uint64_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
            "ranks 11, 12, 13, 14, 15, 16, 17, 18 and 1 more");
}

}  // namespace
}  // namespace robusta::test
