// Matrix products by AMX against sums in double: every way to pack, sizes that do not fill tiles.

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "base/half.h"
#include "ops/amx/panels.h"
#include "ops/amx/ranges.h"

namespace robusta::test::amx_test {
namespace {

using namespace amx;

/// [lines, terms], each value as bf16 has it.
struct Factor {
  int64_t lines, terms;
  std::vector<float> values;

  Factor(int64_t lines, int64_t terms, float seed)
      : lines(lines), terms(terms), values(static_cast<size_t>(lines * terms)) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = from_bf16(to_bf16(std::sin(seed + 0.7f * static_cast<float>(i))));
    }
  }
  float at(int64_t line, int64_t term) const { return values[static_cast<size_t>(line * terms + term)]; }

  /// As T, in the order [line][term], or [term][line] if `turned`.
  template <typename T>
  std::vector<T> stored(bool turned) const {
    std::vector<T> all;
    for (int64_t i = 0; i < (turned ? terms : lines); ++i) {
      for (int64_t j = 0; j < (turned ? lines : terms); ++j) {
        const float value = turned ? at(j, i) : at(i, j);
        if constexpr (sizeof(T) == sizeof(float)) {
          all.push_back(value);
        } else {
          all.push_back(to_bf16(value));
        }
      }
    }
    return all;
  }

  template <typename T>
  std::vector<uint32_t> packed(Side side, bool turned) const {
    std::vector<uint32_t> panels(static_cast<size_t>(pairs_of(lines, terms)), 0x7fc07fc0);  // not a number
    const std::vector<T> from = stored<T>(turned);
    if (turned) {
      std::vector<const T*> rows;
      for (int64_t i = 0; i < terms; ++i) rows.push_back(from.data() + i * lines);
      pack_terms(rows.data(), terms, lines, side, panels.data());
    } else {
      pack_lines(from.data(), terms, lines, terms, side, panels.data());
    }
    return panels;
  }
};

class Amx : public testing::Test {
  PretendThereAreUnits pretend_;
};

/// C is [rows, columns] with two columns more in memory, which stay.
std::vector<float> multiply(const Factor& rows, const Factor& columns, const std::vector<uint32_t>& a,
                            const std::vector<uint32_t>& b, bool add) {
  const int64_t steps = steps_of(rows.terms), across = panels_of(columns.lines), next = across * kPanelLines + 2;
  std::vector<float> sums(static_cast<size_t>(panels_of(rows.lines) * kPanelLines * next), 5);
  const TilesInUse tiles;
  for (int64_t r = 0; r < panels_of(rows.lines); ++r) {
    for (int64_t c = 0; c < across; ++c) {
      multiply_panels({.steps = steps,
                       .rows = a.data() + r * steps * kStepPairs,
                       .columns = b.data() + c * steps * kStepPairs,
                       .sums = sums.data() + r * kPanelLines * next + c * kPanelLines,
                       .next_row = next,
                       .add = add},
                      tiles_of(rows.lines, r), tiles_of(columns.lines, c));
    }
  }
  return sums;
}

void compare(const Factor& rows, const Factor& columns, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
             bool add) {
  const std::vector<float> sums = multiply(rows, columns, a, b, add);
  const int64_t next = panels_of(columns.lines) * kPanelLines + 2;
  for (int64_t r = 0; r < rows.lines; ++r) {
    for (int64_t c = 0; c < columns.lines; ++c) {
      double sum = add ? 5 : 0;
      for (int64_t t = 0; t < rows.terms; ++t) sum += static_cast<double>(rows.at(r, t)) * columns.at(c, t);
      ASSERT_NEAR(sums[static_cast<size_t>(r * next + c)], sum, 1e-4)
          << r << ", " << c << " of " << rows.lines << " x " << rows.terms << " x " << columns.lines;
    }
    EXPECT_EQ(sums[static_cast<size_t>(r * next + next - 1)], 5);
  }
}

TEST_F(Amx, EveryWayToPack) {
  for (const auto& [lines, terms, others] :
       {std::tuple<int64_t, int64_t, int64_t>(32, 32, 32), {16, 64, 48}, {1, 1, 1}, {37, 53, 17}, {70, 31, 33}}) {
    const Factor rows(lines, terms, 0.1f), columns(others, terms, 0.9f);
    for (const bool turned : {false, true}) {
      compare(rows, columns, rows.packed<uint16_t>(Side::kRows, turned),
              columns.packed<uint16_t>(Side::kColumns, turned), turned);
      compare(rows, columns, rows.packed<float>(Side::kRows, turned), columns.packed<float>(Side::kColumns, turned),
              !turned);
    }
  }
}

TEST_F(Amx, FloatsAreRoundedToTheNearest) {
  Factor one(1, 1, 0), value(1, 1, 0);
  one.values = {1};
  for (const float number : {1.00390625f, 1.01171875f, -3.14159265f, 1e-30f, 3e38f}) {
    value.values = {number};
    const auto product =
        multiply(one, value, one.packed<float>(Side::kRows, false), value.packed<float>(Side::kColumns, false), false);
    EXPECT_EQ(product[0], from_bf16(to_bf16(number))) << number;
  }
}

TEST(AmxRanges, PartsCoverAll) {
  for (int64_t count = 0; count < 20; ++count) {
    for (int64_t parts = 1; parts < 7; ++parts) {
      int64_t end = 0;
      for (int64_t i = 0; i < parts; ++i) {
        EXPECT_EQ(part_of(count, parts, i).begin, end);
        end = part_of(count, parts, i).end;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(AmxPanels, TermsAreAddedUp) {
  const Factor factor(70, 300, 0.3f);
  const std::vector<uint16_t> from = factor.stored<uint16_t>(true);
  std::vector<const uint16_t*> rows;
  for (int64_t i = 0; i < factor.terms; ++i) rows.push_back(from.data() + i * factor.lines);
  std::vector<float> sums(70, 2);
  add_terms(rows.data(), factor.terms, factor.lines, sums.data());
  for (int64_t line = 0; line < factor.lines; ++line) {
    double sum = 2;
    for (int64_t t = 0; t < factor.terms; ++t) sum += static_cast<double>(factor.at(line, t));
    EXPECT_NEAR(sums[static_cast<size_t>(line)], sum, 1e-4);
  }
}

}  // namespace
}  // namespace robusta::test::amx_test
