// Strided copies: their algebra, and the fast loops against the plain ones.

#include "layers/kit/gather.h"

#include <gtest/gtest.h>

#include <numeric>

namespace robusta::test::gather_test {
namespace {

using Axes = std::vector<GatherAxis>;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<double> plain(const Gather& gather, const std::vector<float>& from) {
  const std::vector<double> source(from.begin(), from.end());
  std::vector<double> to(static_cast<size_t>(gather.count()), -1);
  run_gather(gather, source.data(), to.data());
  return to;
}

/// The transpose by its definition: what each element gives goes back to where it came from.
std::vector<double> scattered(const Gather& gather, const std::vector<float>& diffs, int64_t source_count) {
  std::vector<double> sums(static_cast<size_t>(source_count), 0);
  for (int64_t i = 0; i < source_count; ++i) {
    std::vector<float> one(static_cast<size_t>(source_count), 0);
    one[static_cast<size_t>(i)] = 1;
    const std::vector<double> seen = plain(gather, one);
    for (size_t k = 0; k < seen.size(); ++k) sums[static_cast<size_t>(i)] += seen[k] * diffs[k];
  }
  return sums;
}

struct GatherCase {
  const char* name;
  Axes axes;
  int64_t source;
};

/// Strides are those of a source of 4 x 5 x 6, unless that is another.
const GatherCase kGathers[] = {
    {"identity", {{4, 30}, {5, 6}, {6, 1}}, 120},
    {"transpose", {{6, 1}, {4, 30}, {5, 6}}, 120},
    {"batch of transposes", {{4, 30}, {6, 1}, {5, 6}}, 120},
    {"reversed axes", {{6, 1}, {5, 6}, {4, 30}}, 120},
    {"crop",
     {{.extent = 2, .stride = 30, .skip = 1}, {.extent = 3, .stride = 6, .skip = 2}, {.extent = 4, .stride = 1}},
     120},
    {"crop to single entries",
     {{.extent = 1, .stride = 30, .skip = 3}, {.extent = 5, .stride = 6}, {.extent = 1, .stride = 1, .skip = 2}},
     120},
    {"pad",
     {{.extent = 4, .stride = 30},
      {.extent = 8, .stride = 6, .before = 1, .after = 2},
      {.extent = 9, .stride = 1, .before = 3}},
     120},
    {"padded transpose", {{6, 1}, {.extent = 7, .stride = 30, .before = 2, .after = 1}, {5, 6}}, 120},
    {"tile within", {{4, 30}, {3, 0}, {5, 6}, {6, 1}}, 120},
    {"tile the last", {{4, 30}, {5, 6}, {3, 0}, {6, 1}}, 120},
    {"tile single entries", {{5, 1}, {3, 0}}, 5},
    {"tile a scalar", {{3, 0}}, 1},
    {"scalar", {}, 1},
};

TEST(GatherTest, TransposeSendsBackWhatWasCopied) {
  for (const GatherCase& c : kGathers) {
    SCOPED_TRACE(c.name);
    const Gather gather = coalesced(c.axes), back = transposed(gather, c.source);
    const std::vector<float> diffs = numbers(gather.count());
    ASSERT_EQ(back.count(), c.source);
    EXPECT_EQ(plain(back, diffs), scattered(gather, diffs, c.source));
  }
}

TEST(GatherTest, AxesAreJoined) {
  EXPECT_EQ(coalesced(kGathers[0].axes).axes, (Axes{{120, 1}}));
  EXPECT_EQ(coalesced(kGathers[1].axes).axes, (Axes{{6, 1}, {20, 6}}));
  EXPECT_EQ(coalesced(kGathers[4].axes).base, 30 + 12);
  const Axes rows_padded{{.extent = 5, .stride = 6, .before = 1}, {6, 1}};
  EXPECT_EQ(coalesced(rows_padded).axes, (Axes{{.extent = 30, .stride = 1, .before = 6}}));
}

TEST(GatherTest, KnowsTheIdentity) {
  EXPECT_TRUE(coalesced(kGathers[0].axes).is_identity(120));
  EXPECT_FALSE(coalesced(kGathers[0].axes).is_identity(121)) << "a part";
  EXPECT_FALSE(coalesced(kGathers[1].axes).is_identity(120));
  EXPECT_FALSE(coalesced({{.extent = 5, .stride = 1, .skip = 1}}).is_identity(5));
  EXPECT_TRUE(coalesced({}).is_identity(1));
}

TEST(GatherTest, FastIsThePlainOne) {
  std::vector<GatherCase> cases(std::begin(kGathers), std::end(kGathers));
  cases.push_back({"squares", {{3, 16 * 24}, {24, 1}, {16, 24}}, 3 * 16 * 24});
  cases.push_back({"blocks and their edges", {{2, 131 * 277}, {277, 1}, {131, 277}}, 2 * 131 * 277});
  cases.push_back({"five axes", {{7, 990}, {11, 1}, {9, 110}, {5, 22}, {2, 11}}, 7 * 990});
  cases.push_back({"one long row", {{100003, 1}}, 100003});
  cases.push_back({"long rows", {{3, 0}, {100003, 1}}, 100003});
  for (const GatherCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Gather there = coalesced(c.axes), back = transposed(there, c.source);
    for (const Gather& gather : {there, back}) {
      const std::vector<float> from = numbers(std::max(c.source, there.count()));
      std::vector<float> slow(static_cast<size_t>(gather.count()), -1), fast = slow;
      run_gather(gather, from.data(), slow.data());
      run_gather_fast(gather, from.data(), fast.data());
      EXPECT_EQ(slow, fast);
    }
  }
}

}  // namespace
}  // namespace robusta::test::gather_test
